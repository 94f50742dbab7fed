package main

import (
	"bytes"
	"strings"
	"testing"

	"millrace/bench/internal/result"
)

// rowsOf makes one row for each figure of MB/s.
func rowsOf(scenario, phase, setting, peer string, mb ...float64) []row {
	var out []row
	for i, v := range mb {
		out = append(out, row{Scenario: scenario, Setting: setting, Peer: peer, Round: i + 1, Phase: result.Phase{Phase: phase, Partitions: 1, MBPerS: v}})
	}
	return out
}

// missedTargets are the verdicts that are missed, as text.
func missedTargets(t *testing.T, verdicts []verdict) string {
	t.Helper()
	var out bytes.Buffer
	printVerdicts(&out, verdicts)
	var missed []string
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "MISSED") {
			missed = append(missed, line)
		}
	}
	return strings.Join(missed, "")
}

func TestTopicsAreComparedWithOneTopicByMedians(t *testing.T) {
	for name, tc := range map[string]struct {
		many   []float64
		kafka  float64
		missed string
	}{
		"on the bound":          {[]float64{95, 94, 96}, 95, ""},
		"more lost than may be": {[]float64{94, 94, 100}, 10, "0.95 x millrace's of 1 topic"},
		"behind Kafka":          {[]float64{100}, 101, "1.00 x kafka's"},
	} {
		r := &rows{}
		r.all = append(r.all, rowsOf("topics", "warm", "1 topic", ours, 99, 100, 101)...)
		r.all = append(r.all, rowsOf("topics", "warm", "1,024 topics", ours, tc.many...)...)
		r.all = append(r.all, rowsOf("topics", "warm", "1,024 topics", rival, tc.kafka)...)
		verdicts := new(topicsSuite).judge(r)
		if len(verdicts) != 2 {
			t.Errorf("%s: verdicts are %+v", name, verdicts)
		}
		got := missedTargets(t, verdicts)
		if (got == "") != (tc.missed == "") || !strings.Contains(got, tc.missed) {
			t.Errorf("%s: missed %q, want %q", name, got, tc.missed)
		}
	}
}

func TestReachingTheClientsLimitIsEnough(t *testing.T) {
	for name, tc := range map[string]struct {
		ours, floor float64
		missed      bool
	}{
		"1.2 x Kafka's":                   {120, 1000, false},
		"less, at the client's limit":     {105, 107, false},
		"less, and the client could more": {105, 120, true},
	} {
		r := &rows{}
		for peer, mb := range map[string]float64{rival: 100, ours: tc.ours, floor: tc.floor} {
			r.all = append(r.all, rowsOf("catch-up", "cold", "1 consumer", peer, mb)...)
		}
		if got := missedTargets(t, new(consumeSuite).judge(r)); (got != "") != tc.missed {
			t.Errorf("%s: missed %q", name, got)
		}
	}
}

func TestADisturbedProducerIsComparedWithItselfBefore(t *testing.T) {
	for during, missed := range map[float64]bool{1.9: false, 2.1: true} {
		r := &rows{all: []row{
			{Scenario: "disturbance", Peer: ours, Phase: result.Phase{Phase: "produce before", Partitions: 1, LatencyMs: map[string]float64{"p99": 1}}},
			{Scenario: "disturbance", Peer: ours, Together: true, Phase: result.Phase{Phase: "produce during", Partitions: 1, LatencyMs: map[string]float64{"p99": during}}},
		}}
		if got := missedTargets(t, new(consumeSuite).judge(r)); (got != "") != missed {
			t.Errorf("p99 %v times as before: missed %q", during, got)
		}
	}
}

func TestLatencyTargets(t *testing.T) {
	ms := func(peer, setting string, p50, p99, p999 float64) row {
		return row{Scenario: "latency", Setting: setting, Peer: peer, Phase: result.Phase{
			Phase: "e2e", Partitions: 1, Rate: 1000, E2EMs: map[string]float64{"p50": p50, "p99": p99, "p99.9": p999},
		}}
	}
	slow, fast := rateText(1000), rateText(20000)
	r := &rows{all: []row{
		ms(ours, slow, 0.2, 0.5, 1), ms(rival, slow, 0.3, 4, 10), ms(natsAlways, slow, 0.4, 0.9, 9),
		ms(oursAsync, slow, 0.1, 0.3, 1), ms(nats, slow, 0.15, 0.4, 1), ms(rabbit, slow, 0.2, 0.4, 1),
		ms(ours, fast, 0.3, 0.5, 3), ms(rival, fast, 0.6, 5, 10), ms(natsAlways, fast, 0.01, 0.01, 0.01),
	}}
	verdicts := new(latencySuite).judge(r)
	if len(verdicts) != 6+2+4 {
		t.Errorf("%d verdicts: %+v", len(verdicts), verdicts)
	}
	got := missedTargets(t, verdicts)
	if strings.Count(got, "MISSED") != 2 || !strings.Contains(got, "p50, 20,000 records/s: at most 0.25 ms") || !strings.Contains(got, "p99.9, 20,000 records/s: at most 0.25 x kafka's") {
		t.Errorf("missed are\n%s", got)
	}
}

func TestProduceTargets(t *testing.T) {
	c := usualCases[1].setting()
	r := &rows{}
	for peer, mb := range map[string]float64{rival: 100, ours: 150, floor: 160, rivalFlushed: 31, oursAsync: 79, floorAsync: 100} {
		for _, x := range rowsOf("short", "produce", c, peer, mb) {
			x.Partitions, x.BrokerCPUGB = 16, 1
			r.all = append(r.all, x)
		}
	}
	got := missedTargets(t, new(produceSuite).judge(r))
	for _, want := range []string{"broker CPU s/GB", "kafka-flushed's MB/s", "floor-async's MB/s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among the missed:\n%s", want, got)
		}
	}
	if strings.Count(got, "MISSED") != 3 {
		t.Errorf("missed are\n%s", got)
	}
}

func TestCasesHaveDifferentNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCases() {
		name := caseText(c.partitions, c.setting())
		if seen[name] {
			t.Errorf("%q is there twice", name)
		}
		seen[name] = true
	}
	if len(seen) != 72 {
		t.Errorf("there are %d cases, want 72", len(seen))
	}
}

func TestRivalsMayFailWhereThatIsAResult(t *testing.T) {
	r, err := newRows(t.TempDir(), "topics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.file.Close()
	r.lenient = true
	failed := result.Phase{Phase: "warm", Errors: 3, FirstError: "broken"}
	if err := r.add(row{Peer: rival, Phase: failed}); err != nil {
		t.Error(err)
	}
	if err := r.add(row{Peer: ours, Phase: failed}); err == nil {
		t.Error("errors of Millrace do not end the run")
	}
	var out bytes.Buffer
	r.printNotes(&out)
	if !strings.Contains(out.String(), "3 errors, the first: broken") {
		t.Errorf("notes are %q", out.String())
	}
}

func TestCommas(t *testing.T) {
	for n, want := range map[int]string{1: "1", 999: "999", 1000: "1,000", 10240: "10,240", 1234567: "1,234,567"} {
		if got := withCommas(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
