package deps

import (
	"bufio"
	"bytes"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "millrace"

// order is what each package may import, all of it.
type order map[string]map[string]bool

// parse reads rules. Lines may come in any order; a circle is an error.
func parse(t *testing.T, rules string) order {
	t.Helper()
	direct := order{}
	node := func(p string) map[string]bool {
		if direct[p] == nil {
			direct[p] = map[string]bool{}
		}
		return direct[p]
	}
	var text strings.Builder
	for line := range strings.Lines(rules) {
		if line, _, _ = strings.Cut(line, "#"); line != "" {
			text.WriteString(line + " ")
		}
	}
	for rule := range strings.SplitSeq(text.String(), ";") {
		if strings.TrimSpace(rule) == "" {
			continue
		}
		low, high, ok := strings.Cut(rule, "<")
		if !ok {
			t.Fatalf("rule without <: %q", rule)
		}
		for l := range strings.FieldsSeq(low) {
			node(l)
			for h := range strings.FieldsSeq(high) {
				node(h)[l] = true
			}
		}
	}
	closed := order{}
	for p := range direct {
		closed[p] = map[string]bool{}
		var reach func(q string)
		reach = func(q string) {
			for l := range direct[q] {
				if l == p {
					t.Fatalf("%s stands above itself", p)
				}
				if !closed[p][l] {
					closed[p][l] = true
					reach(l)
				}
			}
		}
		reach(p)
	}
	return closed
}

// place is the entry of rules that a package falls under; empty: none.
func (o order) place(p string) string {
	if o[p] != nil {
		return p
	}
	for tree := range o {
		if root, ok := strings.CutSuffix(tree, "/..."); ok && (p == root || strings.HasPrefix(p, root+"/")) {
			return tree
		}
	}
	return ""
}

// allows reports whether a package at place from may import the package at place to.
func (o order) allows(from, to string) bool {
	return o[from][to] || from == to && strings.HasSuffix(from, "/...")
}

// goList runs go list with one line of output a package.
func goList(t *testing.T, format string) (lines []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-f", format, module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// ours cuts the module's name off, and leaves other modules' packages out.
func ours(imports []string) (out []string) {
	for _, p := range imports {
		if p, ok := strings.CutPrefix(p, module+"/"); ok {
			out = append(out, p)
		}
	}
	return out
}

func TestImportsPointDown(t *testing.T) {
	o := parse(t, rules)
	for _, line := range goList(t, `{{.ImportPath}} {{join .Imports " "}}`) {
		fields := ours(strings.Fields(line))
		p := fields[0]
		if _, ok := testSupport[p]; ok {
			continue
		}
		from := o.place(p)
		if from == "" {
			t.Errorf("%s has no place in the order of imports (tools/deps/rules_test.go)", p)
			continue
		}
		for _, imported := range fields[1:] {
			if _, ok := testSupport[imported]; ok {
				t.Errorf("%s imports %s, which is for tests", p, imported)
			} else if !o.allows(from, o.place(imported)) {
				t.Errorf("%s imports %s, which does not stand below it", p, imported)
			}
		}
	}
}

// Tests, too, use only what stands below: what needs more of the broker is a test of the upper package.
func TestTestsImportDown(t *testing.T) {
	o := parse(t, rules)
	for _, line := range goList(t, `{{.ImportPath}} {{join .TestImports " "}} {{join .XTestImports " "}}`) {
		fields := ours(strings.Fields(line))
		p := fields[0]
		from := o.place(p)
		for _, imported := range fields[1:] {
			if base, ok := testSupport[imported]; ok {
				imported = base
			}
			if imported != p && from != "" && !o.allows(from, o.place(imported)) && testSupport[p] != imported {
				t.Errorf("the tests of %s import %s, which does not stand below it", p, imported)
			}
		}
	}
}

// A service with many dependencies is two services.
func TestNoServiceWantsTooMuch(t *testing.T) {
	const most = 9
	for _, line := range goList(t, `{{.ImportPath}} {{join .Imports " "}}`) {
		fields := ours(strings.Fields(line))
		if p := fields[0]; strings.HasPrefix(p, "broker/") && len(fields)-1 > most {
			t.Errorf("%s imports %d packages: %s", p, len(fields)-1, strings.Join(fields[1:], " "))
		}
	}
}

func TestTheOrderKnowsItsLayers(t *testing.T) {
	o := parse(t, rules)
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"segment", "index", true},
		{"segment/producer", "segment/batch", true},
		{"index", "segment/batch", false},
		{"segment/slab", "segment/batch", false},
		{"net/server", "segment", false},
		{"replication", "net/server", true},
		{"broker/meta", "broker/config", true},
		{"broker/auth", "broker/config", false},
		{"broker/group", "broker/coordinator", true},
		{"broker/group", "broker/txn", false},
		{"broker/data", "broker/controller", false},
		{"broker", "broker/http", true},
		{"segment", "broker", false},
		{"tools/millrace/...", "tools/millrace/...", true},
		{"tools/millrace/...", "bench/...", false},
	} {
		if got := o.allows(c.from, c.to); got != c.want {
			t.Errorf("%s may import %s: %v", c.from, c.to, got)
		}
	}
	if places := slices.Sorted(maps.Keys(o)); len(places) < 30 {
		t.Errorf("only %d packages in the order", len(places))
	}
}
