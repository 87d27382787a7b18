// The formats of answers: N-Quads, N-Triples, JSON lines, one JSON object, and documents of other syntaxes.

package triples

import (
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// format writes rows in one media type.
type format struct {
	mediaType    string
	defaultGraph bool          // cannot write graph names
	syntax       syntax.Syntax // of a document; 0 for lines
	version      response.Version
	begin        string
	between      string // written between rows
	// appendRow appends a row, with its line end if the format has one. For a document, whose writer holds rows back, it
	// is the row as N-Quads, which measures a page.
	appendRow func(dst []byte, row store.Row) ([]byte, error)
	// appendEnd appends the end of an answer. next is the cursor of the next page; "" if there is
	// none.
	appendEnd func(dst []byte, next string) []byte
}

var formats = []format{
	{mediaType: response.NQuads, appendRow: appendNQuadRow, appendEnd: appendNothing},
	{mediaType: response.NTriples, appendRow: appendNQuadRow, appendEnd: appendNothing, defaultGraph: true},
	{mediaType: response.NDJSON, appendRow: appendNDJSONRow, appendEnd: appendNothing},
	{mediaType: response.JSON, appendRow: appendJSONRow, appendEnd: appendJSONEnd, begin: `{"triples":[`, between: ","},
	documentFormat(syntax.Turtle),
	documentFormat(syntax.TriG),
	documentFormat(syntax.RDFXML),
	documentFormat(syntax.JSONLD),
}

func documentFormat(s syntax.Syntax) format {
	return format{mediaType: s.MediaType(), syntax: s, defaultGraph: !s.HasGraphs(), appendRow: appendNQuadRow, appendEnd: appendNothing}
}

// annotatedFormats are the formats of rows with annotations. In JSON they are a member of the triple.
var annotatedFormats = []format{
	{mediaType: response.NQuads, appendRow: appendNQuadRow, appendEnd: appendNothing, begin: triple.AnnotationsHeader + "\n"},
	{mediaType: response.NTriples, appendRow: appendNQuadRow, appendEnd: appendNothing, begin: triple.AnnotationsHeader + "\n", defaultGraph: true},
	formats[2],
	formats[3],
}

// formatFor returns the format for the answer to q by the request's Accept header. It fails if
// Accept excludes all of them.
func formatFor(r *http.Request, q *query) (*format, error) {
	all := formats
	if q.annotations {
		all = annotatedFormats
	}
	offers := make([]string, 0, len(all))
	chosen := make([]*format, 0, len(all))
	for i := range all {
		f := &all[i]
		if f.defaultGraph && q.named() {
			continue // because every row has a graph name
		}
		offers = append(offers, f.mediaType)
		chosen = append(chosen, f)
	}
	i := response.Negotiate(r.Header.Values("Accept"), offers)
	if i < 0 {
		return nil, response.NotAcceptable(offers)
	}
	q.defaultGraph = chosen[i].defaultGraph
	version, err := response.VersionOf(r.Header.Values("Accept"), offers[i])
	return chosen[i].inVersion(version), err
}

// inVersion returns the format for a version of RDF: a row with another term is an error.
func (f *format) inVersion(version response.Version) *format {
	if version == "" {
		return f
	}
	g := *f
	g.mediaType, g.version = version.Announce(f.mediaType), version
	g.appendRow = func(dst []byte, row store.Row) ([]byte, error) {
		t, err := row.Triple()
		if err == nil {
			err = version.Check(t.Object)
		}
		if err != nil {
			return dst, err
		}
		return f.appendRow(dst, row)
	}
	return &g
}

func appendNothing(dst []byte, _ string) []byte { return dst }

func appendNQuadRow(dst []byte, row store.Row) ([]byte, error) {
	return row.AppendNQuad(dst)
}

func appendNDJSONRow(dst []byte, row store.Row) ([]byte, error) {
	dst, err := appendJSONRow(dst, row)
	return append(dst, '\n'), err
}

// appendJSONRow appends {"s":...,"p":...,"o":...,"g":...}. In the default graph g is missing,
// because SPARQL 1.1 Query Results JSON leaves out unbound variables too. If the row has annotations,
// they are a member, too.
func appendJSONRow(dst []byte, row store.Row) ([]byte, error) {
	t, err := row.Triple()
	if err != nil {
		return dst, err
	}
	return triple.AppendAnnotatedJSON(dst, t, row.Annotations), nil
}

func appendJSONEnd(dst []byte, next string) []byte {
	if next == "" {
		return append(dst, `],"next":null}`+"\n"...)
	}
	dst = triple.AppendJSONString(append(dst, `],"next":`...), next)
	return append(dst, "}\n"...)
}
