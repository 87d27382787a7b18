// What differs for users who come from other stores: docs/COMING-FROM.md against the stores.

package clients

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/server"
)

// comingFrom is the document whose rows are the differences.
const comingFrom = "../../docs/COMING-FROM.md"

// difference is a row of a table of [comingFrom], and what shows it in both stores. Either the data
// are inserted, and update and query follow, or the request is sent, or the document is converted.
type difference struct {
	what, there, here string // the cells

	data   string // of INSERT DATA; prefixes are declared
	update string // its outcome comes before that of the query: a status over HTTP, else ok or error
	query  string

	request *request // over HTTP; before the query

	convert *conversion // and the query reads the result

	dataset bool // rdflib: of a Dataset, not of a Graph

	theirs, ours string // as [show] writes answers
}

// section is a heading of [comingFrom].
type section struct {
	name        string
	differences []difference
	open        func(t *testing.T) peer
}

// peer is a store, or several converters.
type peer interface {
	// versions returns what the introduction of the section must name.
	versions() []string
	// answers returns the outcome of each difference, or "absent" if its tool is not installed.
	answers(t *testing.T, trefoil *httpStore, all []difference) []string
}

// sections are those of the document, in its order.
var sections = []section{
	{"Oxigraph", oxigraph, func(t *testing.T) peer { return openTool(t, "oxigraph") }},
	{"Fuseki", fuseki, openFuseki},
	{"Virtuoso", virtuoso, openVirtuoso},
	{"rdflib", rdflib, func(t *testing.T) peer { return openTool(t, "rdflib") }},
	{"Converters", converters, func(t *testing.T) peer { return openConverters(t) }},
}

// TestComingFrom compares the document's tables with the differences, and runs each one in the
// other store and in trefoil.
func TestComingFrom(t *testing.T) {
	text, err := os.ReadFile(comingFrom)
	if err != nil {
		t.Fatal(err)
	}
	written := documented(string(text))
	if len(written) != len(sections) {
		t.Errorf("%s has %d sections with a table, want %d", comingFrom, len(written), len(sections))
	}
	for _, s := range sections {
		t.Run(s.name, func(t *testing.T) {
			// 1. The document has these rows and no others.
			var rows strings.Builder
			for _, d := range s.differences {
				fmt.Fprintf(&rows, "| %s | %s | %s |\n", d.what, d.there, d.here)
			}
			if got := written[s.name].rows; got != rows.String() {
				t.Errorf("section %s of %s has the rows\n%swant\n%s", s.name, comingFrom, got, rows.String())
			}
			// 2. trefoil has the answers, whether the other store is installed or not.
			address, _ := serve(t, server.Options{}, nil)
			trefoil := &httpStore{queries: address + "/sparql", updates: address + "/sparql", graphs: address + "/data", reset: []string{"DROP ALL"}}
			for _, d := range s.differences {
				if got := trefoil.answer(t, d); got != d.ours {
					t.Errorf("%s: trefoil has\n%s, want\n%s", d.what, got, d.ours)
				}
			}
			// 3. The other store has the others, in the version that the document names.
			other := s.open(t)
			for _, version := range other.versions() {
				if !strings.Contains(written[s.name].introduction, version) {
					t.Errorf("section %s of %s does not name version %s, which is tested", s.name, comingFrom, version)
				}
			}
			for i, got := range other.answers(t, trefoil, s.differences) {
				switch d := s.differences[i]; {
				case got == "absent":
					t.Logf("%s: left out, its tool is not installed", d.what)
				case got != d.theirs:
					t.Errorf("%s: %s has\n%s, want\n%s", d.what, s.name, got, d.theirs)
				case d.theirs == d.ours:
					t.Errorf("%s: no difference", d.what)
				}
			}
		})
	}
}

// part is a section of the document: the rows of its table, as lines, and the text before it.
type part struct{ introduction, rows string }

// documented returns the sections that have a table, by heading.
func documented(text string) map[string]part {
	parts := map[string]part{}
	for _, s := range strings.Split(text, "\n## ")[1:] {
		heading, body, _ := strings.Cut(s, "\n")
		introduction, table, ok := strings.Cut(body, "|---|---|---|\n")
		if !ok {
			continue
		}
		var rows strings.Builder
		for line := range strings.Lines(table) {
			if strings.HasPrefix(line, "| ") {
				rows.WriteString(line)
			}
		}
		parts[heading] = part{introduction, rows.String()}
	}
	return parts
}
