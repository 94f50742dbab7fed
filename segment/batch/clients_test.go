package batch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const testLimit = 1 << 20

// The segments in testdata/clients were written by an Apache Kafka 4.4 broker for
// its console producer (java), kcat (rdkafka) and franz-go (franz), in each codec.
// The last record of java and franz has neither key nor value.
func readClients(t testing.TB) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob("testdata/clients/*.log")
	if err != nil || len(paths) != 15 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(p), ".log")] = b
	}
	return files
}

func dump(t testing.TB, b Batch) string {
	t.Helper()
	var out strings.Builder
	err := ForEach(b, testLimit, func(r *Record) error {
		fmt.Fprintf(&out, "%d %q=%q", b.BaseOffset()+int64(r.OffsetDelta), r.Key, r.Value)
		if r.Key == nil && r.Value == nil {
			out.WriteString(" null")
		}
		headers, err := r.Headers(nil)
		for _, h := range headers {
			fmt.Fprintf(&out, " %s:%q", h.Key, h.Value)
			if h.Value == nil {
				out.WriteString("(null)")
			}
		}
		out.WriteByte('\n')
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestBatchesOfRealClients(t *testing.T) {
	three := ""
	for i := 1; i <= 3; i++ {
		three += fmt.Sprintf("%d \"key%d\"=\"value number %d, repeated repeated repeated repeated repeated repeated\" h1:\"v1\" h2:\"\"\n", i-1, i, i)
	}
	last := map[string]string{
		"java":    "3 \"\"=\"\" null h1:\"\"\n",
		"rdkafka": "",
		"franz":   "3 \"\"=\"\" null h1:\"\"(null)\n",
	}
	for name, file := range readClients(t) {
		t.Run(name, func(t *testing.T) {
			client, codec, _ := strings.Cut(name, "-")
			records := ""
			for b, err := range All(file) {
				if err != nil {
					t.Fatal(err)
				}
				records += dump(t, b)
				b = append(Batch(nil), b...)
				b.SetBaseOffset(0)
				if err := Validate(b, Limits{MaxBytes: testLimit}); err != nil {
					t.Error(err)
				}
				if b.Codec().String() != codec {
					t.Errorf("codec %v", b.Codec())
				}
				o := anyTime
				o.Compacted = true
				bad, err := ValidateRecords(b, o)
				if wantBad := last[client] != ""; (err != nil) != wantBad || (len(bad) == 1) != wantBad {
					t.Errorf("keys: %v, %v", bad, err)
				}
			}
			if want := three + last[client]; records != want {
				t.Errorf("records are\n%swant\n%s", records, want)
			}
		})
	}
}

func TestRecompressKeepsTheRecords(t *testing.T) {
	for name, file := range readClients(t) {
		b, _, err := Next(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []Codec{None, Gzip, Snappy, LZ4, Zstd} {
			for _, level := range []int{DefaultLevel, 1, 9} {
				out, err := Recompress(make([]byte, 3, 200), b, c, level, testLimit)
				if err != nil {
					t.Fatalf("%s to %v: %v", name, c, err)
				}
				if err := Validate(out, Limits{}); err != nil {
					t.Errorf("%s to %v: %v", name, c, err)
				}
				if out.Codec() != c || out.ProducerID() != b.ProducerID() || out.MaxTimestamp() != b.MaxTimestamp() {
					t.Errorf("%s to %v: header %x", name, c, out[:HeaderSize])
				}
				if got, want := dump(t, out), dump(t, b); got != want {
					t.Errorf("%s to %v: records are\n%swant\n%s", name, c, got, want)
				}
			}
		}
		if _, err := Recompress(nil, b, Gzip, 10, testLimit); err == nil {
			t.Error("gzip level 10 passed")
		}
		if _, err := Recompress(nil, b, 5, 1, testLimit); err == nil {
			t.Error("codec 5 passed")
		}
	}
}
