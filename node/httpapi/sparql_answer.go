// Answers to queries, streamed while they are executed.

package httpapi

import (
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/results"
)

// answerQuery runs a query and sends its result. HEAD gets the header that GET
// would, and runs nothing.
func (a *API) answerQuery(w http.ResponseWriter, r *request, op *operation, q *engine.Query, done *sparqlDone) (err error) {
	w.Header().Add("Vary", "Accept")
	f, err := chooseFormat(r.Request, op.formats, formatsOf(q.Form()))
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", f.contentType)
		return nil
	}
	answer, err := q.Run(r.Context())
	if err != nil {
		return err
	}
	defer answer.Close()
	readsFrom(w, answer)
	defer func() { done.read = readsOf(answer.Plan()) }()
	out := newGradual(w, r, f.contentType)
	out.wait, out.leave = answer.Wait, answer.Leave
	defer out.release()
	switch answer.Form {
	case ast.Ask:
		err = writeAnswerBoolean(out, f, answer)
	case ast.Select:
		err = writeSolutions(out, f, answer, done)
	default:
		err = writeTriples(out, f, answer, prefixesOf(q), done)
	}
	if err != nil {
		return err
	}
	return out.end()
}

// readsOf returns how many rows of the store a plan read. A query without a
// pattern has no plan.
func readsOf(plan *exec.Plan) int64 {
	if plan == nil {
		return 0
	}
	return plan.TotalReads()
}

func writeAnswerBoolean(out *gradual, f *answerFormat, answer *engine.Answer) error {
	value, err := answer.Boolean()
	if err != nil {
		return err
	}
	return results.WriteBoolean(out, f.results, value)
}

func writeSolutions(out *gradual, f *answerFormat, answer *engine.Answer, done *sparqlDone) error {
	w := results.NewWriter(out, f.results, answer.Vars)
	for row, err := range answer.Rows() {
		if err != nil {
			return err
		}
		if err := w.Write(row); err != nil {
			return err
		}
		done.rows++
	}
	return w.Close()
}

func writeTriples(out *gradual, f *answerFormat, answer *engine.Answer, prefixes map[string]string, done *sparqlDone) error {
	w, err := syntax.NewWriter(out, f.syntax, prefixes)
	if err != nil {
		return err
	}
	for t, err := range answer.Triples() {
		if err != nil {
			return err
		}
		if err := w.Write(t); err != nil {
			return err
		}
		done.rows++
	}
	return w.Close()
}

// prefixesOf returns the prefixes of a query for a writer of Turtle, which takes
// those of ASCII letters, digits, '_' and '-' only.
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

// gradual sends an answer while it is made. The header goes out with the first
// full buffer, so that an error before that gets a status of its own; a smaller
// answer is sent whole. What fails later aborts the connection (see
// [API.ServeHTTP]), so that nobody takes the answer for complete.
type gradual struct {
	w           http.ResponseWriter
	r           *request
	contentType string
	wait        func(do func() error) error // calls do, which waits for the client
	leave       func()                      // says that no more is computed
	chunk       *[]byte                     // of the pool
	buf         []byte
	sent        bool
}

func newGradual(w http.ResponseWriter, r *request, contentType string) *gradual {
	chunk := chunks.Get().(*[]byte)
	return &gradual{w: w, r: r, contentType: contentType, chunk: chunk, buf: (*chunk)[:0]}
}

// Write keeps p, or sends it with what was kept.
func (g *gradual) Write(p []byte) (int, error) {
	if len(g.buf)+len(p) <= chunkBytes {
		g.buf = append(g.buf, p...)
		return len(p), nil
	}
	if !g.sent {
		if !g.r.ProtoAtLeast(1, 1) {
			return 0, errorf(KindVersion, "", "over HTTP/1.0 a broken stream looks complete: use HTTP/1.1, or a LIMIT")
		}
		g.w.Header().Set("Content-Type", g.contentType)
		g.sent = true
	}
	if len(g.buf) > 0 {
		if err := g.send(g.buf); err != nil {
			return 0, err
		}
		g.buf = g.buf[:0]
	}
	if len(p) <= chunkBytes {
		g.buf = append(g.buf, p...)
		return len(p), nil
	}
	return len(p), g.send(p)
}

func (g *gradual) send(p []byte) error {
	return g.wait(func() error {
		_, err := g.w.Write(p)
		return err
	})
}

// end sends what is left.
func (g *gradual) end() error {
	if !g.sent {
		h := g.w.Header()
		h.Set("Content-Type", g.contentType)
		h.Set("Content-Length", strconv.Itoa(len(g.buf)))
	}
	g.leave() // all rows are there: nothing is computed any more
	_, err := g.w.Write(g.buf)
	return err
}

func (g *gradual) release() {
	*g.chunk = g.buf[:0]
	chunks.Put(g.chunk)
}
