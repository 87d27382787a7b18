// Unlimited answers: all rows of a query, streamed while they are read.

package triples

import (
	"net/http"

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
	// 2. Write the rows. The loop also stops when the client's context ends, because the reader
	// checks it.
	out := response.NewStream(w, r.Request, ", or give a limit")
	defer out.Release()
	b := append(out.Buffer(), f.begin...)
	rows := 0
	defer func() { a.Rows.Read.Add(float64(rows)) }()
	for row, err := range q.rows(r.Context(), sn) {
		if err != nil {
			return err
		}
		if rows++; rows > 1 {
			b = append(b, f.between...)
		}
		if b, err = f.appendRow(b, row); err != nil {
			return err
		}
		if b, err = out.Filled(b); err != nil {
			return err
		}
	}
	out.Buf = f.appendEnd(b, "")
	return out.End()
}
