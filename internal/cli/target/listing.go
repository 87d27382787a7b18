// Listings: triples of an answer, and which part of it.

package target

import (
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Page selects a part of an answer.
type Page struct {
	Limit   int64 // 0: all
	Offset  int64 // items to skip
	Cursor  string
	Reverse bool
	// Annotations requests the annotations of items.
	Annotations bool
}

// readLimit returns the limit of a read that shows if there is another page.
func (p Page) readLimit() int64 {
	if p.Limit == 0 {
		return 0
	}
	return p.Limit + 1
}

// Item is one triple of an answer. It is valid until the next one.
type Item interface {
	AppendNQuad(dst []byte) ([]byte, error)
	Decode() (triple.Triple, error)
	// Annotations returns the triple's annotations, if they were requested.
	Annotations() []triple.ApplicationData
}

// Listing is an answer. If a limited page has a successor, next is its cursor. It is set when items
// has ended.
type Listing struct {
	Items iter.Seq2[Item, error]
	Next  string
}

// failed returns a listing with one error.
func failed(err error) *Listing {
	return &Listing{Items: func(yield func(Item, error) bool) { yield(nil, err) }}
}

// Statement is a triple with its annotations, of a document or a server.
type Statement struct {
	triple.Triple
	Attached []triple.ApplicationData
}

func (s Statement) AppendNQuad(dst []byte) ([]byte, error) {
	return triple.AppendNQuad(dst, s.Triple), nil
}

func (s Statement) Annotations() []triple.ApplicationData { return s.Attached }

func (s Statement) Decode() (triple.Triple, error) { return s.Triple, nil }
