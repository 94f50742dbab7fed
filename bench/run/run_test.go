package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/bench/internal/result"
)

func TestSpread(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		want   spread
		text   string
	}{
		{nil, spread{}, "0.0"},
		{[]float64{3}, spread{3, 3, 3}, "3.0"},
		{[]float64{3, 1, 2}, spread{2, 1, 3}, "2.0 (1.0-3.0)"},
		{[]float64{4, 1, 2, 3}, spread{2.5, 1, 4}, "2.5 (1.0-4.0)"},
	} {
		if got := spreadOf(tc.values); got != tc.want || got.format(1) != tc.text {
			t.Errorf("%v: %+v, %q", tc.values, got, got.format(1))
		}
	}
}

// measured makes rows in which Kafka and the floor have figures of 100 and 10, and ours
// is as given.
func measured(scenario, phase string, ours result.Phase) *rows {
	r := &rows{}
	for peer, x := range map[string]result.Phase{
		"kafka": {MBPerS: 100, BrokerCPUGB: 10, E2EMs: map[string]float64{"p50": 1, "p99": 10}}, "floor": {MBPerS: 1000, BrokerCPUGB: 1}, "millrace": ours,
	} {
		x.Phase, x.Partitions, x.Records, x.Size, x.BrokerPeakMiB = phase, 1, 1000, 1000, 10
		r.all = append(r.all, row{Scenario: scenario, Peer: peer, Round: 1, Phase: x})
	}
	return r
}

func TestVerdicts(t *testing.T) {
	latency := func(p50, p99 float64) result.Phase {
		return result.Phase{E2EMs: map[string]float64{"p50": p50, "p99": p99}}
	}
	for name, tc := range map[string]struct {
		rows   *rows
		missed int
	}{
		"short produce on the bound":       {measured("short", "produce", result.Phase{MBPerS: 120, BrokerCPUGB: 5}), 0},
		"short produce too slow":           {measured("short", "produce", result.Phase{MBPerS: 119, BrokerCPUGB: 5}), 1},
		"short produce slow and dear":      {measured("short", "produce", result.Phase{MBPerS: 119, BrokerCPUGB: 5.1}), 2},
		"sustained met":                    {measured("sustained", "produce", result.Phase{MBPerS: 250, BrokerCPUGB: 2.5}), 0},
		"sustained too slow":               {measured("sustained", "produce", result.Phase{MBPerS: 249, BrokerCPUGB: 2.5}), 1},
		"consume against Kafka and floor":  {measured("short", "consume", result.Phase{MBPerS: 100, BrokerCPUGB: 1.25}), 0},
		"consume dearer than the floor":    {measured("short", "consume", result.Phase{MBPerS: 100, BrokerCPUGB: 1.26}), 1},
		"consume slower than Kafka":        {measured("short", "consume again", result.Phase{MBPerS: 99, BrokerCPUGB: 1}), 1},
		"latency met":                      {measured("latency", "e2e", latency(1, 5)), 0},
		"latency tail more than half":      {measured("latency", "e2e", latency(1, 5.1)), 1},
		"latency p50 above Kafka's":        {measured("latency", "e2e", latency(1.1, 5)), 1},
		"nothing to compare is not missed": {measured("other", "produce", result.Phase{}), 0},
	} {
		var out bytes.Buffer
		if got := printVerdicts(&out, new(overview).judge(tc.rows)); got != tc.missed {
			t.Errorf("%s: %d missed, want %d:\n%s", name, got, tc.missed, out.String())
		}
	}
}

func TestMemoryVerdicts(t *testing.T) {
	for name, tc := range map[string]struct {
		idle, peak float64
		missed     int
	}{
		"both met": {50, 390, 0}, "idle too much": {58, 390, 1}, "peak too much": {50, 410, 1},
	} {
		r := &rows{all: []row{
			{Scenario: "idle", Peer: "millrace", Phase: result.Phase{Phase: "idle", BrokerRSSMiB: tc.idle}},
			{Scenario: "short", Peer: "millrace", Phase: result.Phase{Phase: "produce", Partitions: 1, BrokerPeakMiB: tc.peak}},
		}}
		var out bytes.Buffer
		if got := printVerdicts(&out, (&overview{slabMiB: 256}).judge(r)); got != tc.missed {
			t.Errorf("%s: %d missed, want %d:\n%s", name, got, tc.missed, out.String())
		}
	}
}

func TestTablesShowEveryBrokerWithItsShareOfTheFloor(t *testing.T) {
	r := measured("short", "produce", result.Phase{MBPerS: 500, BrokerCPUGB: 2})
	var out bytes.Buffer
	new(overview).print(&out, r)
	for _, want := range []string{"kafka", "floor", "millrace", "0.50", "2.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

func TestRowsWithErrorsEndTheRunAndAreKept(t *testing.T) {
	r, err := newRows(t.TempDir(), "overview")
	if err != nil {
		t.Fatal(err)
	}
	defer r.file.Close()
	if err := r.add(row{Peer: "millrace", Phase: result.Phase{Phase: "produce", Errors: 1, FirstError: "broken"}}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error is %v", err)
	}
	if b, _ := os.ReadFile(r.file.Name()); !bytes.Contains(b, []byte(`"first_error":"broken"`)) {
		t.Errorf("raw rows are %s", b)
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--partitions", "4", "--set", "kafka:a=b", "--scenarios", "idle"})
	if err != nil {
		t.Fatal(err)
	}
	s := o.suite.(*overview)
	if len(s.partitions) != 1 || s.partitions[0] != 4 || !slices.Equal(o.sets["kafka"], []string{"a=b"}) || len(s.scenarios) != 1 {
		t.Errorf("options are %+v of %+v", s, o)
	}
	if n := recordsOf(2, 1024); n != 1953125 {
		t.Errorf("2 GB are %d records", n)
	}
	for _, args := range [][]string{
		{"--scenarios", "all"}, {"--partitions", "0"}, {"--set", "kafka"}, {"--set", "nobody:a=b"}, {"--peers", "kafka,nobody"},
		{"everything"}, {"topics", "--counts", "1,x"}, {"produce", "rest"}, {"latency", "--rounds", "0"},
	} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

func TestEverySuiteHasOneShortRoundWhenQuick(t *testing.T) {
	for _, name := range suiteNames() {
		o, err := parseOptions([]string{name, "--quick", "--peers", "millrace"})
		if err != nil || o.rounds != 1 || o.name != name || len(o.peers) != 1 {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
	}
}

func TestContendersOnRequestDoNotTakePartByDefault(t *testing.T) {
	o, err := parseOptions([]string{"latency"})
	if err != nil {
		t.Fatal(err)
	}
	names := namesOf(o.peers, false)
	if slices.Contains(names, rivalFlushed) || !slices.Contains(names, natsAlways) {
		t.Errorf("those who take part are %v", names)
	}
	if o, err = parseOptions([]string{"latency", "--peers", "kafka-flushed,millrace"}); err != nil || len(o.peers) != 2 || o.peers[0].program != "kafka" {
		t.Errorf("those who take part are %+v, %v", o.peers, err)
	}
}

func TestLinesThatAreNotJSONAreChatter(t *testing.T) {
	phases, err := parsePhases([]byte("a warning\n{\"phase\":\"produce\",\"mb_per_s\":1.5}\n\n{\"phase\":\"consume\"}\n"))
	if err != nil || len(phases) != 2 || phases[0].MBPerS != 1.5 || phases[1].Phase != "consume" {
		t.Errorf("%+v, %v", phases, err)
	}
	if _, err := parsePhases([]byte("{broken\n")); err == nil {
		t.Error("a broken line is accepted")
	}
}

func TestWorkBecomesArguments(t *testing.T) {
	w := work{mode: "produce", topics: 64, size: 1024, records: 1000, producers: 4, raw: true, maxTime: time.Minute, cut: true}
	got := strings.Join(w.loadArgs("t"), " ")
	for _, want := range []string{"--mode produce", "--topic t", "--topics 64", "--raw", "--max-time 1m0s", "--cut", "--records 1000"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	for topics, batch := range map[int]string{1: "batch=976", 64: "batch=16", 1000: "batch=16"} {
		w.topics = topics
		if got := strings.Join(w.rocketArgs("t"), " "); !strings.Contains(got, batch+" ") {
			t.Errorf("%d topics: %q is missing in %q", topics, batch, got)
		}
	}
}

func TestEvictedFilesKeepTheirBytes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "t-0", "0.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("x"), 100_000)
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := evict(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
