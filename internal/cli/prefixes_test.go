// Tests of prefixes in commands: names in arguments, what loads find, tables and Turtle.

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/trefoildb/trefoil/internal/cli/console"
)

const people = `@prefix ex: <http://people.example/> .
@prefix other: <http://other.example/very/long/namespace/> .
ex:ann a ex:Person ; ex:age 41 ; ex:born "1983-05-06"^^<http://www.w3.org/2001/XMLSchema#date> .
ex:bob a ex:Person ; ex:age 42 ; ex:knows ex:ann .
`

// TestPrefixes: the commands of prefixes, on a directory and a server.
func TestPrefixes(t *testing.T) {
	eachStore(t, "", func(t *testing.T, flags ...string) {
		with := func(more ...string) []string { return append(more, flags...) }
		want(t, exitDone, "foaf:     http://xmlns.com/foaf/0.1/", with("prefixes")...)
		want(t, exitDone, "", with("prefixes", "add", "ex", "http://ex/")...)
		want(t, exitDone, "", with("prefixes", "add", "ex:", "<http://new/>")...)
		want(t, exitDone, "@prefix ex: <http://new/> .\n", with("prefixes", "list", "--format", "ttl")...)
		want(t, exitDone, `{"prefixes":{"ex":"http://new/"},"wellKnown":{"dc":`, with("prefixes", "--format", "json")...)
		want(t, exitDone, "0\n", with("count")...)
		want(t, exitDone, "", with("prefixes", "remove", "ex")...)
		want(t, exitFailed, "no such prefix", with("prefixes", "remove", "ex")...)
		want(t, exitUsage, "xsd always is", with("prefixes", "add", "xsd", "http://ex/")...)
		want(t, exitUsage, "a letter first", with("prefixes", "add", "1", "http://ex/")...)
	})
}

// TestNamesInCommands: what a file declares is a name in the arguments of commands; well-known names are
// there without it. All counts have the triples of the file only.
func TestNamesInCommands(t *testing.T) {
	file, again := write(t, "people.ttl", people), write(t, "again.ttl", "@prefix ex: <http://second.example/> .\n@prefix foaf: <http://mine/> .\nex:x foaf:y 1 .\n")
	eachStore(t, "", func(t *testing.T, flags ...string) {
		with := func(more ...string) []string { return append(more, flags...) }
		want(t, exitDone, "new        6\n", with("load", file)...)
		want(t, exitDone, "6\n", with("count")...)
		want(t, exitDone, "6\n", with("count", "--estimate")...)
		want(t, exitDone, "triples     6\n", with("status")...)
		want(t, exitDone, "added 1 triple, 0 there already", with("add", again)...)
		want(t, exitDone, "1\n", with("count", "? <http://mine/y> ?")...)
		// 1. Patterns, ranges and queries.
		want(t, exitDone, "2\n", with("count", "? a ex:Person")...)
		want(t, exitDone, "2\n", with("count", "? rdf:type ex:Person")...)
		want(t, exitDone, "0\n", with("count", "? foaf:name ?")...)
		want(t, exitDone, "<http://people.example/bob> <http://people.example/knows> <http://people.example/ann> .\n", with("match", "ex:bob ex:knows ?")...)
		want(t, exitDone, "\"42\"", with("range", "--order", "pos", "--prefix", "ex:age", "--gt", "41")...)
		want(t, exitDone, "people.example/bob", with("range", "--order", "spo", "--starts", "ex:b")...)
		want(t, exitDone, "?a\n41\n", with("query", "SELECT ?a { ex:ann ex:age ?a }")...)
		want(t, exitDone, "?a\n41\n", with("query", "--bind", "who=ex:ann", "SELECT ?a { ?who ex:age ?a }")...)
		want(t, exitDone, "<http://second/a>", with("query", "PREFIX ex: <http://second/> CONSTRUCT { ex:a ex:b 1 } WHERE { <http://people.example/ann> ?p 41 }")...)
		want(t, exitFailed, `prefix "none:" is not declared`, with("query", "SELECT ?a { none:ann ex:age ?a }")...)
		want(t, exitUsage, "a prefix of the store", with("match", "none:bob ? ?")...)
		// 2. Changes.
		want(t, exitDone, "added 1", with("update", "INSERT DATA { ex:carl ex:age 43 }")...)
		want(t, exitDone, "deleted 1 triple", with("delete", "--pattern", "ex:carl ex:age ?")...)
		// 3. Turtle has the prefixes that it uses.
		const turtle = "@prefix ex: <http://people.example/> .\nex:bob ex:knows ex:ann .\n"
		want(t, exitDone, turtle, with("query", "--format", "ttl", "CONSTRUCT WHERE { ?s ex:knows ?o }")...)
		_, dump, _ := run(t, "", with("dump", "--no-annotations", "--format", "trig")...)
		if !strings.HasPrefix(dump, "@prefix ex: <http://people.example/> .\n@prefix xsd: <") || strings.Contains(dump, "other") {
			t.Errorf("the dump is %s", dump)
		}
		// 4. A dump as N-Quads has no row of prefixes, so it can be loaded by everyone.
		_, dump, _ = run(t, "", with("dump")...)
		if strings.Contains(dump, "urn:trefoil") || strings.Count(dump, "\n") != 8 {
			t.Errorf("the dump is %s", dump)
		}
	})
}

// TestManyPrefixes: a file with very many prefixes is loaded, and few of them are kept.
func TestManyPrefixes(t *testing.T) {
	var text bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&text, "@prefix p%d: <http://ex/%d/> .\n", i, i)
	}
	text.WriteString("p99999:s p0:p " + strings.Repeat("1 , ", 10) + "2 .\n")
	file, data := write(t, "many.ttl", text.String()), filepath.Join(t.TempDir(), "data")
	want(t, exitDone, "read       11\n", "load", "--data", data, file)
	want(t, exitDone, "2\n", "count", "--data", data)
	_, list, _ := run(t, "", "prefixes", "--data", data)
	if n := strings.Count(list, "http://ex/"); n < 100 || n > 2000 {
		t.Errorf("%d prefixes are kept", n)
	}
}

// TestDumpPart: a dump of one directory has no row of prefixes, either.
func TestDumpPartWithoutPrefixes(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	want(t, exitDone, "", "load", "--data", data, write(t, "people.ttl", people))
	if _, dump, _ := run(t, "", "dump", "--part", "--data", data); strings.Contains(dump, "urn:trefoil") || strings.Count(dump, "\n") != 7 {
		t.Errorf("the dump is %s", dump)
	}
}

// TestTableOnTerminal: a table on a terminal is no wider than it, has names, and ends with rows and time. In
// a pipe it has whole cells.
func TestTableOnTerminal(t *testing.T) {
	file := write(t, "people.ttl", people+"ex:carl ex:age \"猫"+strings.Repeat("long ", 40)+"\" .\n")
	eachStore(t, "", func(t *testing.T, flags ...string) {
		want(t, exitDone, "", append([]string{"load", file}, flags...)...)
		table := func(width int, more ...string) string {
			var out, messages bytes.Buffer
			e := &console.Env{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &messages, Width: width}
			if code := runIn(e, append(append([]string{"query"}, more...), flags...)); code != exitDone {
				t.Fatalf("%d: %s", code, messages.String())
			}
			return out.String()
		}
		const query = "SELECT ?s ?p ?o { ?s ?p ?o } ORDER BY ?s ?p"
		got := table(60, query)
		for line := range strings.Lines(got) {
			if n := runewidth.StringWidth(strings.TrimSuffix(line, "\n")); n > 60 {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
		for _, part := range []string{"ex:ann  | ex:age", `"1983-05-06"^^xsd:date`, "| ex:Person", "…"} {
			if !strings.Contains(got, part) {
				t.Errorf("no %s in\n%s", part, got)
			}
		}
		if !regexp.MustCompile(`\n7 rows, \d+\.\d{3} s\n$`).MatchString(got) {
			t.Errorf("the table ends with\n%s", got)
		}
		if got := table(200, "PREFIX p: <http://people.example/> SELECT ?o { ?s p:knows ?o }"); !strings.HasPrefix(got, "o\n-----\np:ann\n1 row, ") {
			t.Errorf("%s", got)
		}
		_, piped, _ := run(t, "", append([]string{"query", "--format", "table", query}, flags...)...)
		if !strings.Contains(piped, "<http://people.example/ann>") || strings.Contains(piped, "…") || strings.Contains(piped, "rows") {
			t.Errorf("in a pipe:\n%s", piped)
		}
	})
}

// TestNoStoreNeeded: arguments without names do not read the prefixes, so their mistakes cost no request.
func TestNoStoreNeeded(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	want(t, exitUsage, "pattern", "match", "--data", missing, "<a:b> ?")
	want(t, exitFailed, "data directory", "match", "--data", missing, "ex:a ? ?")
	if _, err := os.Stat(missing); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
}
