package index

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever is in the files, opening them is an error or an index that can be asked.
func FuzzOpen(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 24))
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x0a\x00\x00\x00\x02\x00\x00\x00\x14"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x01"))
	f.Add(appendTxn(nil, AbortedTxn{1, 5, 10, 11}))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		write := func() string {
			path := filepath.Join(dir, "f")
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			return path
		}
		if x, err := OpenOffset(write(), 10); err == nil {
			for _, o := range []int64{0, 10, 11, 1 << 20, 1 << 40} {
				if e, _ := x.Lookup(o); e > o && e != 10 {
					t.Errorf("Lookup(%d) = %d", o, e)
				}
			}
			if x.Err() != nil {
				t.Error(x.Err())
			}
			x.Close()
		}
		if x, err := OpenTime(write(), 10); err == nil {
			if ts, _ := x.Lookup(1000); ts > 1000 {
				t.Errorf("Lookup(1000) = %d", ts)
			}
			x.Close()
		}
		if x, err := OpenTxn(write(), 10); err == nil {
			if _, _, err := x.Collect(nil, 0, 1<<62); err != nil {
				t.Error(err)
			}
		}
	})
}
