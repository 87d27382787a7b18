// trefoil functions against a server.

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

func TestFunctions(t *testing.T) {
	// 1. Serve a store with functions.
	db := storetest.Open(t)
	service := functions.Open(functions.Options{Store: db, Feed: db.Feed()})
	storetest.CloseLater(t, service)
	to := serving.Serve(t, service.Checked(), server.Options{Functions: service})
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
