// The W3C suite of JSON-LD 1.1: to RDF and from RDF.

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/rdfload/jsonld"
	"github.com/trefoildb/trefoil/triple"
)

// jsonldTest is an entry of a manifest of the JSON-LD suite.
type jsonldTest struct {
	ID     string   `json:"@id"`
	Types  []string `json:"@type"`
	Name   string   `json:"name"`
	Input  string   `json:"input"`
	Expect string   `json:"expect"`
	Code   string   `json:"expectErrorCode"`
	Option struct {
		Base string `json:"base"`
	} `json:"option"`

	root string
}

// is reports whether a test is of a kind, such as "Negative".
func (t jsonldTest) is(kind string) bool {
	return slices.ContainsFunc(t.Types, func(s string) bool { return strings.Contains(s, kind) })
}

// read returns a file of the suite.
func (t jsonldTest) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(t.root, filepath.FromSlash(name)))
}

// jsonldSite is where the suite's files are published.
const jsonldSite = "https://w3c.github.io/json-ld-api/tests/"

// contexts returns the contexts of the suite's files by their published URLs.
func (t jsonldTest) contexts(url string) (*jsonld.Context, error) {
	name, ok := strings.CutPrefix(url, jsonldSite)
	if !ok {
		return nil, jsonld.ErrRemoteContext
	}
	data, err := t.read(name)
	if err != nil {
		return nil, err
	}
	return jsonld.ParseContext(data, name)
}

// loadJSONLD returns the tests of a manifest.
func loadJSONLD(t *testing.T, manifest string) []jsonldTest {
	t.Helper()
	root := Shared(t, "jsonld")
	var m struct {
		Sequence []jsonldTest `json:"sequence"`
	}
	data, err := jsonldTest{root: root}.read(manifest)
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil || len(m.Sequence) == 0 {
		t.Fatalf("%s: %d tests, %v", manifest, len(m.Sequence), err)
	}
	for i := range m.Sequence {
		m.Sequence[i].root = root
	}
	return m.Sequence
}

// excuses are the tests with another answer here, by reason. Each must differ, so that none stays
// after it passes.
type excuses map[string]string

// check reports the failure of a test, unless it is excused.
func (e excuses) check(t *testing.T, id, failure string) {
	t.Helper()
	reason, excused := e[strings.TrimPrefix(id, "#t")]
	switch {
	case failure != "" && !excused:
		t.Error(failure)
	case failure == "" && excused:
		t.Errorf("it passes, so it needs no excuse: %s", reason)
	}
}

const (
	onlyOld      = "it is for version 1.0, which is not offered"
	malformedIRI = "as in Turtle a malformed or relative IRI, or a malformed language tag, is an error: its triples would be lost in silence"
	rdf12        = "directions are those of RDF 1.2"
)

var toRDFExcuses = excuses{
	"0118": "it wants predicates that are blank nodes, which RDF has not",
	"e077": "there is no option for a context beside the document",
	"er56": "its file is not in the shared copy", "c031": "its files are not in their folder in the shared copy",

	"c029": onlyOld, "e014": onlyOld, "e071": onlyOld, "e116": onlyOld, "ep02": onlyOld, "er03": onlyOld,
	"er21": onlyOld, "er32": onlyOld, "er42": onlyOld, "pi01": onlyOld, "tn01": onlyOld,

	"e060": malformedIRI, "li12": malformedIRI, "li14": malformedIRI, "wf01": malformedIRI, "wf03": malformedIRI, "wf05": malformedIRI,

	"di06": rdf12, "di09": rdf12, "di10": rdf12, "di11": rdf12,
}

const lexicalForms = "a literal is written by its lexical form, so that the document means the same"

var fromRDFExcuses = excuses{
	"0016": "the type rdf:List is written, because it is a triple",
	"0027": lexicalForms, "js09": lexicalForms,
	"di05": rdf12, "di11": rdf12, "di12": rdf12,
}

// TestJSONLDToRDF runs the suite of documents.
func TestJSONLDToRDF(t *testing.T) {
	for _, test := range loadJSONLD(t, "toRdf-manifest.jsonld") {
		t.Run(test.ID, func(t *testing.T) { toRDFExcuses.check(t, test.ID, test.toRDF(t)) })
	}
}

// toRDF runs a test and returns how it failed, or "".
func (test jsonldTest) toRDF(t *testing.T) string {
	base := test.Option.Base
	if base == "" {
		base = jsonldSite + test.Input
	}
	data, err := test.read(test.Input)
	if err != nil {
		return err.Error()
	}
	got, err := collect(t, jsonld.Parse(bytes.NewReader(data), jsonld.Options{Base: base, Contexts: test.contexts}))
	switch {
	case test.is("Negative") && err == nil:
		return test.Name + ": no error, want " + test.Code
	case test.is("Negative") && !strings.Contains(err.Error(), test.Code):
		return test.Name + ": " + err.Error() + ", want " + test.Code
	case test.is("Negative"):
		return ""
	case err != nil:
		return test.Name + ": " + err.Error() + " in\n" + string(data)
	case test.Expect == "":
		return ""
	}
	result, err := test.read(test.Expect)
	if err != nil {
		return err.Error()
	}
	want, err := collect(t, parseLines(true)(bytes.NewReader(result), test.Expect, ""))
	if err != nil {
		return err.Error()
	}
	return compare(t, got, want, string(data))
}

// TestJSONLDFromRDF runs the suite of datasets. The writer writes triples while they come, so lists are
// not in its documents, and the order is another one. So it is compared what the documents mean.
func TestJSONLDFromRDF(t *testing.T) {
	for _, test := range loadJSONLD(t, "fromRdf-manifest.jsonld") {
		t.Run(test.ID, func(t *testing.T) { fromRDFExcuses.check(t, test.ID, test.fromRDF(t)) })
	}
}

// fromRDF runs a test and returns how it failed, or "".
func (test jsonldTest) fromRDF(t *testing.T) string {
	// 1. Write the dataset.
	data, err := test.read(test.Input)
	if err != nil {
		return err.Error()
	}
	triples, err := collect(t, parseLines(true)(bytes.NewReader(data), test.Input, ""))
	if err != nil {
		return err.Error()
	}
	var document bytes.Buffer
	w := jsonld.NewWriter(&document)
	for _, one := range triples {
		err = errors.Join(err, w.Write(one))
	}
	err = errors.Join(err, w.Close())
	switch {
	case test.is("Negative") && err == nil:
		return test.Name + ": no error, want " + test.Code
	case test.is("Negative"):
		return ""
	case err != nil:
		return err.Error()
	}
	// 2. Read it and the document of the suite.
	got, err := collect(t, jsonld.Parse(bytes.NewReader(document.Bytes()), jsonld.Options{}))
	if err != nil {
		return err.Error() + " in\n" + document.String()
	}
	result, err := test.read(test.Expect)
	if err != nil {
		return err.Error()
	}
	want, err := collect(t, jsonld.Parse(bytes.NewReader(result), jsonld.Options{}))
	if err != nil {
		return err.Error()
	}
	return compare(t, got, want, document.String())
}

// compare returns how two datasets differ, or "".
func compare(t *testing.T, got, want []triple.Triple, from string) string {
	t.Helper()
	same, err := Isomorphic(got, want)
	if err != nil {
		t.Fatal(err)
	}
	if same {
		return ""
	}
	return "got\n" + nquads(got) + "want\n" + nquads(want) + "from\n" + from
}

// nquads returns triples as N-Quads, sorted.
func nquads(all []triple.Triple) string {
	var texts []string
	for _, one := range all {
		texts = append(texts, one.String()+"\n")
	}
	slices.Sort(texts)
	return strings.Join(texts, "")
}
