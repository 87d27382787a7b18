// What a newcomer tries first: defaults, short forms, and files that are not what they seem.

package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cli/target"
)

// write makes a file of a test and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// want checks the exit code of a command, and what it printed altogether.
func want(t *testing.T, code int, words string, args ...string) {
	t.Helper()
	got, stdout, stderr := run(t, "", args...)
	if got != code || !strings.Contains(stdout+stderr, words) {
		t.Errorf("%q: code %d, want %d and ...%s...\n%s%s", args, got, code, words, stdout, stderr)
	}
}

// TestFailedLoad checks that a failed load leaves no store where there was none, and the store that was there.
func TestFailedLoad(t *testing.T) {
	bad, good := write(t, "bad.nt", "bad\n"), write(t, "good.nt", "<http://ex/a> <http://ex/p> <http://ex/b> .\n")
	missing, empty := filepath.Join(t.TempDir(), "missing"), t.TempDir()
	want(t, exitFailed, "Nothing of this load", "load", "--data", missing, bad)
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
	want(t, exitFailed, "Nothing of this load", "load", "--data", empty, bad)
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("left in the empty directory: %v %v", left, err)
	}
	want(t, exitFailed, "", "query", "--data", missing, "ASK {}")
	// The same with links.
	badLinks := write(t, "bad.edges", "http://a/\thttp://b/\nbad\n")
	for _, dir := range []string{missing, empty} {
		want(t, exitFailed, "Nothing of this load", "load", "--links", "--data", dir, badLinks)
	}
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the directory of links is there: %v", err)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("links left in the empty directory: %v %v", left, err)
	}
	want(t, exitDone, "", "load", "--data", empty, good)
	want(t, exitFailed, "", "load", "--data", empty, bad)
	want(t, exitDone, "1\n", "count", "--data", empty)
}

// TestShortForms checks the forms of arguments that people try first, on a directory and a server.
func TestShortForms(t *testing.T) {
	eachStore(t, "<http://ex/a> <http://ex/p> \"41\" .\n", func(t *testing.T, flags ...string) {
		with := func(command string, more ...string) []string {
			return append(append([]string{command}, flags...), more...)
		}
		const query = "SELECT ?o { ?s ?p ?o }"
		want(t, exitDone, `"41"`, with("query", query)...)
		want(t, exitDone, "rows 1, read", with("query", "--explain", "run", query)...)
		want(t, exitDone, "rows 1, read", with("query", "--explain=run", query)...)
		want(t, exitDone, "about", with("query", "--explain", query)...)
		want(t, exitFailed, "no such file", with("query", "missing.rq")...)
		want(t, exitFailed, "text:1:", with("query", "SELECT {")...)
		want(t, exitDone, "added 1", with("update", "INSERT DATA { <http://ex/b> <http://ex/p> 1 }")...)
		want(t, exitUsage, "quote the whole pattern", with("match", "<http://ex/a>", "d", "d")...) // the shell found a file d for ?
		want(t, exitFailed, "--pattern", with("delete", "? <http://ex/p> ?")...)
		want(t, exitFailed, "INSERT DATA", with("add", "<http://ex/a> <http://ex/p> 2 .")...)
		if code, stdout, _ := run(t, "", with("match", "--limit", "0")...); code != exitDone || stdout != "" {
			t.Errorf("--limit 0: %d %q", code, stdout)
		}
		want(t, exitUsage, "which is no literal", with("range", "--order", "spo", "--ge", "18")...)
		want(t, exitDone, "<http://ex/b>", with("match", "--offset", "1")...)
		if code, stdout, stderr := run(t, "", with("range", "--order", "spo", "--reverse", "--offset", "1", "--limit", "5")...); code != exitDone || strings.Contains(stdout, "ex/b") || strings.Count(stdout, "\n") != 1 || strings.Contains(stderr, "cursor") {
			t.Errorf("--offset 1: %d %q %q", code, stdout, stderr)
		}
		want(t, exitDone, "cursor: ", with("match", "--offset", "0", "--limit", "1")...)
		want(t, exitUsage, "leave --offset out", with("match", "--offset", "1", "--cursor", "AAAA")...)
		want(t, exitUsage, "which is no literal", with("range", "--order", "spo", "--prefix", "<http://ex/a>", "--starts", `"M`)...)
		want(t, exitDone, "", with("range", "--order", "osp", "--ge", "18")...)
		if flags[0] == "--to" {
			want(t, exitDone, "The triple is stored on 1 machine; 1 must have it.", "cluster", "where", "--to", flags[1], `<http://ex/a> <http://ex/p> "41"`)
			want(t, exitDone, "not stored. These would be its places:\n\nVERSION", "cluster", "where", "--to", flags[1], `<http://ex/a> <http://ex/p> "42"`)
			want(t, exitUsage, "name one triple", "cluster", "where", "--to", flags[1], `<http://ex/a> ? "42"`)
			for _, path := range []string{"/", "/sparql", "/sparql/", "/query", "/update", "/data"} {
				want(t, exitDone, "2\n", "count", "--to", flags[1]+path)
			}
		}
	})
	// Without --to and --data the documented address is meant.
	t.Setenv(target.EnvTo, "")
	parsed := func(args ...string) *grammar {
		g := new(grammar)
		if _, err := newParser(g, io.Discard, io.Discard, func(int) {}).Parse(args); err != nil {
			t.Fatal(err)
		}
		return g
	}
	for listen, address := range map[string]string{"7888": "127.0.0.1:7888", "[::1]:0": "[::1]:0"} {
		if o, err := parsed("serve", "--data", "d", "--listen", listen).Serve.Options(); err != nil || o.Listen != address {
			t.Errorf("--listen %s: %q, %v", listen, o.Listen, err)
		}
	}
}

// TestOtherSyntaxes checks that files that are not what their names say, and those of syntaxes that are not
// read, are refused with the reason, and that a document that means nothing has a warning.
func TestOtherSyntaxes(t *testing.T) {
	const turtle = "@prefix ex: <http://ex/> .\nex:a ex:p ex:b .\n"
	const trix = `<TriX xmlns="http://www.w3.org/2004/03/trix/trix-1/"><graph><triple><uri>http://e/a</uri><uri>http://e/p</uri><uri>http://e/b</uri></triple></graph></TriX>`
	const rdfJSON = `{"http://e/a":{"http://e/p":[{"value":"b","type":"literal"}]}}`
	eachStore(t, "", func(t *testing.T, flags ...string) {
		for _, c := range []struct {
			name, text string
			code       int
			words      string
		}{
			{"x.nt", turtle, exitFailed, "looks like Turtle or TriG, and its name says N-Triples: --from ttl"},
			{"x.ttl", `<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>`, exitFailed, "looks like RDF/XML"},
			{"x.nt", "<http://ex/a> <http://ex/p> .\n", exitFailed, "--keep-going"},
			{"t.trix", trix, exitFailed, "this is TriX"},
			{"t.xml", trix, exitFailed, "this is TriX"},
			{"r.rj", rdfJSON, exitFailed, "this is RDF/JSON"},
			{"r.jsonld", rdfJSON, exitFailed, "this is RDF/JSON"},
			{"n.jsonld", `{"@id":"http://e/a","name":"x"}`, exitDone, `n.jsonld: JSON-LD without @context: "name" is no IRI`},
			{"n.jsonld", `{"@context":{"name":"http://e/name"},"@id":"http://e/a","name":"x"}`, exitDone, "new        1"},
		} {
			want(t, c.code, c.words, append(append([]string{"load"}, flags...), write(t, c.name, c.text))...)
		}
	})
	want(t, exitFailed, "looks like Turtle", "convert", write(t, "x.nt", turtle))
	want(t, exitDone, "without @context", "convert", write(t, "n.jsonld", `[{"@id":"http://e/a","name":"x"}]`))
}

// TestSkippedFiles: what a directory has beside RDF is named in a warning, and in the JSON of a load.
func TestSkippedFiles(t *testing.T) {
	const says = "warning: 2 files of directories are left out, because their names are not of an RDF syntax: "
	dir := t.TempDir()
	for name, text := range map[string]string{"a.nt": "<http://e/a> <http://e/p> \"x\" .\n", "b.n3": "@prefix : <http://e/> .\n:b :p 1 .\n",
		"c.json": "{}", ".hidden": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	eachStore(t, "", func(t *testing.T, flags ...string) {
		for _, command := range []string{"add", "load", "delete"} {
			want(t, exitDone, says+dir+"/b.n3, "+dir+"/c.json; to read such a file, name it", append(append([]string{command}, flags...), dir)...)
		}
		code, out, said := run(t, "", append(append([]string{"load", "--json"}, flags...), dir)...)
		var summary struct{ Warnings []string }
		if err := json.Unmarshal([]byte(out), &summary); err != nil || code != exitDone || len(summary.Warnings) != 1 || strings.Count(said, "warning: "+summary.Warnings[0]+"\n") != 1 {
			t.Errorf("%d %s\n%s", code, out, said)
		}
		// What the hint says reads it.
		want(t, exitDone, "read       1", append(append([]string{"load", "--from", "ttl"}, flags...), filepath.Join(dir, "*.n3"))...)
	})
	want(t, exitDone, says, "convert", dir)
}
