// Unlimited answers: all that a query asks for, streamed while it is read.

package httpapi

import (
	"net/http"
	"strconv"
)

// maxPooledBytes keeps buffers that a huge term has grown out of the pool.
const maxPooledBytes = 1 << 20

// answerStream answers q with everything that it asks for. The header is sent
// with the first full buffer; a smaller answer is sent whole. An error after that
// aborts the connection (see [API.ServeHTTP]).
func (a *API) answerStream(w http.ResponseWriter, r *request, q *query, f *format) error {
	sn, err := a.snapshotFor(w)
	if err != nil {
		return err
	}
	defer sn.Close()
	w.Header().Set("Content-Type", f.mediaType)
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	chunk := chunks.Get().(*[]byte)
	b := append((*chunk)[:0], f.begin...)
	defer func() {
		if cap(b) <= maxPooledBytes {
			*chunk = b[:0]
			chunks.Put(chunk)
		}
	}()
	sent, rows := false, 0
	defer func() { a.metrics.rowsRead.Add(float64(rows)) }()
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
		if len(b) < chunkBytes-chunkSlack {
			continue
		}
		if !r.ProtoAtLeast(1, 1) {
			return errorf(KindVersion, "", "over HTTP/1.0 a broken stream looks complete: use HTTP/1.1, or give a limit")
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		sent, b = true, b[:0]
	}
	b = f.appendEnd(b, "")
	if !sent {
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	}
	_, err = w.Write(b)
	return err
}

// chunkSlack is the room that a buffer keeps for the row that fills it.
const chunkSlack = 2 << 10
