package config

import (
	"maps"
	"strings"
	"testing"
)

func TestParseProperties(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     map[string]string
	}{
		{"separators", "a=1\nb:2\nc 3\nd\t4\ne = 5\nf : 6\ng   7", map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "6", "g": "7"}},
		{"comments and blanks", "# a=1\n  ! b=2\n\n   \nc=3 # no comment", map[string]string{"c": "3 # no comment"}},
		{"continuation", "list=a,\\\n    b,\\\n\tc\nx=y", map[string]string{"list": "a,b,c", "x": "y"}},
		{"continuation keeps comment signs", "a=1\\\n#2", map[string]string{"a": "1#2"}},
		{"continuation at the end", "a=1\\", map[string]string{"a": "1"}},
		{"escaped backslash does not continue", "a=1\\\\\nb=2", map[string]string{"a": `1\`, "b": "2"}},
		{"escapes", `a\=b\ c=\t\u0041\u00e4\q`, map[string]string{"a=b c": "\tAäq"}},
		{"pair of halves", `a=\ud83d\ude00`, map[string]string{"a": "😀"}},
		{"line ends", "a=1\r\nb=2\rc=3\n", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"no value", "a\nb=\n=c", map[string]string{"a": "", "b": "", "": "c"}},
		{"last one counts", "a=1\na=2", map[string]string{"a": "2"}},
		{"value with separators", "listeners=PLAINTEXT://:9092,X://[::1]:1", map[string]string{"listeners": "PLAINTEXT://:9092,X://[::1]:1"}},
		{"trailing blanks stay", "a=1  ", map[string]string{"a": "1  "}},
	} {
		got, err := ParseProperties(strings.NewReader(c.in))
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestParsePropertiesNamesTheLine(t *testing.T) {
	_, err := ParseProperties(strings.NewReader("a=1\n\nb=\\\n\\u12g4\n"))
	if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("got %v", err)
	}
	if _, err := ParseProperties(strings.NewReader(`a=\u12`)); err == nil {
		t.Error("a short escape is accepted")
	}
}

func FuzzParseProperties(f *testing.F) {
	for _, s := range []string{"a=1\n", "a\\\n b:2", `k\u0041=\ud83d\ude00\`, "# x\r\ny z", "\\", "=\\u", "a=\\\r\n  b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		props, err := ParseProperties(strings.NewReader(s))
		if err != nil {
			return
		}
		// What was read can be written so that it reads the same.
		var out strings.Builder
		for k, v := range props {
			out.WriteString(escapeAll(k) + "=" + escapeAll(v) + "\n")
		}
		again, err := ParseProperties(strings.NewReader(out.String()))
		if err != nil || !maps.Equal(props, again) {
			t.Fatalf("%q became %q, %v", props, again, err)
		}
	})
}

func escapeAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; c {
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\f':
			b.WriteString(`\f`)
		case ' ', '=', ':', '\\', '#', '!':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
