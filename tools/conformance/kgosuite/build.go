package kgosuite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "github.com/twmb/franz-go"

// Build compiles the test program of kgo in dir, which it makes, and gives its
// path.
func Build(ctx context.Context, dir string) (program string, err error) {
	if _, err := output(ctx, "go", "mod", "download", module); err != nil {
		return "", err
	}
	place, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", err
	}
	src := filepath.Join(dir, "src")
	if err := copyTree(src, strings.TrimSpace(place)); err != nil {
		return "", fmt.Errorf("copy %s: %w", module, err)
	}
	program = filepath.Join(dir, "kgo.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", program, "./pkg/kgo")
	build.Dir = src
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build kgo tests: %w\n%s", err, out)
	}
	return program, nil
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", cmd, err)
	}
	return string(out), nil
}

// copyTree copies the folder from to a new folder to, with files that can be
// written: those of the module cache cannot.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, b, 0o644)
	})
}
