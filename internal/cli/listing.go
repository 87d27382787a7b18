// Listings: triples of an answer, and which part of it.

package cli

import (
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// page selects a part of an answer.
type page struct {
	limit   int64 // 0: all
	offset  int64 // items to skip
	cursor  string
	reverse bool
	// annotations requests the annotations of items.
	annotations bool
}

// more returns the limit of a read that shows if there is another page.
func (p page) more() int64 {
	if p.limit == 0 {
		return 0
	}
	return p.limit + 1
}

// item is one triple of an answer. It is valid until the next one.
type item interface {
	appendNQuad(dst []byte) ([]byte, error)
	decode() (triple.Triple, error)
	// annotations returns the triple's annotations, if they were requested.
	annotations() []triple.ApplicationData
}

// listing is an answer. If a limited page has a successor, next is its cursor. It is set when items
// has ended.
type listing struct {
	items iter.Seq2[item, error]
	next  string
}

// failed returns a listing with one error.
func failed(err error) *listing {
	return &listing{items: func(yield func(item, error) bool) { yield(nil, err) }}
}

// statement is a triple with its annotations, of a document or a server.
type statement struct {
	triple.Triple
	noted []triple.ApplicationData
}

func (s statement) appendNQuad(dst []byte) ([]byte, error) {
	return triple.AppendNQuad(dst, s.Triple), nil
}

func (s statement) annotations() []triple.ApplicationData { return s.noted }

func (s statement) decode() (triple.Triple, error) { return s.Triple, nil }
