// The flags that choose a store, and errors of servers.

package cli

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// An answer that needed other copies is complete. A message beside it says once that it did.
func TestTellsDegraded(t *testing.T) {
	const row = "<http://ex/s> <http://ex/p> <http://ex/o> .\n"
	for _, degraded := range []bool{true, false} {
		url := clusterServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			if degraded {
				w.Header().Set("Trefoil-Degraded", "true")
			}
			var err error
			switch {
			case r.URL.Path == "/count":
				_, err = io.WriteString(w, `{"count":1,"exact":true}`)
			case r.URL.Path != "/sparql":
				if r.URL.Query().Get("cursor") == "" {
					w.Header().Set("Link", `<`+r.URL.Path+`?cursor=next>; rel="next"`)
				}
				w.Header().Set("Content-Type", "application/n-quads")
				_, err = io.WriteString(w, row)
			case strings.Contains(r.Header.Get("Accept"), "json"):
				w.Header().Set("Content-Type", "application/sparql-results+json")
				_, err = io.WriteString(w, `{"head":{"vars":["s"]},"results":{"bindings":[{"s":{"type":"uri","value":"http://ex/s"}}]}}`)
			default:
				w.Header().Set("Content-Type", "application/n-triples")
				_, err = io.WriteString(w, row)
			}
			if err != nil {
				t.Error(err)
			}
		})
		for _, args := range [][]string{ // the lists have two pages
			{"match", "? ? ?"}, {"range", "--order", "spo"}, {"dump"}, {"count", "? ? ?"},
			{"query", "-e", "SELECT ?s { ?s ?p ?o }"}, {"query", "-e", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"},
		} {
			code, stdout, stderr := run(t, "", append(args, "--to", url)...)
			told := strings.Count(stderr, "degraded: machines of the cluster are away")
			if code != exitDone || stdout == "" || strings.Contains(stdout, "degraded") || told == 1 != degraded || told > 1 {
				t.Errorf("degraded %t: %q: %d, told %d times\n%s%s", degraded, args, code, told, stdout, stderr)
			}
		}
	}
}

// Without a limit a list goes on to its last page, with one up to it.
func TestAllPages(t *testing.T) {
	const rows, pageRows = 10, 3
	url := clusterServer(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		from := 0
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if cursor := r.URL.Query().Get("cursor"); err == nil && cursor != "" {
			from, err = strconv.Atoi(cursor)
		}
		if err != nil {
			t.Error(err)
			return
		}
		until := min(from+min(limit, pageRows), rows)
		if until < rows {
			w.Header().Set("Link", fmt.Sprintf(`<%s?cursor=%d>; rel="next"`, r.URL.Path, until))
		}
		w.Header().Set("Content-Type", "application/n-quads")
		for i := from; i < until; i++ {
			fmt.Fprintf(w, "<http://ex/s> <http://ex/p> \"%d\" .\n", i)
		}
	})
	for _, args := range [][]string{{"dump", "--no-annotations"}, {"match", "? ? ?"}, {"match", "? ? ?", "--json"}, {"range", "--order", "spo"}} {
		if code, stdout, stderr := run(t, "", append(args, "--to", url)...); code != exitDone || strings.Count(stdout, "\n") != rows {
			t.Errorf("%q: %d, %s%s", args, code, stdout, stderr)
		}
		if args[0] == "dump" {
			continue
		}
		for _, limit := range []int{1, pageRows, pageRows + 1, rows, rows + 1} {
			code, stdout, stderr := run(t, "", append(args, "--to", url, "--limit", strconv.Itoa(limit))...)
			want := min(limit, rows)
			if code != exitDone || strings.Count(stdout, "\n") != want || strings.Contains(stderr, fmt.Sprintf("cursor: %d\n", limit)) != (limit < rows) {
				t.Errorf("%q, a limit of %d: %d, %s%s", args, limit, code, stdout, stderr)
			}
		}
	}
}

// All commands that ask a server trust the authority that --ca or the environment
// names.
func TestTrustsAuthority(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status" {
			writeStatus(t, w, client.Status{Cluster: "photos", Lost: 1, Members: []client.Member{{ID: "00a1", State: "down"}}})
			return
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are to fail
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := file("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	garbage := file("garbage", []byte("no certificate"))
	document := file("a.nt", []byte("<http://ex/s> <http://ex/p> <http://ex/o> .\n"))
	address := strings.TrimPrefix(server.URL, "https://")

	for _, args := range [][]string{
		{"add", document}, {"delete", document}, {"load", document}, {"match", "? ? ?"}, {"range", "--order", "spo"}, {"count", "? ? ?"}, {"dump"},
		{"check"}, {"backup", filepath.Join(dir, "b.tar")}, {"query", "-e", "ASK {}"}, {"update", "-e", "CLEAR ALL"},
		{"cluster", "leave"}, {"cluster", "remove", "00a1"}, {"cluster", "accept-loss", "--force"},
	} {
		if code, _, stderr := run(t, "", append(args, "--to", server.URL, "--ca", ca)...); code != exitFailed || !strings.Contains(stderr, "418") {
			t.Errorf("%q does not reach the serverFlags: %d, %s", args, code, stderr)
		}
	}
	for _, args := range [][]string{{"status"}, {"cluster", "status"}} {
		if code, stdout, stderr := run(t, "", append(args, "--to", address, "--ca", ca)...); code != exitDone || !strings.Contains(stdout, "photos") {
			t.Errorf("%q of an address without a scheme: %d, %s", args, code, stderr)
		}
	}
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--to", "http://" + address, "--ca", ca}, exitUsage, "--ca is for https"},
		{[]string{"--to", server.URL, "--ca", garbage}, exitFailed, "holds none in PEM"},
		{[]string{"--to", server.URL, "--ca", filepath.Join(dir, "absent")}, exitFailed, "certificates to trust"},
		{[]string{"--data", dir, "--ca", ca}, exitUsage, "--ca is for servers"},
	} {
		if code, _, stderr := run(t, "", append([]string{"status"}, test.args...)...); code != test.code || !strings.Contains(stderr, test.says) {
			t.Errorf("%q: %d, %s", test.args, code, stderr)
		}
	}
	t.Setenv(target.EnvCA, ca)
	if code, stdout, stderr := run(t, "", "status", "--to", server.URL); code != exitDone || !strings.Contains(stdout, "photos") {
		t.Errorf("with $%s: %d, %s", target.EnvCA, code, stderr)
	}
}

// Who does not know the server's authority learns how to name it.
func TestUnknownAuthority(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	if code, _, stderr := run(t, "", "update", "-e", "CLEAR ALL", "--to", server.URL); code != exitFailed || !strings.Contains(stderr, "--ca F") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// A node that speaks TLS hangs up on who does not.
func TestHungUp(t *testing.T) {
	seed.Slow(t)
	url := clusterServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Error(err)
		}
	})
	if code, _, stderr := run(t, "", "update", "-e", "CLEAR ALL", "--to", url); code != exitFailed || strings.Contains(stderr, "https") {
		t.Errorf("of an update it matters more whether it is done: %d, %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "query", "-e", "ASK {}", "--to", url); code != exitFailed || !strings.Contains(stderr, "https://") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// TestKeepFree: adds leave the space of --keep-free on the disk, in a directory and through a
// server; the flag comes before the environment.
func TestKeepFree(t *testing.T) {
	const line, huge = "<http://e.x/s> <http://e.x/p> \"o\" .\n", "1000000TiB"
	data := filepath.Join(t.TempDir(), "store")
	for _, step := range []struct {
		env  string
		args []string
		code int
	}{
		{"", []string{"--keep-free", huge}, 1},
		{huge, nil, 1},
		{huge, []string{"--keep-free", "0"}, 0},
		{"", []string{"--keep-free", "64MiB"}, 0},
		{"much", nil, 2},
	} {
		t.Run(fmt.Sprintf("%q %q", step.env, step.args), func(t *testing.T) {
			if step.env != "" {
				t.Setenv("TREFOIL_KEEP_FREE", step.env)
			}
			code, _, stderr := run(t, line, append([]string{"add", "--data", data, "--from", "nt"}, append(step.args, "-")...)...)
			if code != step.code || (code == 1) != strings.Contains(stderr, "disk is full") {
				t.Errorf("add: exit code %d, want %d: %s", code, step.code, stderr)
			}
		})
	}
	for size, want := range map[string]int{huge: 1, "0": 0} {
		url, _ := serveNode(t, "--keep-free", size)
		if code, _, stderr := run(t, line, "add", "--to", url, "--from", "nt", "-"); code != want {
			t.Errorf("add through a server that keeps %s free: exit code %d, want %d: %s", size, code, want, stderr)
		}
	}
}

// TestFeedRetention: the flag and its variable bound the feed of a directory.
func TestFeedRetention(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	for i := range 6 {
		var lines strings.Builder
		for n := range 300 {
			fmt.Fprintf(&lines, "<http://e.x/s%d> <http://e.x/p> \"%d\" .\n", n, i)
		}
		args := []string{"add", "--data", data, "--keep-free", "0", "--from", "nt", "--feed-retention", "16KiB,1h", "-"}
		if code, _, stderr := run(t, lines.String(), args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	db, err := store.Open(data, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if kept, _ := db.ChangeFeed().Size(); kept == 0 || kept > 32<<10 {
		t.Errorf("%d bytes are kept", kept)
	}
	t.Setenv("TREFOIL_FEED_RETENTION", "much")
	if code, _, stderr := run(t, "", "add", "--data", data, "-"); code != 2 || !strings.Contains(stderr, "TREFOIL_FEED_RETENTION") && !strings.Contains(stderr, "feed-retention") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
