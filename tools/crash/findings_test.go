package main

import (
	"testing"
	"time"
)

func TestRestartsMedianAndMax(t *testing.T) {
	var none restarts
	if none.median() != 0 || none.max() != 0 {
		t.Error("no restarts have a median or a maximum")
	}
	r := restarts{3 * time.Second, time.Second, 2 * time.Second}
	if r.median() != 2*time.Second || r.max() != 3*time.Second {
		t.Errorf("median %v, max %v", r.median(), r.max())
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--rounds", "-1"}, {"--producers", "0"}, {"--partitions", "0"},
		{"--min-alive", "2s", "--max-alive", "1s"}, {"--command", "kafka"},
	} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

func TestASeedAndPortsAreChosenUnlessGiven(t *testing.T) {
	o, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.seed == 0 || o.listen == "" || o.http == "" || o.listen == o.http {
		t.Errorf("seed %d, listen %q, http %q", o.seed, o.listen, o.http)
	}
	if o, _ = parseOptions([]string{"--seed", "7", "--listen", "127.0.0.1:9"}); o.seed != 7 || o.listen != "127.0.0.1:9" {
		t.Errorf("seed %d, listen %q", o.seed, o.listen)
	}
}
