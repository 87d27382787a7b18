// Unlimited answers: all rows of a query, streamed while they are read.

package triples

import (
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/queries"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// answerStream answers q with all its rows. The header is sent with the first full buffer. If the
// answer is smaller, it is sent whole. A later error aborts the connection (see [API.ServeHTTP]).
func (a *API) answerStream(w http.ResponseWriter, r *request.Request, q *query, f *format) error {
	// 1. Open a snapshot; it stays open until the last byte is sent.
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	w.Header().Set("Content-Type", f.mediaType)
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	// 2. Write the rows, until the client goes away or the stream is stopped.
	running := a.BeginQuery(r, "read", r.URL.RequestURI())
	out := response.NewStream(w, r.Request, ", or give a limit")
	defer out.Release()
	doc, err := a.newDocument(out, r, f)
	if err != nil {
		return err
	}
	b := append(out.Buffer(), f.begin...)
	defer func() { a.Rows.Read.Add(float64(running.Rows.Load())) }()
	for row, err := range q.rows(r.Context(), sn) {
		if err == nil {
			err = r.Context().Err() // the reader checks it after many rows only, and these may be large
		}
		if err != nil {
			return queries.Cause(r.Context(), err)
		}
		n := running.Rows.Add(1)
		if doc != nil {
			if err := doc.write(row); err != nil {
				return err
			}
			continue
		}
		if n > 1 {
			b = append(b, f.between...)
		}
		if b, err = f.appendRow(b, row); err != nil {
			return err
		}
		if b, err = out.Filled(b); err != nil {
			return err
		}
	}
	if doc != nil {
		err = doc.end()
	} else {
		out.Buf = f.appendEnd(b, "")
	}
	if err != nil {
		return err
	}
	return out.End()
}
