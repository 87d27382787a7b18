// trefoil functions against a server.

package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
)

func TestFunctions(t *testing.T) {
	// 1. Serve a store with functions.
	db, err := store.Open(t.TempDir(), store.Options{MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	service := functions.Open(functions.Options{Store: db, Feed: db.Feed()})
	defer service.Close()
	queries, err := engine.New(service.Checked(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	api, err := server.New(service.Checked(), server.Options{Functions: service, Engine: queries})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.NewServer(api, server.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	defer func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		<-served
	}()
	to := "http://" + ln.Addr().String()
	// 2. Run the commands.
	file := filepath.Join("..", "functions", "sandbox", "testdata", "schema.wasm")
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const line = "<http://e.x/a> <http://e.x/age> \"old\" .\n"
	for _, step := range []struct {
		stdin  string
		args   []string
		code   int
		stdout string // a part of it
	}{
		{"", []string{"functions", "put", "ages", file, "--pattern", "? <http://e.x/age> ?", "--kinds", "add", "--check", "--timeout", "5s", "--memory", "1MiB", "--argument", "?s <http://e.x/b> ?", "--argument", "? ? ?o"}, exitDone, ""},
		{line, []string{"add", "--from", "nt", "-"}, exitFailed, ""},
		{line, []string{"load", "--from", "nt", "-"}, exitFailed, ""},
		{line, []string{"load", "--from", "nt", "--unchecked", "-"}, exitDone, ""},
		{"", []string{"functions", "list"}, exitDone, "ages  check  add    ? <http://e.x/age> ? ?"},
		{"", []string{"functions", "list", "--json"}, exitDone, `"rejected":1`},
		{"", []string{"functions", "get", "ages"}, exitDone, `"timeoutMs":5000`},
		{"", []string{"functions", "get", "ages"}, exitDone, "? ? ?o"},
		{"", []string{"functions", "get", "ages", "--module"}, exitDone, string(module)},
		{"text", []string{"functions", "put", "x", "-"}, exitFailed, ""},
		{"", []string{"functions", "put", "x", file, "--pattern", "x"}, exitUsage, ""},
		{"", []string{"functions", "put", "x", "no such file"}, exitFailed, ""},
		{"", []string{"functions", "delete", "ages"}, exitDone, ""},
		{"", []string{"functions", "delete", "ages"}, exitFailed, ""},
		{line, []string{"add", "--from", "nt", "-"}, exitDone, ""},
	} {
		code, stdout, stderr := run(t, step.stdin, append(step.args, "--to", to)...)
		if code != step.code || !strings.Contains(stdout, step.stdout) {
			t.Errorf("%q: code %d, want %d\nstdout: %s\nstderr: %s", step.args, code, step.code, stdout, stderr)
		}
	}
}
