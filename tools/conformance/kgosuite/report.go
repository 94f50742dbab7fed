package kgosuite

import (
	"bufio"
	"fmt"
	"io"
	"sort"
	"strings"
)

// Allowed is the list of tests that may not pass.
type Allowed struct {
	reasons map[string]string
	used    map[string]bool
}

// ReadAllowed reads an allow list: a test and its reason on each line, set apart
// by a tab; lines that start with # are left out.
func ReadAllowed(r io.Reader) (*Allowed, error) {
	a := &Allowed{reasons: map[string]string{}, used: map[string]bool{}}
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		line := strings.TrimSpace(scan.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, ok := strings.Cut(line, "\t")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("allow list line %d: want a test and its reason, set apart by a tab", n)
		}
		a.reasons[name] = reason
	}
	return a, scan.Err()
}

// Hanging gives the tests whose reason says that they hang.
func (a *Allowed) Hanging() []string {
	var names []string
	for name, reason := range a.reasons {
		if strings.HasPrefix(reason, "hangs:") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// reason gives why test may not pass: the entry of it or of a test above it.
func (a *Allowed) reason(test string) string {
	for name := test; ; {
		if why, ok := a.reasons[name]; ok {
			a.used[name] = true
			return why
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return ""
		}
		name = name[:i]
	}
}

// Report prints a line for each top-level test, and for each sub-test that did not
// pass, and reports whether the results are as the list says. If only a part of
// the suite ran, entries of tests that did not run are left alone.
func Report(w io.Writer, results []Result, allowed *Allowed, partly, verbose bool) bool {
	sort.SliceStable(results, func(a, b int) bool { return results[a].Name < results[b].Name })
	below := map[string]bool{} // tests with a sub-test that did not pass: their verdict follows from it
	for _, r := range results {
		if r.Verdict == "FAIL" {
			for i := strings.LastIndexByte(r.Name, '/'); i > 0; i = strings.LastIndexByte(r.Name[:i], '/') {
				below[r.Name[:i]] = true
			}
		}
	}
	ok, count := true, map[string]int{}
	for _, r := range results {
		why := ""
		if r.Verdict != "PASS" {
			why = allowed.reason(r.Name)
		}
		_, listed := allowed.reasons[r.Name]
		switch {
		case r.Verdict == "PASS" && listed:
			ok = false
			fmt.Fprintf(w, "PASS %s (%s): take it from the allow list\n", r.Name, r.Took)
			allowed.used[r.Name] = true
		case r.Verdict == "PASS":
			if !strings.Contains(r.Name, "/") {
				fmt.Fprintf(w, "PASS %s (%s)\n", r.Name, r.Took)
			}
		case why != "":
			fmt.Fprintf(w, "%s %s (%s): allowed: %s\n", r.Verdict, r.Name, r.Took, why)
			count["allowed"]++
		case r.Verdict == "FAIL" && below[r.Name]:
			fmt.Fprintf(w, "FAIL %s (%s): see its sub-tests\n", r.Name, r.Took)
		default:
			ok = false
			fmt.Fprintf(w, "%s %s (%s): NOT ALLOWED\n", r.Verdict, r.Name, r.Took)
			if verbose {
				fmt.Fprint(w, r.Output)
			}
			count["bad"]++
		}
		count[r.Verdict]++
	}
	for name := range allowed.reasons {
		if !allowed.used[name] && !partly {
			ok = false
			fmt.Fprintf(w, "MISSING %s is on the allow list and did not run\n", name)
		}
	}
	fmt.Fprintf(w, "%d tests and sub-tests, %d passed, %d allowed not to, %d not allowed\n",
		len(results), count["PASS"], count["allowed"], count["bad"])
	return ok
}
