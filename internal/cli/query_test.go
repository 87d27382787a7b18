// The commands query and update.

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
)

const peopleNT = `<http://ex/ada> <http://ex/name> "Ada" .
<http://ex/ada> <http://ex/age> "36"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://ex/mary> <http://ex/name> "Mary"@en .
`

// eachStore runs a test on a directory with some triples, and on a server of one:
// flags choose it.
func eachStore(t *testing.T, ntriples string, test func(t *testing.T, flags ...string)) {
	load := func(t *testing.T) string {
		data := filepath.Join(t.TempDir(), "store")
		if code, _, stderr := run(t, ntriples, "load", "--data", data, "--from", "nt", "-"); code != exitDone {
			t.Fatal(stderr)
		}
		return data
	}
	t.Run("data", func(t *testing.T) { test(t, "--data", load(t)) })
	t.Run("to", func(t *testing.T) {
		db := storetest.OpenDir(t, load(t))
		// As of a directory, a query has all the time that a slow machine takes.
		e, err := engine.New(db, engine.Options{Timeout: -1})
		if err != nil {
			t.Fatal(err)
		}
		test(t, "--to", serving.Serve(t, db, server.Options{Engine: e}))
	})
}

func TestQueryCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.rq")
	if err := os.WriteFile(file, []byte("\uFEFFSELECT ?n { ?s <http://ex/name> ?n FILTER(LANG(?n) = '') }"), 0o600); err != nil {
		t.Fatal(err)
	}
	const names = `SELECT ?n { ?s <http://ex/name> ?n } ORDER BY ?n`
	const construct = `PREFIX ex: <http://ex/> PREFIX é: <http://e/> CONSTRUCT WHERE { ?s ex:age ?o }`
	eachStore(t, peopleNT, func(t *testing.T, flags ...string) {
		for _, step := range []struct {
			stdin  string
			args   []string
			code   int
			stdout string // all of it
			stderr string // a part of it
		}{
			{"", []string{"-e", names}, exitDone, "?n\n\"Ada\"\n\"Mary\"@en\n", ""},
			{"", []string{file}, exitDone, "?n\n\"Ada\"\n", ""},
			{names, []string{"-"}, exitDone, "?n\n\"Ada\"\n\"Mary\"@en\n", ""},
			{"", []string{"-e", names, "--format", "table"}, exitDone, "n\n---------\n\"Ada\"\n\"Mary\"@en\n", ""},
			{"", []string{"-e", names + " LIMIT 1", "--format", "csv"}, exitDone, "n\r\nAda\r\n", ""},
			{"", []string{"-e", `SELECT * { <http://ex/ada> ?p ?o } ORDER BY ?o LIMIT 1`, "--format", "TSV"}, exitDone, "?p\t?o\n<http://ex/age>\t36\n", ""},
			{"", []string{"-e", `SELECT ?n ?u { ?s <http://ex/none> ?n }`}, exitDone, "?n\t?u\n", ""},
			{"", []string{"-e", `ASK {}`}, exitDone, "true\n", ""},
			{"", []string{"-e", `ASK {}`, "--format", "json"}, exitDone, "{\"head\":{},\"boolean\":true}\n", ""},
			{"", []string{"-e", construct}, exitDone, "<http://ex/ada> <http://ex/age> \"36\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n", ""},
			{"", []string{"-e", strings.Replace(construct, "PREFIX é: <http://e/> ", "", 1), "--format", "ttl"}, exitDone, "@prefix ex: <http://ex/> .\nex:ada ex:age 36 .\n", ""},
			{"", []string{"-e", `SELECT ?o { ?s ?p ?o }`, "--bind", "s=<http://ex/mary>", "--bind", "?p=<http://ex/name>"}, exitDone, "?o\n\"Mary\"@en\n", ""},
			{"", []string{"-e", `ASK { ?s ?p ?o }`, "--default-graph", "http://ex/g"}, exitDone, "false\n", ""},
			{"", []string{"-e", `ASK { GRAPH ?g { ?s ?p ?o } }`, "--named-graph", "http://ex/g"}, exitDone, "false\n", ""},

			{"", nil, exitUsage, "", "the text, or the file"},
			{"", []string{"-e", names, file}, exitUsage, "", "give one"},
			{"", []string{"-e", names, "--format", "ttl"}, exitUsage, "", "table, json, csv, tsv or xml"},
			{"", []string{"-e", construct, "--format", "csv"}, exitUsage, "", "ttl, nt, nq, trig, xml or jsonld"},
			{"", []string{"-e", names, "--bind", "x"}, exitUsage, "", "NAME=TERM"},
			{"", []string{"-e", names, "--bind", "n=Ada"}, exitUsage, "", "--bind n"},
			{"", []string{"-e", names, "--bind", "m=1"}, exitUsage, "", "no variable ?m"},
			{"", []string{"-e", names, "--explain=fast"}, exitUsage, "", "neither run nor plan"},
			{"", []string{"-e", names, "--timeout", "-1s"}, exitUsage, "", "--timeout -1s"},
			{"", []string{"-e", names, "--default-graph", "g"}, exitUsage, "", "--default-graph: not an absolute IRI"},
			{"", []string{"-e", names, "--named-graph", "g"}, exitUsage, "", "--named-graph: not an absolute IRI"},
			{"", []string{"-e", "CLEAR ALL"}, exitFailed, "", "found CLEAR\n  CLEAR ALL\n  ^\n  It is an update: trefoil update carries it out.\n"},
			{"", []string{"-e", " "}, exitFailed, "", "the end of the text\n   \n   ^\n"},
			{"", []string{file + ".none"}, exitFailed, "", "no such file"},
			{"SELECT *\r\nWHERE { \"\u00e9\u4e16\" ?p }", []string{"-"}, exitFailed, "",
				"standard input:2:17: expected a variable or a term, found '}'\n  WHERE { \"\u00e9\u4e16\" ?p }\n                   ^\n"},
			{"", []string{"-e", `SELECT (COUNT(*) AS ?n) { VALUES ?x {1 2 3 4 5 6 7 8 9} VALUES ?y {1 2 3 4 5 6 7 8 9} ` +
				`VALUES ?z {1 2 3 4 5 6 7 8 9} VALUES ?u {1 2 3 4 5 6 7 8 9} VALUES ?v {1 2 3 4 5 6 7 8 9} VALUES ?w {1 2 3 4 5 6 7 8 9} ` +
				`VALUES ?a {1 2 3 4 5 6 7 8 9} VALUES ?b {1 2 3 4 5 6 7 8 9} VALUES ?c {1 2 3 4 5 6 7 8 9} FILTER(?x + ?y + ?z + ?u + ?v + ?w + ?a + ?b + ?c != 0) }`,
				"--timeout", "50ms"}, exitFailed, "", "its limit is 50ms\n  "},
		} {
			code, stdout, stderr := run(t, step.stdin, append(append([]string{"query"}, flags...), step.args...)...)
			if code != step.code || stdout != step.stdout || !strings.Contains(stderr, step.stderr) {
				t.Errorf("%q: code %d, want %d\nstdout: %q\nwant:   %q\nstderr: %s\nwant: %s", step.args, code, step.code, stdout, step.stdout, stderr, step.stderr)
			}
		}
		_, plan, _ := run(t, "", append([]string{"query", "--explain", "-e", names}, flags...)...)
		if !strings.Contains(plan, "about") || strings.Contains(plan, "rows, ") || !strings.Contains(plan, "\nisolation snapshot: ") {
			t.Errorf("plan:\n%s", plan)
		}
		_, plan, _ = run(t, "", append([]string{"query", "--explain", "--format", "json", file}, flags...)...)
		if !strings.HasPrefix(plan, `{"form":"SELECT","ran":false,"plan":{"operator":`) {
			t.Errorf("plan as JSON: %s", plan)
		}
		const filtered, why = `{ ?s <http://ex/name> ?n FILTER(?n * 2 > 1) }`, "an error for all 2 rows: an operand of the wrong type"
		for _, form := range []string{"SELECT ?n", "ASK", "CONSTRUCT { ?s ?s ?n }"} {
			if code, _, stderr := run(t, "", append([]string{"query", "-e", form + filtered}, flags...)...); code != exitDone || stderr != "trefoil: warning: the answer is empty. filter ?n * 2 > 1: "+why+"\n" {
				t.Errorf("%s: %d %s", form, code, stderr)
			}
		}
		_, plan, stderr := run(t, "", append([]string{"query", "--explain=run", "-e", "SELECT ?n" + filtered}, flags...)...)
		if !strings.Contains(plan, ", "+why+")\n") || stderr != "" {
			t.Errorf("plan of an empty answer:\n%s%s", plan, stderr)
		}
		_, plan, _ = run(t, "", append([]string{"query", "--explain=run", "-e", names}, flags...)...)
		if !strings.Contains(plan, "\n2 rows, 2 read, ") {
			t.Errorf("plan after a run:\n%s", plan)
		}
		_, plan, _ = run(t, "", append([]string{"query", "--explain=run", "-e", "CONSTRUCT { <http://ex/a> <http://ex/b> 1 } {}"}, flags...)...)
		if !strings.HasPrefix(plan, "unit  (about 1 rows)  (rows 1") || !strings.Contains(plan, "\n1 row, 0 read, ") {
			t.Errorf("plan of an empty group:\n%s", plan)
		}
	})
}

// The counts of an update that an earlier try has done are not known, so none are printed.
func TestUpdateCommandRepeated(t *testing.T) {
	url := clusterServer(t, func(_ int, w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"repeated":true}`) })
	code, _, stderr := run(t, "", "update", "--to", url, "-e", "CLEAR ALL")
	if code != exitDone || !strings.Contains(stderr, "done by an earlier try") || strings.Contains(stderr, "0") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, stdout, _ := run(t, "", "update", "--to", url, "--json", "-e", "CLEAR ALL"); code != exitDone || stdout != "{\"repeated\":true}\n" {
		t.Errorf("%d %s", code, stdout)
	}
}

func TestUpdateCommand(t *testing.T) {
	eachStore(t, peopleNT, func(t *testing.T, flags ...string) {
		for _, step := range []struct {
			args           []string
			code           int
			stdout, stderr string
		}{
			{[]string{"-e", `INSERT DATA { <http://ex/a> <http://ex/p> 1, 2 }`}, exitDone, "", "added 2 triples, deleted 0"},
			{[]string{"-e", `DELETE WHERE { ?s <http://ex/p> ?o }`, "--bind", "o=1", "--json"}, exitDone, "{\"added\":0,\"deleted\":1,\"isolation\":\"snapshot\"}\n", ""},
			{[]string{"-e", "ASK {}"}, exitFailed, "", "found ASK\n  ASK {}\n  ^\n  It is a query: trefoil query runs it.\n"},
			{[]string{"-e", "CLEAR\nGRAPH"}, exitFailed, "", "-e:2:6: "},
			{[]string{"-e", `CREATE GRAPH <http://ex/g> ; CREATE GRAPH`}, exitFailed, "", "-e:1:42: "},
			{[]string{"-e", `LOAD <http://127.0.0.1:1/>`}, exitFailed, "", "LOAD"},
			{nil, exitUsage, "", "the text, or the file"},
		} {
			code, stdout, stderr := run(t, "", append(append([]string{"update"}, flags...), step.args...)...)
			if code != step.code || stdout != step.stdout || !strings.Contains(stderr, step.stderr) {
				t.Errorf("%q: code %d, want %d\nstdout: %q\nstderr: %s", step.args, code, step.code, stdout, stderr)
			}
		}
		if _, stdout, _ := run(t, "", append([]string{"query", "-e", `SELECT (COUNT(*) AS ?n) { ?s ?p ?o }`}, flags...)...); stdout != "?n\n4\n" {
			t.Errorf("%s triples", stdout)
		}
	})
	data := filepath.Join(t.TempDir(), "new")
	if code, _, stderr := run(t, "", "update", "--data", data, "-e", `INSERT DATA { <http://ex/a> <http://ex/p> 1 }`); code != exitDone {
		t.Errorf("a new directory: %d %s", code, stderr)
	}
	code, _, stderr := run(t, "", "update", "--data", data, "--update-memory", "1k", "-e", "INSERT DATA {"+peopleNT+strings.ReplaceAll(peopleNT, "ex/", "ex/more/")+
		strings.ReplaceAll(peopleNT, "ex/", "ex/yet/")+"}")
	if code != exitFailed || !strings.Contains(stderr, "--update-memory") {
		t.Errorf("a large update: %d %s", code, stderr)
	}
}

// A long result is written as it comes, and Ctrl-C or a closed pipe ends it.
func TestQueryStreams(t *testing.T) {
	seed.Slow(t)
	var all strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&all, "<http://ex/s%d> <http://ex/p> <http://ex/o%d> .\n", i, i)
	}
	const product = `SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }`
	eachStore(t, all.String(), func(t *testing.T, flags ...string) {
		for _, query := range []string{product, strings.Replace(product, "SELECT *", "CONSTRUCT { [] ?b ?f }", 1)} {
			args := append([]string{"query", "-e", query}, flags...)
			ctx, stop := context.WithCancel(t.Context())
			var stderr bytes.Buffer
			if code := Run(ctx, args, nil, &drain{meanwhile: stop}, &stderr); code != exitFailed || stderr.String() != "trefoil: interrupted\n" {
				t.Errorf("interrupted: %d %s", code, stderr.String())
			}
			stderr.Reset()
			if code := Run(t.Context(), args, nil, brokenPipe{}, &stderr); code != exitFailed || stderr.Len() > 0 {
				t.Errorf("pipe closed: %d %s", code, stderr.String())
			}
		}
		if testing.Short() {
			return // what follows is of memory
		}
		var before, during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		args := append([]string{"query", "--format", "json", "-e", `SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 300000`}, flags...)
		out := &measured{at: 200_000, measure: func() { runtime.GC(); runtime.ReadMemStats(&during) }}
		var stderr bytes.Buffer
		if code := Run(t.Context(), args, nil, out, &stderr); code != exitDone || out.lines < 300_000 {
			t.Errorf("%d, %d lines: %s", code, out.lines, stderr.String())
		}
		if grew := int64(during.HeapAlloc) - int64(before.HeapAlloc); grew > 32<<20 {
			t.Errorf("%d MiB are held in the middle of a result", grew>>20)
		}
	})
}

// measured counts lines and measures when some number has come.
type measured struct {
	lines, at int
	measure   func()
}

func (m *measured) Write(p []byte) (int, error) {
	before := m.lines
	m.lines += bytes.Count(p, []byte("\n"))
	if before < m.at && m.lines >= m.at {
		m.measure()
	}
	return len(p), nil
}

func TestServeFlags(t *testing.T) {
	for _, test := range []struct {
		args  []string
		words string
	}{
		{[]string{"--query-memory", "0"}, "--query-memory"},
		{[]string{"--max-queries", "0"}, "--max-queries"},
		{[]string{"--allow-host", "http://x/"}, "allowed host"},
		{[]string{"--cors", "example.org"}, "origin"},
		{[]string{"--public-url", "example.org"}, "public URL"},
		{[]string{"--spill-dir", "/nowhere/at/all"}, "--spill-dir"},
		{[]string{"--query-timeout", "soon"}, "--query-timeout"},
	} {
		code, _, stderr := run(t, "", append([]string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "store")}, test.args...)...)
		if code == exitDone || !strings.Contains(stderr, test.words) {
			t.Errorf("%q: %d %s", test.args, code, stderr)
		}
	}
}

// Where nobody knows whether an update was done, the command says so.
func TestUpdateUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		words  string
		may    bool
	}{
		"broken": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", true},
		"unknown": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(504)
			io.WriteString(w, `{"error":{"kind":"unknown-outcome","message":"the disk","where":""}}`)
		}, "the disk", true},
		"refused": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(403)
			io.WriteString(w, `{"error":{"kind":"read-only","message":"no changes","where":""}}`)
		}, "no changes", false},
	} {
		server := httptest.NewServer(test.answer)
		code, _, stderr := run(t, "", "update", "--to", server.URL, "-e", `INSERT DATA { <http://ex/a> <http://ex/p> 1 }`)
		server.Close()
		if code != exitFailed || !strings.Contains(stderr, test.words) || strings.Contains(stderr, "may be done") != test.may {
			t.Errorf("%s: %d %s", name, code, stderr)
		}
	}
}
