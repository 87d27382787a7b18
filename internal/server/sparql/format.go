// The formats of answers to queries, chosen by Accept or by the parameter format.

package sparql

import (
	"net/http"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/results"
)

// answerFormat is a format of answers: of solutions and booleans, or of triples.
type answerFormat struct {
	mediaType   string   // in Accept
	contentType string   // in Content-Type
	names       []string // in the parameter format, besides mediaType
	results     results.Format
	syntax      syntax.Syntax
	version     response.Version // that the client requests
}

// resultFormats are the formats of SELECT and ASK, the default first.
var resultFormats = []answerFormat{
	resultFormat(results.JSON),
	{mediaType: response.JSON, contentType: response.JSON, results: results.JSON},
	resultFormat(results.XML),
	{mediaType: "application/xml", contentType: "application/xml", results: results.XML},
	{mediaType: "text/xml", contentType: "text/xml; charset=utf-8", results: results.XML},
	resultFormat(results.CSV),
	resultFormat(results.TSV),
}

// graphFormats are the formats of CONSTRUCT and DESCRIBE, the default first.
var graphFormats = []answerFormat{
	graphFormat(syntax.Turtle, "ttl", "turtle", "n3"),
	graphFormat(syntax.NTriples, "nt", "ntriples", "n-triples"),
	graphFormat(syntax.NQuads, "nq", "nquads", "n-quads"),
	graphFormat(syntax.TriG, "trig"),
	graphFormat(syntax.RDFXML, "xml", "rdf", "rdf+xml", "rdfxml"),
	graphFormat(syntax.JSONLD, "jsonld", "json-ld"),
	{mediaType: "application/x-turtle", contentType: "text/turtle; charset=utf-8", syntax: syntax.Turtle},
	{mediaType: "text/plain", contentType: "text/plain; charset=utf-8", syntax: syntax.NTriples},
}

// explainFormats are the formats of plans.
var explainFormats = []answerFormat{
	{mediaType: response.JSON, contentType: response.JSON, names: []string{"json"}},
	{mediaType: "text/plain", contentType: "text/plain; charset=utf-8", names: []string{"text"}},
}

func resultFormat(f results.Format) answerFormat {
	return answerFormat{mediaType: f.MediaType(), contentType: f.ContentType(), names: []string{f.String()}, results: f}
}

func graphFormat(s syntax.Syntax, names ...string) answerFormat {
	contentType := s.MediaType()
	if s == syntax.Turtle {
		contentType += "; charset=utf-8" // a type of text
	}
	return answerFormat{mediaType: s.MediaType(), contentType: contentType, names: names, syntax: s}
}

// formatsOf returns the formats of answers to a form of queries.
func formatsOf(form ast.Form) []answerFormat {
	if form == ast.Construct || form == ast.Describe {
		return graphFormats
	}
	return resultFormats
}

// chooseFormat returns the first format named by the request, or else the best one by Accept. If no
// name is known and Accept is empty or */*, it is an error, because the client gets no format that it
// named. Names for other forms of query are ignored: SPARQLWrapper sends its one setting with all forms.
func chooseFormat(r *http.Request, names []string, formats []answerFormat) (*answerFormat, error) {
	for _, name := range names {
		if i := slices.IndexFunc(formats, func(f answerFormat) bool { return f.isNamed(name) }); i >= 0 {
			return &formats[i], nil
		}
	}
	offers := make([]string, len(formats))
	for i, f := range formats {
		offers[i] = f.mediaType
	}
	accept := r.Header.Values("Accept")
	if len(names) > 0 && takesAnything(accept) && !slices.ContainsFunc(names, isKnown) {
		return nil, problem.Errorf(problem.KindNotAcceptable, "format", "there is no format %q of this answer; there are %s", problem.Clip(names[0]), strings.Join(firstNames(formats), ", "))
	}
	i := response.Negotiate(accept, offers)
	if i < 0 {
		return nil, response.NotAcceptable(offers)
	}
	return &formats[i], nil
}

// inVersion returns the format with the version of RDF that Accept requests for its media type. The answer
// announces it.
func (f *answerFormat) inVersion(accept []string) (*answerFormat, error) {
	version, err := response.VersionOf(accept, f.mediaType)
	if err != nil || version == "" {
		return f, err
	}
	g := *f
	g.version, g.contentType = version, version.Announce(f.contentType)
	return &g, nil
}

func (f *answerFormat) isNamed(name string) bool {
	return slices.Contains(f.names, strings.ToLower(name)) || strings.EqualFold(name, f.mediaType)
}

// automatic is the name by which clients of Virtuoso leave the choice to Accept.
const automatic = "auto"

// isKnown reports whether a name is automatic, or that of a format of any form of query.
func isKnown(name string) bool {
	named := func(f answerFormat) bool { return f.isNamed(name) }
	return name == automatic || slices.ContainsFunc(resultFormats, named) || slices.ContainsFunc(graphFormats, named) || slices.ContainsFunc(explainFormats, named)
}

func firstNames(formats []answerFormat) (names []string) {
	for _, f := range formats {
		if len(f.names) > 0 {
			names = append(names, f.names[0])
		}
	}
	return names
}

func takesAnything(accept []string) bool {
	header := strings.TrimSpace(strings.Join(accept, ","))
	return header == "" || header == "*/*"
}
