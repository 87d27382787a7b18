// Answers to queries, streamed while they are executed.

package sparql

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/results"
)

// answerQuery runs a query and sends its result. HEAD gets the header of a GET, but runs nothing.
func (a *API) answerQuery(w http.ResponseWriter, r *request.Request, op *operation, q *engine.Query, done *sparqlDone) (err error) {
	// 1. Choose the format before the query runs, because the choice may fail.
	w.Header().Add("Vary", "Accept")
	f, err := chooseFormat(r.Request, op.formats, formatsOf(q.Form()))
	if err == nil {
		f, err = f.inVersion(r.Header.Values("Accept"))
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", f.contentType)
	if isStable(op.text) && r.Method != http.MethodPost {
		tag, err := a.Tag(r, f.contentType+" "+op.content)
		if err != nil || tag != "" && response.NotModified(w, r.Request, tag) {
			return err
		}
	}
	if r.Method == http.MethodHead {
		return nil
	}
	// 2. Run the query. Its engine may give its turn away while the client is slow.
	result, err := q.Run(r.Context())
	if err != nil {
		return err
	}
	defer result.Close()
	response.SetSource(w, result)
	response.SetWarning(w, result.Warning)
	defer func() { done.read = result.Plan().TotalReads() }()
	w.Header().Set("Content-Type", f.contentType)
	out := response.NewStream(w, r.Request, ", or a LIMIT")
	defer out.Release()
	response.SetWait(w, result.Wait)
	defer response.SetWait(w, nil)
	// 3. Send the result while it is computed.
	switch result.Form {
	case ast.Ask:
		err = writeAnswerBoolean(out, f, result)
	case ast.Select:
		err = writeSolutions(out, f, result, &r.Trace.Query.Rows)
	default:
		var names map[string]string
		if names, err = a.Prefixes(r.Context(), f.syntax, prefixesOf(q)); err == nil {
			err = writeTriples(out, f, result, names, &r.Trace.Query.Rows)
		}
	}
	if err != nil {
		return err
	}
	result.Leave() // all rows are computed
	response.SetWait(w, nil)
	return out.End()
}

// unstable are parts of texts whose answer may change although the triples do not: clocks, random
// numbers, other servers, annotations and links. Escapes may hide them.
var unstable = []string{"now", "rand", "uuid", "service", "links", "urn:trefoil", `\u`}

// isStable reports whether the answer to a query is the same, up to the names of blank nodes, while the
// triples are. It is careful: a part of a name also counts.
func isStable(text string) bool {
	text = strings.ToLower(text)
	return !slices.ContainsFunc(unstable, func(part string) bool { return strings.Contains(text, part) })
}

func writeAnswerBoolean(out *response.Stream, f *answerFormat, result *engine.Answer) error {
	value, err := result.Boolean()
	if err != nil {
		return err
	}
	return results.WriteBoolean(out, f.results, value)
}

// buffers are those of earlier answers.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func writeSolutions(out *response.Stream, f *answerFormat, result *engine.Answer, rows *atomic.Int64) error {
	w := results.NewWriter(out, f.results, result.Vars)
	w.Reuse(*buffers.Get().(*[]byte))
	defer func() {
		buffer := w.Buffer()
		buffers.Put(&buffer)
	}()
	for row, err := range result.Rows() {
		if err != nil {
			return err
		}
		if err := f.version.Check(row...); err != nil {
			return err
		}
		if err := w.Write(row); err != nil {
			return err
		}
		rows.Add(1)
	}
	return w.Close()
}

func writeTriples(out *response.Stream, f *answerFormat, result *engine.Answer, prefixes map[string]string, rows *atomic.Int64) error {
	w, err := syntax.NewWriter(out, f.syntax, prefixes)
	if err != nil {
		return err
	}
	for t, err := range result.Triples() {
		if err != nil {
			return err
		}
		if err := f.version.Check(t.Object); err != nil {
			return err
		}
		if err := w.Write(t); err != nil {
			return err
		}
		rows.Add(1)
	}
	return w.Close()
}

// prefixesOf returns the prefixes of a query for a writer of Turtle. The writer accepts only ASCII
// letters, digits, '_' and '-'.
func prefixesOf(q *engine.Query) map[string]string {
	prefixes := map[string]string{}
	for _, p := range q.Prologue().Prefixes {
		if isPlainPrefix(p.Name) {
			prefixes[p.Name] = p.IRI
		}
	}
	return prefixes
}

func isPlainPrefix(name string) bool {
	for i, c := range []byte(name) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}
