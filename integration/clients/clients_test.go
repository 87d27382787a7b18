// Package clients tests a running node with the clients that its users have:
// SPARQLWrapper, rdflib's SPARQLStore, our Python package, Comunica, and a browser on the console. It compares
// the node's answers with those of the stores that users come from, in which docs/COMING-FROM.md says they differ.
// scripts/clients.sh installs them; where one is not there its tests are skipped,
// but with TREFOIL_CLIENTS=require they fail.
package clients

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// program returns the path of the first of some programs that is there.
func program(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	absent(t, "no "+names[0])
	return ""
}

// absent ends a test whose client is not there.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("TREFOIL_CLIENTS") == "require" {
		t.Fatalf("%s: scripts/clients.sh installs it", what)
	}
	t.Skipf("%s: scripts/clients.sh installs it", what)
}

// serve starts a node with the triples and returns its URL.
func serve(t *testing.T, options server.Options, triples []triple.Triple) (string, *store.Store) {
	t.Helper()
	db := storetest.Open(t)
	if _, err := store.Add(t.Context(), db, triples); err != nil {
		t.Fatal(err)
	}
	return serving.Serve(t, db, options), db
}

// converse runs a client to its end, and fails the test where it fails.
func converse(t *testing.T, command string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, command, args...).CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "done") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
