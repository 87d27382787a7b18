// Limited answers. A page is read whole before its header is sent, because the header contains the
// cursor of the next page.

package triples

import (
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
)

// page is the body of a limited answer.
type page struct {
	*response.PagedBody
	format *format
	doc    *document // nil for a format of lines
	most   int       // bytes, see response.MaxPageBytes
	line   []byte    // one item; the page owns it
	items  int
	size   int // of the items, as appendRow writes them
}

// add appends a row. full reports that the row was left out because there was no room.
func (p *page) add(row store.Row) (full bool, err error) {
	if p.items > 0 {
		p.line = append(p.line[:0], p.format.between...)
	} else {
		p.line = append(p.line[:0], p.format.begin...)
	}
	if p.line, err = p.format.appendRow(p.line, row); err != nil {
		return false, err
	}
	if p.items > 0 && p.size+len(p.line) > p.most {
		return true, nil
	}
	p.items++
	p.size += len(p.line)
	if p.doc != nil {
		return false, p.doc.write(row)
	}
	_, err = p.Write(p.line)
	return false, err
}

// end appends the end of the answer.
func (p *page) end(next string) error {
	if p.doc != nil {
		return p.doc.end()
	}
	p.line = p.line[:0]
	if p.items == 0 {
		p.line = append(p.line, p.format.begin...)
	}
	_, err := p.Write(p.format.appendEnd(p.line, next))
	return err
}

// answerPage answers q with a page. q must have a limit.
func (a *API) answerPage(w http.ResponseWriter, r *request.Request, q *query, f *format) error {
	p := &page{format: f, most: a.PageBytes, PagedBody: response.NewPagedBody(a.Account(r))}
	defer p.Release()
	var err error
	if p.doc, err = a.newDocument(p, r, f); err != nil {
		return err
	}
	next, err := a.readPage(w, r, q, p)
	if err != nil {
		return err
	}
	if err := p.end(next); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", f.mediaType)
	h.Set("Content-Length", strconv.Itoa(p.Bytes))
	if next != "" {
		h.Set("Link", "<"+nextTarget(r, next)+`>; rel="next"`)
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	return p.SendTo(w)
}

// readPage fills p and returns the cursor of the next page; "" if p ends the answer. The snapshot
// is closed when it returns, because a slow client must hold no more than a page.
func (a *API) readPage(w http.ResponseWriter, r *request.Request, q *query, p *page) (next string, err error) {
	sn, err := a.Reader(w, r)
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
	a.Rows.Read.Add(float64(p.items))
	return next, nil
}

// nextTarget returns the request's path and query with another cursor, and without an offset.
func nextTarget(r *request.Request, cursor string) string {
	values := r.URL.Query()
	values.Del("offset")
	values.Set("cursor", cursor)
	return r.URL.EscapedPath() + "?" + values.Encode()
}
