// The formats of answers: N-Quads, N-Triples, JSON lines, and one JSON object.

package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// Media types of answers.
const (
	typeNQuads   = "application/n-quads"
	typeNTriples = "application/n-triples"
	typeNDJSON   = "application/x-ndjson"
	typeJSON     = "application/json"
)

// format writes rows in one media type.
type format struct {
	mediaType    string
	defaultGraph bool // has no place for graph names
	begin        string
	between      string // stands between rows
	// appendRow appends a row, its line end included where the format has one.
	appendRow func(dst []byte, row node.Row) ([]byte, error)
	// appendEnd appends what ends an answer; next is the cursor of the next page,
	// "" where there is none.
	appendEnd func(dst []byte, next string) []byte
}

var formats = []format{
	{mediaType: typeNQuads, appendRow: appendNQuadRow, appendEnd: appendNothing},
	{mediaType: typeNTriples, appendRow: appendNQuadRow, appendEnd: appendNothing, defaultGraph: true},
	{mediaType: typeNDJSON, appendRow: appendNDJSONRow, appendEnd: appendNothing},
	{mediaType: typeJSON, appendRow: appendJSONRow, appendEnd: appendJSONEnd, begin: `{"triples":[`, between: ","},
}

// annotatedFormats are those that have a place for annotations.
var annotatedFormats = []format{
	{mediaType: typeNQuads, appendRow: appendAnnotatedRow, appendEnd: appendNothing, begin: triple.AnnotationsHeader + "\n"},
	{mediaType: typeNTriples, appendRow: appendAnnotatedRow, appendEnd: appendNothing, begin: triple.AnnotationsHeader + "\n", defaultGraph: true},
}

// formatFor returns the format of the answer to q that a request prefers.
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
			continue // it could show nothing of the answer
		}
		offers = append(offers, f.mediaType)
		chosen = append(chosen, f)
	}
	i := negotiate(r.Header.Values("Accept"), offers)
	if i >= 0 {
		q.defaultGraph = chosen[i].defaultGraph
		return chosen[i], nil
	}
	return nil, notAcceptable(offers)
}

func notAcceptable(offers []string) error {
	message := "this answer comes as "
	for i, offer := range offers {
		if i > 0 {
			message += ", "
		}
		message += offer
	}
	return errorf(KindNotAcceptable, "Accept", "%s", message)
}

func appendNothing(dst []byte, _ string) []byte { return dst }

func appendNQuadRow(dst []byte, row node.Row) ([]byte, error) {
	return triple.AppendKeyNQuad(dst, row.Key, row.Value)
}

func appendAnnotatedRow(dst []byte, row node.Row) ([]byte, error) {
	if len(row.Annotations) == 0 {
		return appendNQuadRow(dst, row)
	}
	statement, err := appendNQuadRow(nil, row)
	if err != nil {
		return dst, err
	}
	return triple.AppendAnnotated(dst, statement, row.Annotations), nil
}

func appendNDJSONRow(dst []byte, row node.Row) ([]byte, error) {
	dst, err := appendJSONRow(dst, row)
	return append(dst, '\n'), err
}

// appendJSONRow appends {"s":...,"p":...,"o":...,"g":...}, g left out in the
// default graph, as SPARQL 1.1 Query Results JSON leaves out what is not bound.
func appendJSONRow(dst []byte, row node.Row) ([]byte, error) {
	t, err := row.Triple()
	if err != nil {
		return dst, err
	}
	return triple.AppendTripleJSON(dst, t), nil
}

func appendJSONEnd(dst []byte, next string) []byte {
	if next == "" {
		return append(dst, `],"next":null}`+"\n"...)
	}
	dst = triple.AppendJSONString(append(dst, `],"next":`...), next)
	return append(dst, "}\n"...)
}

// writeJSON answers with v as one JSON object.
func writeJSON(w http.ResponseWriter, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	return writeWhole(w, typeJSON, body)
}

// marshal returns v as a line of JSON, in which '<' and '>' stay what they are.
func marshal(v any) ([]byte, error) {
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return line.Bytes(), err
}
