package kgosuite

import (
	"strings"
	"testing"
)

const transcript = `=== RUN   TestGood
--- PASS: TestGood (0.01s)
=== RUN   TestGroup
=== PAUSE TestGroup
=== CONT  TestGroup
=== RUN   TestGroup/classic
    group_test.go:7: hello
=== RUN   TestGroup/848
--- PASS: TestGroup (1.50s)
    --- PASS: TestGroup/classic (1.00s)
    --- SKIP: TestGroup/848 (0.00s)
=== RUN   TestBad
    bad_test.go:3: it broke
--- FAIL: TestBad (0.20s)
=== RUN   TestHangs
panic: test timed out
`

func TestVerdictsAreHeldAgainstTheAllowList(t *testing.T) {
	for _, c := range []struct {
		name, list string
		want       bool
	}{
		{"all listed", "TestGroup/848\tnot served\nTestBad\twhy\nTestHangs\twhy\n", true},
		{"a failure is not listed", "TestGroup/848\tnot served\nTestHangs\twhy\n", false},
		{"a skip is not listed", "TestBad\twhy\nTestHangs\twhy\n", false},
		{"the one cut off is not listed", "TestGroup/848\tnot served\nTestBad\twhy\n", false},
		{"a listed one passes", "TestGood\twhy\nTestGroup/848\tnot served\nTestBad\twhy\nTestHangs\twhy\n", false},
		{"a listed one is not there", "TestGone\twhy\nTestGroup/848\tnot served\nTestBad\twhy\nTestHangs\twhy\n", false},
	} {
		allowed, err := ReadAllowed(strings.NewReader(c.list))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if got := Report(&out, parse([]byte(transcript)), allowed, false, true); got != c.want {
			t.Errorf("%s: %v\n%s", c.name, got, &out)
		}
	}
}

func TestAllowListNeedsReasons(t *testing.T) {
	for _, list := range []string{"TestX\n", "TestX\t \n"} {
		if _, err := ReadAllowed(strings.NewReader(list)); err == nil {
			t.Errorf("%q is taken", list)
		}
	}
}
