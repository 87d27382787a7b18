// Limited answers: a page is read whole before its header is sent, because the
// header announces the next one.

package httpapi

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/trefoildb/trefoil/node"
)

// maxPageBytes is the most bytes of items that a page holds, unless its first
// item alone has more.
const maxPageBytes = 16 << 20

// chunkBytes is the size of pooled buffers.
const chunkBytes = 64 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, chunkBytes); return &b }}

// page is the body of a limited answer, in chunks that the budget pays for.
type page struct {
	format  *format
	most    int // see maxPageBytes
	account account
	chunks  []*[]byte
	line    []byte // one item; the page's own
	items   int
	bytes   int
}

// add appends a row; full tells that it was left out for lack of room.
func (p *page) add(row node.Row) (full bool, err error) {
	if p.items > 0 {
		p.line = append(p.line[:0], p.format.between...)
	} else {
		p.line = append(p.line[:0], p.format.begin...)
	}
	if p.line, err = p.format.appendRow(p.line, row); err != nil {
		return false, err
	}
	if p.items > 0 && p.bytes+len(p.line) > p.most {
		return true, nil
	}
	p.items++
	return false, p.write(p.line)
}

// end appends what ends the answer.
func (p *page) end(next string) error {
	p.line = p.line[:0]
	if p.items == 0 {
		p.line = append(p.line, p.format.begin...)
	}
	return p.write(p.format.appendEnd(p.line, next))
}

func (p *page) write(b []byte) error {
	p.bytes += len(b)
	for len(b) > 0 {
		if len(p.chunks) == 0 || len(*p.chunks[len(p.chunks)-1]) == chunkBytes {
			if err := p.account.grow(chunkBytes); err != nil {
				return err
			}
			chunk := chunks.Get().(*[]byte)
			*chunk = (*chunk)[:0]
			p.chunks = append(p.chunks, chunk)
		}
		last := p.chunks[len(p.chunks)-1]
		n := min(len(b), chunkBytes-len(*last))
		*last = append(*last, b[:n]...)
		b = b[n:]
	}
	return nil
}

func (p *page) release() {
	for _, chunk := range p.chunks {
		chunks.Put(chunk)
	}
	p.chunks = nil
	p.account.release()
}

// answerPage answers q, which has a limit, with a page.
func (a *API) answerPage(w http.ResponseWriter, r *request, q *query, f *format) error {
	p := &page{format: f, most: a.pageBytes, account: account{budget: &a.memory, client: clientOf(r.Request)}}
	defer p.release()
	next, err := a.readPage(w, r, q, p)
	if err != nil {
		return err
	}
	if err := p.end(next); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Length", strconv.Itoa(p.bytes))
	if next != "" {
		h.Set("Link", "<"+nextTarget(r, next)+`>; rel="next"`)
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	for _, chunk := range p.chunks {
		if _, err := w.Write(*chunk); err != nil {
			return err
		}
	}
	return nil
}

// readPage fills p and returns the cursor of the next page, "" where p ends the
// answer. The snapshot is closed when it returns: a slow client holds a page and
// no more.
func (a *API) readPage(w http.ResponseWriter, r *request, q *query, p *page) (next string, err error) {
	sn, err := a.snapshotFor(w)
	if err != nil {
		return "", err
	}
	defer sn.Close()
	var last []byte
	for row, err := range q.rows(r.Context(), sn) {
		if err != nil {
			return "", err
		}
		full := p.items == q.limit
		if !full {
			if full, err = p.add(row); err != nil {
				return "", err
			}
		}
		if full {
			next = q.cursor(last)
			break
		}
		last = append(last[:0], row.Key...)
	}
	a.metrics.rowsRead.Add(float64(p.items))
	return next, nil
}

// nextTarget returns the request's path and query with another cursor.
func nextTarget(r *request, cursor string) string {
	values := r.URL.Query()
	values.Set("cursor", cursor)
	return r.URL.EscapedPath() + "?" + values.Encode()
}
