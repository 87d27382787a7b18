// The W3C suites of SPARQL syntax.

package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	sparql "github.com/trefoildb/trefoil/sparql/parser"
)

// sparqlText is the text of a SPARQL test: a query or an update.
type sparqlText struct {
	Test
	file   string
	text   string
	update bool
	bad    bool // it must not parse
}

// sparqlTexts returns the texts of a suite's tests, syntax and evaluation both.
func sparqlTexts(tb testing.TB, suite string) []sparqlText {
	tb.Helper()
	var texts []sparqlText
	for _, test := range Load(tb, suite) {
		var action struct{ Query, Request string }
		name := test.Action
		if name == "" {
			if err := json.Unmarshal(test.RawAction, &action); err != nil {
				tb.Fatalf("%s: action: %v", test.ID, err)
			}
			name = action.Query + action.Request
		}
		data, err := os.ReadFile(filepath.Join(test.root, test.Dir, name))
		if err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, sparqlText{
			Test: test, file: name, text: string(data),
			// Some tests of updates have the type of queries.
			update: strings.Contains(test.Type, "Update") || strings.HasSuffix(name, ".ru"),
			bad:    strings.Contains(test.Type, "Negative"),
		})
	}
	return texts
}

// options are those that a test's text is parsed with.
func (s sparqlText) options() sparql.Options {
	return sparql.Options{Base: "http://example.org/" + s.Dir + "/" + s.file}
}

var sparqlSuites = []struct {
	name  string
	tests int
}{
	{"sparql/sparql10", 311},
	{"sparql/sparql11", 337},
	{"sparql/sparql12", 189},
}

// TestSPARQLSyntax: what must parse does, comes back from the printer, and has a
// translation; what must not does not.
func TestSPARQLSyntax(t *testing.T) {
	for _, suite := range sparqlSuites {
		t.Run(filepath.Base(suite.name), func(t *testing.T) {
			texts := sparqlTexts(t, suite.name)
			if len(texts) != suite.tests {
				t.Errorf("%d tests, want %d", len(texts), suite.tests)
			}
			for _, test := range texts {
				t.Run(filepath.Base(test.Dir)+"/"+test.ID, func(t *testing.T) {
					var err error
					if test.update {
						err = checkUpdate(t, test)
					} else {
						err = checkQuery(t, test)
					}
					switch {
					case test.bad && err == nil:
						t.Errorf("%s: no error in\n%s", test.Comment, test.text)
					case !test.bad && err != nil:
						t.Errorf("%s: %v in\n%s", test.Comment, err, test.text)
					case test.bad:
						t.Log(err)
					}
				})
			}
		})
	}
}

func checkQuery(t *testing.T, test sparqlText) error {
	q, err := sparql.ParseQuery(test.text, test.options())
	if err != nil {
		return err
	}
	again, err := sparql.ParseQuery(q.String(), sparql.Options{})
	if err != nil || !ast.Equal(q, again) {
		t.Errorf("another tree comes back (%v) from\n%s", err, q)
	}
	checkBody(t, algebra.Translate(q).Body)
	return nil
}

func checkUpdate(t *testing.T, test sparqlText) error {
	u, err := sparql.ParseUpdate(test.text, test.options())
	if err != nil {
		return err
	}
	again, err := sparql.ParseUpdate(u.String(), sparql.Options{})
	if err != nil || !ast.Equal(u, again) {
		t.Errorf("another tree comes back (%v) from\n%s", err, u)
	}
	for _, op := range u.Operations {
		if m, ok := op.(*ast.Modify); ok {
			checkBody(t, algebra.TranslateModify(m).Body)
		}
	}
	return nil
}

// checkBody: a simplified tree may bind what the tree itself may, and surely
// binds what that surely does.
func checkBody(t *testing.T, body algebra.Body) {
	simple := body.Simplify()
	certain, possible := algebra.Vars(body.Root)
	simpleCertain, simplePossible := algebra.Vars(simple.Root)
	if !possible.ContainsAll(certain) || !simpleCertain.ContainsAll(certain) || !possible.ContainsAll(simplePossible) {
		t.Errorf("variables %v of %v become %v of %v in\n%s", certain, possible, simpleCertain, simplePossible, simple.String())
	}
}
