// Building the test binary and running one seed.

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// build builds the test binary of a package with the edited runtime. dir takes
// temporary files.
func build(ctx context.Context, pkg, binary, dir string) error {
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	replaced, err := overlay(strings.TrimSpace(string(goroot)), dir)
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", replaced, "-tags", "faketime,pebblegozstd", "-o", binary, pkg)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOEXPERIMENT=norandomizedheapbase64")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// runner runs seeds. Its methods may be called at once.
type runner struct {
	*options
	keep string

	mu     sync.Mutex
	out    io.Writer
	done   int
	failed []uint64
	totals map[string]int64
}

// seed runs a seed r.times times, and records if it fails or if two runs differ.
func (r *runner) seed(ctx context.Context, seed uint64) {
	began := time.Now()
	// 1. Run it. All histories must be equal, because a replay must repeat.
	var first string
	var text []byte
	var err error
	for round := range r.times {
		var hash string
		if hash, text, err = r.runSeed(ctx, seed, round); err != nil {
			break
		}
		if first == "" {
			first = hash
		}
		if hash != first {
			err = fmt.Errorf("two histories: %s and %s (-keep keeps their events)", first, hash)
			break
		}
	}
	// 2. Record the result, unless the command was interrupted.
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	r.count(text)
	if err != nil {
		r.failed = append(r.failed, seed)
		fmt.Fprintf(r.out, "seed %d FAILED: %v\n", seed, err)
		return
	}
	fmt.Fprintf(r.out, "seed %d: %s, %d times in %s\n", seed, first, r.times, time.Since(began).Round(100*time.Millisecond))
}

var total = regexp.MustCompile(`([a-z-]+)=(\d+)`)

// count adds up the numbers of a test's lines with "totals:".
func (r *runner) count(text []byte) {
	for line := range bytes.Lines(text) {
		_, after, ok := bytes.Cut(line, []byte("totals: "))
		if !ok {
			continue
		}
		for _, m := range total.FindAllSubmatch(after, -1) {
			n, _ := strconv.ParseInt(string(m[2]), 10, 64) // digits, as the expression has it
			r.totals[string(m[1])] += n
		}
	}
}

// runSeed runs a seed in a process of its own, and returns the hash of its events and
// its output. Both stay in the directory of results if it fails.
func (r *runner) runSeed(ctx context.Context, seed uint64, round int) (hash string, text []byte, err error) {
	// The length of the name is part of the environment.
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("replay-%016x", rand.Uint64()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(dir)
	events := filepath.Join(dir, "events")
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	binary, err := filepath.Abs(r.binary)
	if err != nil {
		return "", nil, err
	}
	c := exec.CommandContext(limited, binary, "-test.run", r.test, "-test.v", "-test.timeout", "0", fmt.Sprintf("-test.short=%t", r.short))
	c.Dir = r.pkg
	odd := "0"
	if r.odd {
		odd = "1"
	}
	c.Env = []string{"TMPDIR=" + dir, "TREFOIL_ODD=" + odd, "TREFOIL_EVENTS=" + events, "TREFOIL_SEED=" + strconv.FormatUint(seed, 10)}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGQUIT) } // prints all goroutines
	c.WaitDelay = 10 * time.Second
	text, err = c.CombinedOutput()
	switch {
	case limited.Err() != nil:
		err = fmt.Errorf("not done in %s", r.limit)
	case err == nil && bytes.Contains(text, []byte("no tests to run")):
		err = fmt.Errorf("no test is called %s", r.test)
	}
	if err == nil {
		hash, err = hashOf(events)
	}
	if err != nil || r.options.keep != "" {
		name := filepath.Join(r.keep, fmt.Sprintf("%d.%d", seed, round))
		err = errors.Join(err, os.WriteFile(name+".log", text, 0o644), copyFile(name+".events", events))
	}
	return hash, text, err
}

func hashOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if n, err := io.Copy(h, f); err != nil || n == 0 {
		return "", errors.Join(err, fmt.Errorf("%d bytes of events", n))
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

func copyFile(to, from string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
