package rig

import (
	"testing"
	"time"
)

func TestRestartsMedianAndMax(t *testing.T) {
	var none Restarts
	if none.Median() != 0 || none.Max() != 0 {
		t.Error("no restarts have a median or a maximum")
	}
	r := Restarts{3 * time.Second, time.Second, 2 * time.Second}
	if r.Median() != 2*time.Second || r.Max() != 3*time.Second {
		t.Errorf("median %v, max %v", r.Median(), r.Max())
	}
}
