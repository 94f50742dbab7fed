package invariant

import "testing"

func TestCheckStopsOnlyWhereItIsEnabled(t *testing.T) {
	defer func() {
		got := recover()
		if want := "invariant: 5 passed 4"; Enabled && got != want || !Enabled && got != nil {
			t.Errorf("enabled %v, got %v", Enabled, got)
		}
	}()
	Check(true, "never")
	Check(5 <= 4, "%d passed %d", 5, 4)
}
