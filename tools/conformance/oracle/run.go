package oracle

import (
	"fmt"
	"io"
	"regexp"
	"sync"
)

// Options says what to compare.
type Options struct {
	Kafka, Millrace string         // addresses
	Only            *regexp.Regexp // probes by name; nil for all
	Declared        *Declared
	RunID           string // short and unique: part of all names on the brokers
	Parallel        int    // probes at a time
	Verbose         bool   // print every field seen
}

// result is what one probe came to.
type result struct {
	probe  Probe
	diffs  []Difference
	fields int
	err    error
}

// Compare plays all probes and reports to w. It gives false if a difference is
// not declared, a declared one is gone, or a broker could not be asked.
func Compare(w io.Writer, o Options) bool {
	probes, names := selected(o.Only)
	var mu sync.Mutex
	var results []result
	one := func(p Probe) {
		res := playBoth(p, o, w, &mu)
		mu.Lock()
		results = append(results, res)
		mu.Unlock()
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, o.Parallel)
	for _, p := range probes {
		if p.Alone {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			one(p)
		})
	}
	wg.Wait()
	for _, p := range probes {
		if p.Alone {
			one(p)
		}
	}
	return report(w, results, o.Declared, names)
}

func selected(only *regexp.Regexp) (probes []Probe, names []string) {
	for _, p := range All() {
		if only == nil || only.MatchString(p.Name) {
			probes = append(probes, p)
			names = append(names, p.Name)
		}
	}
	return probes, names
}

// playBoth plays one probe to both brokers at the same time.
func playBoth(p Probe, o Options, w io.Writer, mu *sync.Mutex) result {
	var kafka, millrace []Field
	var kafkaErr, millraceErr error
	var wg sync.WaitGroup
	wg.Go(func() { kafka, kafkaErr = play(p, o.Kafka, o.RunID) })
	wg.Go(func() { millrace, millraceErr = play(p, o.Millrace, o.RunID) })
	wg.Wait()
	res := result{probe: p, fields: len(kafka)}
	switch {
	case kafkaErr != nil:
		res.err = fmt.Errorf("kafka: %w", kafkaErr)
	case millraceErr != nil:
		res.err = fmt.Errorf("millrace: %w", millraceErr)
	default:
		res.diffs = compare(p.Name, kafka, millrace)
	}
	if o.Verbose {
		mu.Lock()
		for _, f := range kafka {
			fmt.Fprintf(w, "  %s %s = %s\n", p.Name, f.Path, f.Value)
		}
		mu.Unlock()
	}
	return res
}

func report(w io.Writer, results []result, declared *Declared, names []string) bool {
	ok, equal, known, unknown, fieldCount := true, 0, 0, 0, 0
	for _, res := range results {
		fieldCount += res.fields
		switch {
		case res.err != nil:
			ok = false
			fmt.Fprintf(w, "FAIL %s: %v\n", res.probe.Name, res.err)
		case len(res.diffs) == 0:
			equal++
		}
		for _, d := range res.diffs {
			if d.Reason = declared.reason(d); d.Reason != "" {
				known++
				continue
			}
			unknown++
			fmt.Fprintf(w, "DIFF %s\n", d)
		}
	}
	for _, d := range declared.gone(names) {
		ok = false
		fmt.Fprintf(w, "GONE line %d: %s\n", d.line, d)
	}
	fmt.Fprintf(w, "%d probes (%d fields), %d equal, %d declared differences, %d undeclared\n",
		len(results), fieldCount, equal, known, unknown)
	return ok && unknown == 0
}
