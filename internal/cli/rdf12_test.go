// Tests of RDF 1.2 and of RDF-star in commands.

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// TestRDFStar: quoted triples are errors that name the flag, and with the flag they are reifiers in
// loads, adds and conversions of every syntax.
func TestRDFStar(t *testing.T) {
	line := `<< <x:s> <x:p> "o" >> <x:q> <x:z> .` + "\n"
	ttl, nt, nq := write(t, "a.ttls", line), write(t, "b.nt", line), write(t, "c.nqs", strings.Replace(line, " .", " <x:g> .", 1))
	// 1. Without the flag.
	want(t, exitFailed, "is that of a document of the RDF-star drafts; --rdf-star reads its quoted triples", "convert", ttl)
	want(t, exitFailed, "<< without ( is a quoted triple of the old RDF-star drafts", "convert", nt)
	want(t, exitFailed, "a.ttls", "load", "--data", filepath.Join(t.TempDir(), "store"), filepath.Dir(ttl))
	want(t, exitDone, "_:genid_0 <x:q> <x:z> .", "convert", "--from", "ttl", ttl) // RDF 1.2
	// 2. With it. The two lines of a document name the same node.
	for _, file := range []string{ttl, nt, nq} {
		lines := strings.Split(strings.TrimSpace(mustRun(t, "", "convert", "--rdf-star", file)), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "_:genid_t") || !strings.Contains(lines[0], `#reifies> <<( <x:s> <x:p> "o" )>>`) {
			t.Fatalf("%s: %q", file, lines)
		}
		node, _, _ := strings.Cut(lines[0], " ")
		if !strings.HasPrefix(lines[1], node+" <x:q> <x:z>") {
			t.Errorf("%s: %q", file, lines)
		}
		store := filepath.Join(t.TempDir(), "store")
		mustRun(t, "", "load", "--rdf-star", "--data", store, file)
		mustRun(t, "", "load", "--rdf-star", "--data", store, file)
		// Each load has its own nodes.
		if dump := mustRun(t, "", "dump", "--data", store); strings.Count(dump, " .\n") != 4 || strings.Count(dump, "<<(") != 2 {
			t.Errorf("%s is loaded as\n%s", file, dump)
		}
	}
	// 3. A server gets the flag, too.
	url, stop := serveFor(t, filepath.Join(t.TempDir(), "served"))
	defer stop()
	want(t, exitFailed, "--rdf-star reads it", "load", "--to", url, nt)
	mustRun(t, "", "load", "--rdf-star", "--to", url, nt)
	if dump := mustRun(t, "", "dump", "--to", url); strings.Count(dump, " .\n") != 2 || strings.Count(dump, "<<(") != 1 {
		t.Errorf("the server has\n%s", dump)
	}
	if dump := mustRun(t, "", "convert", "--rdf-star", "--format", "nt", ttl, nt); strings.Count(dump, "<<(") != 2 {
		t.Errorf("two documents share a node:\n%s", dump)
	}
}

// TestMaxNesting: --max-nesting is the limit of commands that read documents.
func TestMaxNesting(t *testing.T) {
	t.Cleanup(func() { triple.SetMaxNesting(0) })
	line := "<x:s> <x:p> " + strings.Repeat("<<( <x:s> <x:p> ", 101) + `"o"` + strings.Repeat(" )>>", 101) + " .\n"
	file := write(t, "deep.nt", line)
	want(t, exitFailed, "deep.nt:1:1613: triple terms are nested more than 100 deep; name the inner ones by reifiers, or raise --max-nesting", "convert", file)
	want(t, exitUsage, "--max-nesting 0", "convert", "--max-nesting", "0", file)
	want(t, exitDone, line, "convert", "--max-nesting", "101", file)
	want(t, exitFailed, "nested more than 100 deep", "load", "--data", filepath.Join(t.TempDir(), "store"), file)
	want(t, exitFailed, "nested more than 50 deep", "convert", "--max-nesting", "50", file)
}

// TestCanonical converts to both canonical forms.
func TestCanonical(t *testing.T) {
	const document = "<x:s> <x:p> \"\\u0001\\t\"@DE .\n<x:s> <x:p> <<( _:b <x:p> \"\\u007F\"@AR--rtl )>> <x:g> .\n"
	for version, want := range map[string]string{
		"1.1": "<x:s> <x:p> \"\x01\t\"@de .\n<x:s> <x:p> <<( _:b <x:p> \"\x7f\"@ar--rtl )>> <x:g> .\n",
		"1.2": "<x:s> <x:p> \"\\u0001\\t\"@de .\n<x:s> <x:p> <<( _:b <x:p> \"\\u007F\"@ar--rtl )>> <x:g> .\n",
	} {
		if got := mustRun(t, document, "convert", "--from", "nq", "--canonical", version, "-"); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	annotated := mustRun(t, "", "convert", "--from", "ndjson", "--canonical", "1.2", write(t, "a.ndjson", `{"s":"<x:s>","p":"<x:p>","o":"\"o\"","annotations":[{"app":"x","text":"v","type":"text/plain"}]}`+"\n"))
	if annotated != "<x:s> <x:p> \"o\" .\n" {
		t.Errorf("with annotations: %q", annotated)
	}
	want(t, exitUsage, "--canonical 1.2 is for --format nq or nt", "convert", "--canonical", "1.2", "--format", "ttl", "-")
	want(t, exitFailed, "JSON-LD 1.1 has no triple terms", "convert", "--format", "jsonld", write(t, "a.nq", document))
}
