// Answers about links, in both forms. They stream, because only a piece of an answer is held.

package links

import (
	"io"
	"math"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
	"github.com/trefoildb/trefoil/triple"
)

// linksAnswer takes the items of an answer. It keeps its first error.
type linksAnswer interface {
	UID(uid.UID) // 0 if the page is unknown
	URL(string)  // "" if the page is unknown
	Degree(int)
	// List takes a list and, if the answer has labels, one for each link; else nil. It returns the
	// first error, because no more lists need to be read then.
	List([]uid.UID, []links.Label) error
	// Close ends the answer.
	Close() error
}

// jsonNames are the names of the arrays in answers.
var jsonNames = map[wire.Kind]string{wire.UIDs: "uids", wire.URLs: "urls", wire.Degrees: "degrees", wire.Lists: "lists", wire.LabelledLists: "lists"}

// stream answers with count items of a kind. fill must write exactly these.
func (c *linksCall) stream(k wire.Kind, count int, fill func(linksAnswer) error) error {
	held := response.NewStream(c.w, c.r.Request, "")
	defer held.Release()
	var out linksAnswer
	if c.binary {
		c.w.Header().Set("Content-Type", wire.MediaType)
		out = wire.NewWriter(held, k, count)
	} else {
		c.w.Header().Set("Content-Type", response.JSON)
		out = newJSONAnswer(held, jsonNames[k])
	}
	if err := fill(out); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return held.End()
}

// jsonAnswer is an object of one array.
type jsonAnswer struct {
	w     io.Writer
	b     []byte
	comma bool // the array has an item already
	err   error
	tail  string // of the object, instead of "}"
}

func newJSONAnswer(w io.Writer, name string) *jsonAnswer {
	b := make([]byte, 0, response.ChunkBytes)
	return &jsonAnswer{w: w, b: append(append(append(b, `{"`...), name...), `":[`...), tail: "}"}
}

// next begins an item of an array.
func (a *jsonAnswer) next() {
	if a.comma {
		a.b = append(a.b, ',')
	}
	a.comma = true
	a.flush(response.ChunkBytes - response.ChunkSlack)
}

// flush writes the buffer if it holds enough bytes.
func (a *jsonAnswer) flush(enough int) {
	if len(a.b) >= enough && a.err == nil {
		_, a.err = a.w.Write(a.b)
		a.b = a.b[:0]
	}
}

func (a *jsonAnswer) begin()  { a.next(); a.b = append(a.b, '['); a.comma = false }
func (a *jsonAnswer) finish() { a.b = append(a.b, ']'); a.comma = true }

func (a *jsonAnswer) UID(u uid.UID) {
	a.next()
	a.uid(u)
}

func (a *jsonAnswer) uid(u uid.UID) {
	if u == 0 {
		a.b = append(a.b, "null"...)
		return
	}
	a.b = append(strconv.AppendUint(append(a.b, '"'), uint64(u), 10), '"')
}

func (a *jsonAnswer) URL(url string) {
	a.next()
	a.url(url)
}

func (a *jsonAnswer) url(url string) {
	if url == "" {
		a.b = append(a.b, "null"...)
		return
	}
	a.b = triple.AppendJSONString(a.b, url)
}

func (a *jsonAnswer) Degree(n int) {
	a.next()
	a.b = strconv.AppendInt(a.b, int64(n), 10)
}

func (a *jsonAnswer) List(list []uid.UID, labels []links.Label) error {
	a.begin()
	for i, u := range list {
		if labels == nil {
			a.UID(u)
			continue
		}
		a.next()
		a.b = append(a.b, `{"uid":`...)
		a.uid(u)
		a.label(labels[i])
	}
	a.finish()
	return a.err
}

// label ends the object of a link with its label.
func (a *jsonAnswer) label(l links.Label) {
	a.b = append(a.b, `,"weight":`...)
	a.number(l.Weight)
	a.anchor(l)
}

// anchor ends the object of a label.
func (a *jsonAnswer) anchor(l links.Label) {
	a.b = append(a.b, `,"anchor":`...)
	a.b = append(triple.AppendJSONString(a.b, l.Anchor), '}')
}

// number appends a number; null if JSON cannot express it.
func (a *jsonAnswer) number(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		a.b = append(a.b, "null"...)
		return
	}
	a.b = strconv.AppendFloat(a.b, f, 'g', -1, 64)
}

func (a *jsonAnswer) Close() error {
	a.b = append(append(append(a.b, ']'), a.tail...), '\n')
	a.flush(0)
	return a.err
}
