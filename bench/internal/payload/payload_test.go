package payload

import (
	"bytes"
	"testing"
	"time"
)

func TestValuesAreOfTheSizeAskedForAndTheSameInEveryRun(t *testing.T) {
	for _, kind := range []string{"text", "random", "zero"} {
		for _, size := range []int{16, 100, 1024} {
			a, err := Values(kind, size)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := Values(kind, size)
			for i := range a {
				if len(a[i]) != size || !bytes.Equal(a[i], b[i]) {
					t.Fatalf("%s, %d bytes: value %d has %d bytes or differs between two runs", kind, size, i, len(a[i]))
				}
			}
		}
	}
	if _, err := Values("poems", 16); err == nil {
		t.Error("an unknown payload is accepted")
	}
}

func TestStampSurvivesTheRoundTripAndLeavesTheSharedValueAlone(t *testing.T) {
	value := make([]byte, 32)
	now := time.Now()
	if got := SentAt(Stamped(value, now)); !got.Equal(now.Round(0)) {
		t.Errorf("stamp reads %v, want %v", got, now)
	}
	if !bytes.Equal(value, make([]byte, 32)) {
		t.Error("stamping changed the shared value")
	}
}
