// Messages between the machines of a graph.

package route

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// MethodQuery is the method of all messages: a query and its answer. A query is
//
//	kind, direction, mode, class 1 byte each; position as text; uvarints n, seed, most, number, after;
//	numbers: pages; strings: URLs; numbers: a set of pages; bytes
//
// and an answer
//
//	numbers: ends of lists; numbers: their items; strings: texts; uvarints number, more; bytes
//
// An answer has the lists of a prefix of the items of its query, see pieces.go. Numbers are their count and, for each, its difference to the one before as a signed varint.
const MethodQuery = "links/ask"

// queryKind is what a query requests.
type queryKind byte

const (
	QueryLinks      queryKind = iota // the lists of pages, with at most most links if that is not 0
	QueryDegrees                     // their lengths, as one list
	QuerySample                      // samples of them, by the spec
	QueryLabels                      // their labels
	QueryWithin                      // the links of pages among a set, as numbers in it
	QueryUIDs                        // the UIDs of URLs, as one list
	QueryURLs                        // the URLs of pages
	QueryPages                       // the next n pages after one in a partition
	QueryStats                       // the sizes of partitions, as JSON
	QueryEpoch                       // the epoch of the graph
	QueryHeld                        // the set of partitions that the machine holds
	QueryAssign                      // the UIDs of URLs, new ones too; number is that of new ones
	QueryReplace                     // changes of links that depend on the present ones, as JSON
	QueryExport                      // a piece of a partition
	QueryAnnotated                   // 1 if the machine has annotations
	QueryWeights                     // as QueryWithin, with the weights of the links
	QueryLinkLabels                  // the labels of links from pages to those of the set, one each
	QueryStores                      // the stores in memory, after number was requested and most relinquished, as JSON
)

// Query is a request to a machine. It is answered when the machine has reached the position.
type Query struct {
	Kind      queryKind
	Direction links.Direction
	Spec      sample.Spec
	At        feed.Position
	Most      uint64
	Number    uint64 // a partition, a set of them, a page, or an offset
	After     uint64 // the first list begins behind this UID, see pieces.go
	Pages     []uid.UID
	URLs      []string
	Set       []uid.UID
	Data      []byte
}

// Answer is the answer to a query.
type Answer struct {
	Ends   []int
	Items  []uint64
	Texts  []string
	Number uint64
	More   uint64 // the last UID of the last list if that is a part, see pieces.go
	Data   []byte
}

func (q *Query) Fields(c *peer.Coder) {
	at := q.At.String()
	mode, class := byte(q.Spec.Mode), byte(q.Spec.Class)
	n := uint64(q.Spec.N)
	peer.Byte(c, &q.Kind)
	peer.Byte(c, &q.Direction)
	peer.Byte(c, &mode)
	peer.Byte(c, &class)
	c.String(&at)
	c.Uvarint(&n, &q.Spec.Seed, &q.Most, &q.Number, &q.After)
	CodeNumbers(c, &q.Pages)
	codeStrings(c, &q.URLs)
	CodeNumbers(c, &q.Set)
	c.Bytes(&q.Data)
	if !c.Reading() {
		return
	}
	// The decoded values must be in range.
	var err error
	q.At, err = feed.ParsePosition(at)
	c.Check(err)
	q.Spec.Mode, q.Spec.Class, q.Spec.N = sample.Mode(mode), sample.Class(class), int(min(n, math.MaxInt32))
	if q.Direction > links.Backward {
		c.Fail("direction %d", q.Direction)
	}
}

func (a *Answer) Fields(c *peer.Coder) {
	CodeNumbers(c, &a.Ends)
	CodeNumbers(c, &a.Items)
	codeStrings(c, &a.Texts)
	c.Uvarint(&a.Number, &a.More)
	c.Bytes(&a.Data)
}

// CodeNumbers codes numbers by their differences.
func CodeNumbers[T ~uint64 | ~uint32 | ~int](c *peer.Coder, numbers *[]T) {
	var text []byte
	if !c.Reading() {
		text = make([]byte, 0, 4*len(*numbers)+binary.MaxVarintLen64)
		text = binary.AppendUvarint(text, uint64(len(*numbers)))
		before := uint64(0)
		for _, n := range *numbers {
			text = binary.AppendVarint(text, int64(uint64(n)-before))
			before = uint64(n)
		}
	}
	c.Bytes(&text)
	if !c.Reading() {
		return
	}
	// Decode. A number takes a byte at least.
	n, size := binary.Uvarint(text)
	if size <= 0 || n > uint64(len(text)) {
		c.Fail("a list of numbers")
		return
	}
	text = text[size:]
	list := make([]T, n)
	before := uint64(0)
	for i := range list {
		difference, size := binary.Varint(text)
		if size <= 0 {
			c.Fail("a list of numbers")
			return
		}
		text = text[size:]
		before += uint64(difference)
		list[i] = T(before)
	}
	*numbers = list
}

// codeStrings codes strings.
func codeStrings(c *peer.Coder, list *[]string) {
	peer.List(c, list, 1, func(s *string, c *peer.Coder) { c.String(s) })
}

// ParseLabels is the reverse of appendLabels.
func ParseLabels(texts []string) ([]cell.Label, error) {
	labels := make([]cell.Label, len(texts))
	for i, text := range texts {
		labels[i] = cell.NoLabel
		if text == "" {
			continue
		}
		var err error
		if labels[i], err = lists.DecodeLabel([]byte(text)); err != nil {
			return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
		}
	}
	return labels, nil
}

// Singles returns lists of one item each.
func Singles[T any](items []T) (l rank.Lists[T]) {
	l.Items, l.Ends = items, make([]int, len(items))
	for i := range l.Ends {
		l.Ends[i] = i + 1
	}
	return l
}

// ParseUIDs returns the items of an answer as UIDs.
func ParseUIDs(a *Answer) ([]uid.UID, error) { return NumbersOf[uid.UID](a.Items), nil }

// NumbersOf converts numbers.
func NumbersOf[T ~uint64 | ~uint32 | ~int](items []uint64) []T {
	list := make([]T, len(items))
	for i, n := range items {
		list[i] = T(n)
	}
	return list
}

// Refusal returns an error as a refusal if a retry may help.
func Refusal(err error) error {
	var already *peer.Refusal
	switch {
	case errors.As(err, &already):
		return already
	case errors.Is(err, links.ErrLoading), errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrUnknown):
		return peer.Refuse(peer.CodeUnavailable, 0, "%v", err)
	case errors.Is(err, store.ErrClosed):
		return peer.Refuse(peer.CodeClosing, 0, "%v", err)
	}
	return err
}

// AnswerJSON answers with a value as JSON, unless there was an error.
func AnswerJSON[T any](value T, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(value)
	return &Answer{Data: data}, err
}

// Decode is the reverse of AnswerJSON.
func (a *Answer) Decode(value any) error {
	if err := json.Unmarshal(a.Data, value); err != nil {
		return fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	return nil
}

// NumbersFrom converts numbers.
func NumbersFrom[T ~uint64 | ~uint32 | ~int](list []T) []uint64 {
	items := make([]uint64, len(list))
	for i, n := range list {
		items[i] = uint64(n)
	}
	return items
}

// SinglesFrom returns an answer with lists of one number each.
func SinglesFrom[T ~uint64 | ~int](list []T) *Answer {
	return &Answer{Ends: Singles(list).Ends, Items: NumbersFrom(list)}
}

// PickLists returns some of the lists.
func PickLists[T any](all rank.Lists[T], items []int) (l rank.Lists[T]) {
	if all.Len() == 0 {
		return l // there was an error
	}
	for _, i := range items {
		l.Items = append(l.Items, all.At(i)...)
		l.End()
	}
	return l
}
