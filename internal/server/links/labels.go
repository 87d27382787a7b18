// Labels of pages.

package links

import (
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// labelsAtOnce is the number of labels of pages that are read and held at a time.
const labelsAtOnce = 1000

// postLabels answers with the labels of pages.
func (l *API) postLabels(w http.ResponseWriter, r *request.Request) error {
	// 1. Find the pages.
	c, err := l.beginCall(w, r, "labels", labelsTakes)
	if err != nil {
		return err
	}
	defer c.end()
	pages, err := c.requestedPages()
	if err == nil {
		err = c.checkEpoch()
	}
	if err != nil {
		return err
	}
	// 2. Read and write some labels at a time, because a text may be long.
	c.w.Header().Set("Content-Type", response.JSON)
	held := response.NewStream(c.w, c.r.Request, "")
	defer held.Release()
	out := newJSONAnswer(held, "labels")
	for from := 0; from < len(pages); from += labelsAtOnce {
		if err := c.writeLabels(out, pages[from:min(from+labelsAtOnce, len(pages))]); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return held.End()
}

// writeLabels writes the labels of some pages.
func (c *linksCall) writeLabels(out *jsonAnswer, pages []uid.UID) error {
	// 1. Read them, and pay for their texts.
	account := c.API.Account(c.r)
	defer account.Release()
	labels, err := c.API.graph.PageLabels(c.ctx, pages)
	if err == nil {
		err = answered("labels", len(labels), len(pages))
	}
	if err != nil {
		return err
	}
	size := 0
	for _, label := range labels {
		size += bytesALabel + len(label.Anchor)
	}
	if err := account.Grow(int64(size)); err != nil {
		return err
	}
	// 2. Write them; null is none.
	for _, label := range labels {
		out.next()
		out.pageLabel(label)
	}
	return out.err
}

// pageLabel appends a label as an object; null if it is none.
func (a *jsonAnswer) pageLabel(l links.Label) {
	if l == cell.NoLabel {
		a.b = append(a.b, "null"...)
		return
	}
	a.b = append(a.b, `{"weight":`...)
	a.number(l.Weight)
	a.anchor(l)
}
