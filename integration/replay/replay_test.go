// A seed repeats, and a set of seeds passes.

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// fixedSeeds are run once, repeatedSeed three times. A seed that
// failed is added here with the commit that mends the defect; since another binary
// has another history of it, the defect gets a test of its own as well.
const (
	repeatedSeed = "7"
	fixedSeeds   = "11,23,42"
)

// The edits fit the runtime of the toolchain.
func TestOverlay(t *testing.T) {
	if _, err := overlay(goroot(t), t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

// A text that is not there, as in another version of Go, is an error that says where.
func TestOverlayOfAnotherRuntime(t *testing.T) {
	before := edits
	t.Cleanup(func() { edits = before })
	edits = append(slices.Clone(before), edit{"runtime/rand.go", "no such text", ""})
	if _, err := overlay(goroot(t), t.TempDir()); err == nil || !strings.Contains(err.Error(), "rand.go") {
		t.Error(err)
	}
}

func goroot(t *testing.T) string {
	t.Helper()
	text, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{"3": {3}, "3,9": {3, 9}, "3-5,9": {3, 4, 5, 9}} {
		if got, err := parseSeeds(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if got, err := parseSeeds(""); err != nil || len(got) != 1 {
		t.Errorf("none: %v, %v", got, err)
	}
	for _, text := range []string{"x", "5-3", "1,", "-"} {
		if got, err := parseSeeds(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Seed 7 repeats its history of a cluster under faults: messages, disks and clients are
// the same byte for byte in three processes. The fixed seeds pass; each runs once.
func TestSeedRepeats(t *testing.T) {
	if os.Getenv("TREFOIL_REPLAY") == "" {
		t.Skip("TREFOIL_REPLAY=1 runs it: it compiles the standard library with another runtime, and not every seed repeats yet")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the fake clock is not for Windows")
	}
	o := options{pkg: "../cluster", test: "^TestTorture$", output: filepath.Join(t.TempDir(), "replay.test"), keep: t.TempDir(), seeds: repeatedSeed, times: 3, jobs: 1, short: true, limit: runLimit}
	for _, seeds := range []string{repeatedSeed, fixedSeeds} {
		var out bytes.Buffer
		o.seeds = seeds
		err := o.run(t.Context(), &out)
		t.Log(out.String())
		if err != nil {
			t.Fatal(err)
		}
		o.binary, o.times = o.output, 1
	}
}
