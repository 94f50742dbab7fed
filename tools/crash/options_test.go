package main

import "testing"

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
