package launch

import (
	"slices"
	"testing"
)

func TestPidsOfHelpersThatEndedDoNotCount(t *testing.T) {
	alive := func(pid int) bool { return pid != 10 }
	if pids, err := parsePids("10 555\n11 556\n12 557\n", alive); err != nil || !slices.Equal(pids, []int{11, 12}) {
		t.Errorf("%v, %v", pids, err)
	}
	for _, text := range []string{"", "10 555\n", "x 1\n"} {
		if _, err := parsePids(text, alive); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
