// Links commands at an epoch.

package cli

import (
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/links"
)

// TestLinksEpoch: all commands that read take an epoch, and fail at another one.
func TestLinksEpoch(t *testing.T) {
	g, uids := letters(t)
	to := serving.Serve(t, storetest.Open(t), server.Options{Links: g})
	const page = "http://www.letters.org/alpha"
	code, stdout, stderr := run(t, "", "links", "epoch", "--to", to)
	epoch := strings.TrimSpace(stdout)
	if code != exitDone || epoch != strconv.FormatUint(g.Epoch(), 10) {
		t.Fatalf("%d %q %s; the epoch is %d", code, stdout, stderr, g.Epoch())
	}
	commands := [][]string{
		{"uid", page}, {"url", uids[page]}, {"get", page}, {"get", "--labels", page}, {"sample", "-n", "1", page},
		{"degree", page}, {"pages"}, {"rank", page},
	}
	ask := func(args []string, epoch string) (int, string, string) {
		return run(t, "", append(append([]string{"links"}, args...), "--to", to, "--epoch", epoch)...)
	}
	for _, args := range commands {
		code, want, stderr := run(t, "", append(append([]string{"links"}, args...), "--to", to)...)
		if code != exitDone || want == "" {
			t.Fatalf("%q: %d %s", args, code, stderr)
		}
		for _, of := range []string{epoch, "now"} {
			if code, got, stderr := ask(args, of); code != exitDone || got != want {
				t.Errorf("%q at %s: %d %q %s\nwant %q", args, of, code, got, stderr, want)
			}
		}
	}
	if _, err := g.Update(t.Context(), []links.Change{{Source: page, Targets: []string{"http://new.example/"}}}); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		code, got, stderr := ask(args, epoch)
		if code == exitDone || got != "" || !strings.Contains(stderr, "at epoch "+strconv.FormatUint(g.Epoch(), 10)+", not "+epoch) || !strings.Contains(stderr, "links epoch") {
			t.Errorf("%q at an epoch that is over: %d %q %s", args, code, got, stderr)
		}
		if code, _, stderr := ask(args, "now"); code != exitDone {
			t.Errorf("%q now: %d %s", args, code, stderr)
		}
		for _, of := range []string{"then", "-1", "18446744073709551616"} {
			if code, _, stderr := ask(args, of); code != exitUsage || !strings.Contains(stderr, of) {
				t.Errorf("%q at %s: %d %s", args, of, code, stderr)
			}
		}
	}
	for _, args := range [][]string{{"links", "get", "--epoch", "7", page}, {"links", "epoch"}} {
		if code, _, stderr := runLinks(t, g, "", args...); code != exitUsage || !strings.Contains(stderr, "servers") {
			t.Errorf("%q of a graph that is no server's: %d %s", args, code, stderr)
		}
	}
}
