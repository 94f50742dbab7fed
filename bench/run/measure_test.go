package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"millrace/bench/internal/result"
)

// recorder is a bench whose load client is a script that notes how it is called.
func recorder(t *testing.T) (b *bench, calls func() []string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\ncase \"$*\" in *'--mode delete'*) ;; *) echo '{\"phase\":\"done\",\"partitions\":1,\"size\":1024}' ;; esac\n"
	if err := os.WriteFile(filepath.Join(dir, "load"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	rows, err := newRows(filepath.Join(dir, "results"), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rows.file.Close() })
	call := regexp.MustCompile(`--mode (\S+) --topic (\S+)`)
	return &bench{o: &options{dir: dir}, rows: rows}, func() []string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for line := range strings.Lines(string(text)) {
			m := call.FindStringSubmatch(line)
			out = append(out, m[1]+" "+m[2])
		}
		return out
	}
}

func TestATrialRunsItsPhasesInOrderAndLeavesNothing(t *testing.T) {
	b, calls := recorder(t)
	named := func(name string) *peer {
		return &peer{contender: contender{name: name}, dir: filepath.Join(b.o.dir, name)}
	}
	evicted := ""
	trial := trial{scenario: "catch-up", setting: "some", phases: []phase{
		{name: "fill", work: work{mode: "produce"}, hidden: true},
		{name: "push", work: work{mode: "produce"}, hidden: true, aside: true},
		{name: "cold", work: work{mode: "consume"}, before: func(_ *peer, topic string) error { evicted = topic; return nil }},
	}}
	if err := b.rounds(t.Context(), 2, []*peer{named("a"), named("b")}, trial); err != nil {
		t.Fatal(err)
	}
	want := []string{"produce bench1", "produce bench2", "consume bench1", "delete bench1", "delete bench2"}
	if got := calls(); len(got) != 4*len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("the load client is called as %q, want %q and three more like it", got, want)
	}
	if evicted != "bench7" {
		t.Errorf("the last topic that was evicted is %q", evicted)
	}
	var order []string
	for _, x := range b.rows.all {
		order = append(order, x.Peer)
		if x.Phase.Phase != "cold" || x.Setting != "some" {
			t.Errorf("row is %+v", x)
		}
	}
	if strings.Join(order, "") != "abab" {
		t.Errorf("the order is %q", order)
	}
}

func TestAHiddenPhaseWithErrorsEndsTheRun(t *testing.T) {
	b, _ := recorder(t)
	script := "#!/bin/sh\necho '{\"phase\":\"produce\",\"size\":1,\"errors\":2,\"first_error\":\"broken\"}'\n"
	if err := os.WriteFile(b.o.program("load"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &peer{contender: contender{name: "a"}, dir: b.o.dir}
	err := b.measure(t.Context(), p, trial{phases: []phase{{name: "fill", hidden: true}}}, func(phase, result.Phase) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error is %v", err)
	}
}
