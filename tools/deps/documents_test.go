package deps

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func readDocument(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// `net/server/conn.go:begin` in a document is a promise that the file has such a function, method or type.
var reference = regexp.MustCompile("`([a-z0-9_./-]+\\.go):([A-Za-z_][A-Za-z0-9_.]*)`")

func TestDocumentsNameWhatExists(t *testing.T) {
	for _, document := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"} {
		found := reference.FindAllStringSubmatch(readDocument(t, document), -1)
		for _, m := range found {
			names, err := declarations(filepath.Join(root, m[1]))
			if err != nil {
				t.Errorf("%s: %s: %v", document, m[0], err)
			} else if !names[m[2]] {
				t.Errorf("%s: %s does not declare %s", document, m[1], m[2])
			}
		}
		if document == "ARCHITECTURE.md" && len(found) < 20 {
			t.Errorf("%s names only %d functions", document, len(found))
		}
	}
}

// declarations are the functions, types and variables of a file; a method is M and T.M.
func declarations(path string) (map[string]bool, error) {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
			if d.Recv != nil {
				names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				}
			}
		}
	}
	return names, nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var (
	target  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	command = regexp.MustCompile(`\bmake ([a-z][a-z-]*)`)
	folder  = regexp.MustCompile("(?m)^\\| `([a-z/]+)/` +\\|")
)

func TestDocumentsNameTargetsOfTheMakefile(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(readDocument(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	for _, want := range []string{"run", "build", "install", "test", "race", "fuzz", "bench", "conformance", "lint", "fmt", "check"} {
		if !targets[want] {
			t.Errorf("the Makefile has no target %s", want)
		}
	}
	for _, document := range []string{"README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"} {
		// In prose "make" is a verb: commands are in code.
		for _, code := range regexp.MustCompile("(?s)```.*?```|`[^`\n]+`").FindAllString(readDocument(t, document), -1) {
			for _, m := range command.FindAllStringSubmatch(code, -1) {
				if !targets[m[1]] {
					t.Errorf("%s: the Makefile has no target %s", document, m[1])
				}
			}
		}
	}
}

func TestDocumentsNameFoldersThatExist(t *testing.T) {
	for _, document := range []string{"README.md", "ARCHITECTURE.md"} {
		for _, m := range folder.FindAllStringSubmatch(readDocument(t, document), -1) {
			if info, err := os.Stat(filepath.Join(root, m[1])); err != nil || !info.IsDir() {
				t.Errorf("%s: there is no folder %s", document, m[1])
			}
		}
	}
}

// Relative links lead somewhere.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	for _, document := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"} {
		for _, m := range link.FindAllStringSubmatch(readDocument(t, document), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %v", document, err)
			}
		}
	}
}

// What is not done is an issue and not a remark, and every package says what it is.
func TestTheSourceIsFinished(t *testing.T) {
	unfinished := regexp.MustCompile(`\b(` + "TO" + `DO|FIX` + `ME|X` + `XX)\b|t\.Skip|panic\("(stub|not implemented|unimplemented)`)
	documented := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") && name != ".." || name == "testdata" || name == "node_modules" || name == "bin" || name == "data") {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for s, n := bufio.NewScanner(bytes.NewReader(b)), 1; s.Scan(); n++ {
			if m := unfinished.FindString(s.Text()); m != "" && !strings.HasSuffix(path, "documents_test.go") {
				t.Errorf("%s:%d: %s", path, n, m)
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, b, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		documented[dir] = documented[dir] || f.Doc != nil
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: the package has no documentation", dir)
		}
	}
}
