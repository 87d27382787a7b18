// Answers of stores over HTTP, of stores in Python, and of converters.

package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knakk/rdf"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

const resultsJSON = "application/sparql-results+json"

const prefixes = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX : <http://e/> "

// request is sent as it is. Its outcome is the status, and the media type if the answer has rows or
// triples. If rows in JSON are asked for, it is what [show] makes of them.
type request struct {
	method string
	to     string // queries, updates or graphs
	values url.Values
	accept string // "" sends none
	typed  string // of the body, "" sends none
	body   string
}

// httpStore is a store that is asked over HTTP.
type httpStore struct {
	queries, updates, graphs string
	reset                    []string // updates that empty it
	graph                    string   // of the data, if the store needs one
	version                  string
}

func (s *httpStore) versions() []string { return []string{s.version} }

func (s *httpStore) answers(t *testing.T, _ *httpStore, all []difference) (out []string) {
	for _, d := range all {
		out = append(out, s.answer(t, d))
	}
	return out
}

// answer empties the store and returns the outcome of a difference in it.
func (s *httpStore) answer(t *testing.T, d difference) string {
	t.Helper()
	// 1. The data, which must be stored.
	for _, update := range s.reset {
		s.change(t, update)
	}
	if d.data != "" {
		data := d.data
		if s.graph != "" && !strings.Contains(data, "GRAPH") {
			data = "GRAPH <" + s.graph + "> { " + data + " }"
		}
		if status := s.change(t, prefixes+"INSERT DATA { "+data+" }"); status != "200" && status != "204" {
			t.Fatalf("%s: data: %s", d.what, status)
		}
	}
	// 2. What may change them.
	var out []string
	switch {
	case d.convert != nil:
		s.put(t, d.convert.typed, d.convert.document)
	case d.request != nil:
		out = append(out, s.send(t, d.request))
	case d.update != "":
		out = append(out, s.change(t, prefixes+d.update))
	}
	// 3. What is seen then.
	if d.query != "" {
		out = append(out, s.rows(t, prefixes+d.query))
	}
	return strings.Join(out, "; ")
}

// change returns the status of an update.
func (s *httpStore) change(t *testing.T, update string) string {
	t.Helper()
	status, _, _ := exchange(t, "POST", s.updates, "application/sparql-update", "*/*", update)
	return fmt.Sprint(status)
}

// rows returns the answer of a query, as [show] has it, or the status of a failure.
func (s *httpStore) rows(t *testing.T, query string) string {
	t.Helper()
	values := url.Values{"query": {query}}
	if s.graph != "" && !strings.Contains(query, "GRAPH") {
		values.Set("default-graph-uri", s.graph)
	}
	status, _, body := exchange(t, "GET", s.queries+"?"+values.Encode(), "", resultsJSON, "")
	if status != http.StatusOK {
		return fmt.Sprint(status)
	}
	return show(t, body)
}

// put makes a document the default graph.
func (s *httpStore) put(t *testing.T, typed, document string) {
	t.Helper()
	if status, _, body := exchange(t, "PUT", s.graphs+"?default", typed, "*/*", document); status > 299 {
		t.Fatalf("put %s: %d %s", typed, status, body)
	}
}

// send returns the outcome of a request.
func (s *httpStore) send(t *testing.T, r *request) string {
	t.Helper()
	address := map[string]string{"queries": s.queries, "updates": s.updates, "graphs": s.graphs}[r.to]
	if len(r.values) > 0 {
		address += "?" + r.values.Encode()
	}
	status, typed, body := exchange(t, r.method, address, r.typed, r.accept, r.body)
	typed, _, _ = strings.Cut(typed, ";")
	if r.accept == resultsJSON && status == http.StatusOK {
		return show(t, body)
	}
	if status != http.StatusOK || typed == "application/json" || typed == "text/html" || r.to == "graphs" {
		return fmt.Sprint(status)
	}
	return fmt.Sprint(status, " ", typed)
}

// exchange sends a request and returns the answer's status, media type and body. It follows no
// redirects, and sends no media type of its own.
func exchange(t *testing.T, method, address, typed, accept, body string) (int, string, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	if typed != "" {
		req.Header.Set("Content-Type", typed)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header.Get("Content-Type"), answer
}

// show writes results in JSON as text: cells of a row behind commas, rows behind semicolons in the
// order of this text, "-" for what is unbound, and "no rows".
func show(t *testing.T, body []byte) string {
	t.Helper()
	var results struct {
		Boolean *bool
		Head    struct{ Vars []string }
		Results struct {
			Bindings []map[string]struct {
				Type, Value, Datatype string
				Language              string `json:"xml:lang"`
			}
		}
	}
	if err := json.Unmarshal(body, &results); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if results.Boolean != nil {
		return fmt.Sprint(*results.Boolean)
	}
	var rows []string
	for _, binding := range results.Results.Bindings {
		var cells []string
		for _, name := range results.Head.Vars {
			term, ok := binding[name]
			text := strings.Replace(term.Value, "http://e/", ":", 1)
			switch {
			case !ok:
				text = "-"
			case term.Language != "":
				text += "@" + term.Language
			case term.Datatype != "":
				text += "^^" + term.Datatype[strings.LastIndexByte(term.Datatype, '#')+1:]
			}
			cells = append(cells, text)
		}
		rows = append(rows, strings.Join(cells, ", "))
	}
	if len(rows) == 0 {
		return "no rows"
	}
	slices.Sort(rows)
	return strings.Join(rows, "; ")
}

// tool is a store that runs in Python.
type tool struct{ name, version string }

// toolsPython is the Python that has the tools.
var toolsPython = filepath.Join("testdata", ".venv", "bin", "python")

// tools returns the versions of the tools in Python.
func tools(t *testing.T) (versions map[string]string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join("testdata", ".venv", "installed")); err != nil {
		absent(t, "no integration/clients/testdata/.venv")
	}
	out, err := exec.CommandContext(t.Context(), toolsPython, filepath.Join("testdata", "tools.py"), "versions").Output()
	if err == nil {
		err = json.Unmarshal(out, &versions)
	}
	require.NoError(t, err)
	return versions
}

func openTool(t *testing.T, name string) peer {
	return tool{name, tools(t)[name]}
}

func (p tool) versions() []string { return []string{p.version} }

func (p tool) answers(t *testing.T, _ *httpStore, all []difference) (out []string) {
	var jobs []map[string]any
	for _, d := range all {
		job := map[string]any{"tool": p.name, "data": "", "update": "", "query": prefixes + d.query, "dataset": d.dataset}
		if d.data != "" {
			job["data"] = prefixes + "INSERT DATA { " + d.data + " }"
		}
		if d.update != "" {
			job["update"] = prefixes + d.update
		}
		jobs = append(jobs, job)
	}
	for _, a := range runTools(t, jobs) {
		switch {
		case a.Error != "":
			out = append(out, "error")
		case a.Update != "":
			out = append(out, a.Update+"; "+show(t, []byte(a.Result)))
		default:
			out = append(out, show(t, []byte(a.Result)))
		}
	}
	return out
}

// toolAnswer is an answer of testdata/tools.py.
type toolAnswer struct {
	Absent                      bool
	Error, Update, Result, Text string
}

func runTools(t *testing.T, jobs []map[string]any) (answers []toolAnswer) {
	t.Helper()
	input, err := json.Marshal(jobs)
	require.NoError(t, err)
	out := output(t, string(input), toolsPython, filepath.Join("testdata", "tools.py"))
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(jobs) {
		t.Fatalf("%d answers of %d: %v", len(answers), len(jobs), err)
	}
	return answers
}

// output runs a command on an input.
func output(t *testing.T, input, command string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	var failure bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(input), &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, failure.String())
	}
	return out
}

// conversion is a document that a tool reads and writes.
type conversion struct {
	tool     string
	to       string // the syntax that rdflib writes
	typed    string // of the document
	document string
}

// converterTools are programs that convert documents.
type converterTools struct{ found []string }

func openConverters(t *testing.T) peer {
	versions := tools(t)
	p := converterTools{}
	for name, version := range versions {
		if name != "oxigraph" {
			p.found = append(p.found, name+" "+version)
		}
	}
	if text, err := os.ReadFile(filepath.Join(jsonldFolder, "package.json")); err == nil {
		var described struct{ Version string }
		require.NoError(t, json.Unmarshal(text, &described))
		p.found = append(p.found, "jsonld.js "+described.Version)
	}
	return p
}

func (p converterTools) versions() []string { return p.found }

// answers loads what the tools write into trefoil, and asks there.
func (p converterTools) answers(t *testing.T, trefoil *httpStore, all []difference) (out []string) {
	// 1. One process for all tools in Python, because some take seconds to start.
	var jobs []map[string]any
	var places []int // in all
	written := make([]string, len(all))
	for i, d := range all {
		switch d.convert.tool {
		case "jsonld.js", "knakk/rdf":
			written[i] = convert(t, d.convert)
		default:
			jobs = append(jobs, map[string]any{"tool": d.convert.tool, "turtle": d.convert.document, "to": d.convert.to})
			places = append(places, i)
		}
	}
	for i, a := range runTools(t, jobs) {
		if a.Error != "" {
			t.Errorf("%s: %s", all[places[i]].what, a.Error)
		}
		written[places[i]] = a.Text
	}
	// 2. N-Triples are Turtle, too.
	for i, d := range all {
		if written[i] == "" {
			out = append(out, "absent")
			continue
		}
		out = append(out, trefoil.answer(t, difference{what: d.what, query: d.query,
			convert: &conversion{typed: "text/turtle", document: written[i]}}))
	}
	return out
}

// jsonldFolder has jsonld.js if scripts/clients.sh has installed it.
var jsonldFolder = filepath.Join("testdata", "node_modules", "jsonld")

// convert returns what a tool that is not in Python makes of a document, or "" if it is not installed.
func convert(t *testing.T, c *conversion) (written string) {
	t.Helper()
	if c.tool == "jsonld.js" {
		if _, err := os.Stat(jsonldFolder); err != nil {
			return ""
		}
		return string(output(t, c.document, program(t, "node", "nodejs"), filepath.Join("testdata", "jsonld.mjs")))
	}
	triples, err := rdf.NewTripleDecoder(strings.NewReader(c.document), rdf.RDFXML).DecodeAll()
	require.NoError(t, err)
	for _, triple := range triples {
		written += triple.Serialize(rdf.NTriples)
	}
	return written
}
