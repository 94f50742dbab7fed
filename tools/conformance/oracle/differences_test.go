package oracle

import (
	"strings"
	"testing"
)

func TestMatchTreatsStarAsAnyRunOfCharacters(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"a*", "abc", true}, {"*c", "abc", true},
		{"a*c", "ac", true}, {"a*b*c", "a-c-b-c", true}, {"a*b*c", "a-c-c", false}, {"ab*ba", "aba", false},
		{"*.Topics", "answer.Topics", true}, {"*.Topics", "answer.Topics[0]", false},
	} {
		if got := match(c.pattern, c.s); got != c.want {
			t.Errorf("match(%q, %q) = %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}

func TestCompareTellsAMissingElementOnce(t *testing.T) {
	kafka := []Field{{"a.L[x]", present}, {"a.L[x].One", "1"}, {"a.L[x].Two", "2"}, {"a.Three", "3"}}
	millrace := []Field{{"a.Three", "4"}, {"a.L[y]", present}, {"a.L[y].One", "1"}}
	got := compare("p", kafka, millrace)
	want := []string{
		"p\ta.L[x]\tpresent\tabsent\t", "p\ta.Three\t3\t4\t", "p\ta.L[y]\tabsent\tpresent\t",
	}
	if len(got) != len(want) {
		t.Fatalf("%d differences, want %d: %v", len(got), len(want), got)
	}
	for i := range want {
		if got[i].String() != want[i] {
			t.Errorf("difference %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestDeclaredDifferencesMustOccur(t *testing.T) {
	file := "# comment\n\np*\ta.*\t1\t2\tbecause\nq\tb\t*\t*\tbecause too\nother\tc\t1\t2\tnot run\n"
	d, err := ReadDeclared(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if r := d.reason(Difference{Probe: "p1", Field: "a.b", Kafka: "1", Millrace: "2"}); r != "because" {
		t.Errorf("reason %q", r)
	}
	if r := d.reason(Difference{Probe: "p1", Field: "a.b", Kafka: "1", Millrace: "3"}); r != "" {
		t.Errorf("another value has reason %q", r)
	}
	gone := d.gone([]string{"p1", "q"})
	if len(gone) != 1 || gone[0].line != 4 {
		t.Errorf("gone: %v, want line 4 alone", gone)
	}
}

func TestDeclaredDifferencesNeedAReason(t *testing.T) {
	for _, file := range []string{"p\tf\t1\t2\n", "p\tf\t1\t2\t \n", "p f 1 2 reason\n"} {
		if _, err := ReadDeclared(strings.NewReader(file)); err == nil {
			t.Errorf("%q is taken", file)
		}
	}
}
