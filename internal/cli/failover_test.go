// Tests of several addresses in --to.

package cli

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cli/target"
)

// TestSeveralAddresses: a command asks the next address if one is not reached, writes and uploads included. The list
// may be of short forms, in the flag and in the variable.
func TestSeveralAddresses(t *testing.T) {
	// A port that answered and is free again.
	gone, stop := serveFor(t, t.TempDir())
	stop()
	up, stop := serveFor(t, t.TempDir())
	defer stop()
	to := strings.TrimPrefix(gone, "http://") + ", " + up + "/sparql"
	const line = "<http://a/s> <http://a/p> <http://a/o> .\n"
	for _, command := range []string{"add", "load"} {
		if code, _, stderr := run(t, line, command, "--to", to, "--from", "nt", "-"); code != exitDone {
			t.Fatalf("%s: %d %s", command, code, stderr)
		}
	}
	t.Setenv(target.EnvTo, to)
	if code, stdout, stderr := run(t, "", "match", "? ? ?"); code != exitDone || stdout != line {
		t.Errorf("match: %d %q %s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, "", "match", "--ca", "ca.crt", "--to", "https://a:1,http://b:2", "? ? ?"); code != exitUsage || !strings.Contains(stderr, "--ca is for https") {
		t.Errorf("--ca with one address in the clear: %d %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "cluster", "leave", "--to", to); code == exitDone || !strings.Contains(stderr, "2 addresses") {
		t.Errorf("a machine of several left: %s", stderr)
	}
}
