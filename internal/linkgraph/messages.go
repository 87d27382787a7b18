// Messages between the machines of a graph.

package linkgraph

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// methodAsk is the method of all messages: a query and its answer. A query is
//
//	kind, direction, mode, class 1 byte each; position as text; uvarints n, seed, most, number, after;
//	numbers: pages; strings: URLs; numbers: a set of pages; bytes
//
// and an answer
//
//	numbers: ends of lists; numbers: their items; strings: texts; uvarints number, more; bytes
//
// An answer has the lists of a prefix of the items of its query, see pieces.go. Numbers are their count and, for each, its difference to the one before as a signed varint.
const methodAsk = "links/ask"

// askKind is what a query requests.
type askKind byte

const (
	askLinks      askKind = iota // the lists of pages, with at most most links if that is not 0
	askDegrees                   // their lengths, as one list
	askSample                    // samples of them, by the spec
	askLabels                    // their labels
	askWithin                    // the links of pages among a set, as numbers in it
	askUIDs                      // the UIDs of URLs, as one list
	askURLs                      // the URLs of pages
	askPages                     // the next n pages after one in a partition
	askStats                     // the sizes of partitions, as JSON
	askEpoch                     // the epoch of the graph
	askHeld                      // the set of partitions that the machine holds
	askAssign                    // the UIDs of URLs, new ones too; number is that of new ones
	askReplace                   // changes of links that depend on the present ones, as JSON
	askExport                    // a piece of a partition
	askAnnotated                 // 1 if the machine has annotations
	askWeights                   // as askWithin, with the weights of the links
	askLinkLabels                // the labels of links from pages to those of the set, one each
	askStores                    // the stores in memory, after number was requested and most relinquished, as JSON
)

// query is a request to a machine. It is answered when the machine has reached the position.
type query struct {
	kind      askKind
	direction links.Direction
	spec      sample.Spec
	at        feed.Position
	most      uint64
	number    uint64 // a partition, a set of them, a page, or an offset
	after     uint64 // the first list begins behind this UID, see pieces.go
	pages     []uid.UID
	urls      []string
	set       []uid.UID
	data      []byte
}

// answer is the answer to a query.
type answer struct {
	ends   []int
	items  []uint64
	texts  []string
	number uint64
	more   uint64 // the last UID of the last list if that is a part, see pieces.go
	data   []byte
}

func (q *query) fields(c *peer.Coder) {
	at := q.at.String()
	mode, class := byte(q.spec.Mode), byte(q.spec.Class)
	n := uint64(q.spec.N)
	peer.Byte(c, &q.kind)
	peer.Byte(c, &q.direction)
	peer.Byte(c, &mode)
	peer.Byte(c, &class)
	c.String(&at)
	c.Uvarint(&n, &q.spec.Seed, &q.most, &q.number, &q.after)
	codeNumbers(c, &q.pages)
	codeStrings(c, &q.urls)
	codeNumbers(c, &q.set)
	c.Bytes(&q.data)
	if !c.Reading() {
		return
	}
	// The decoded values must be in range.
	var err error
	q.at, err = feed.ParsePosition(at)
	c.Check(err)
	q.spec.Mode, q.spec.Class, q.spec.N = sample.Mode(mode), sample.Class(class), int(min(n, math.MaxInt32))
	if q.direction > links.Backward {
		c.Fail("direction %d", q.direction)
	}
}

func (a *answer) fields(c *peer.Coder) {
	codeNumbers(c, &a.ends)
	codeNumbers(c, &a.items)
	codeStrings(c, &a.texts)
	c.Uvarint(&a.number, &a.more)
	c.Bytes(&a.data)
}

// codeNumbers codes numbers by their differences.
func codeNumbers[T ~uint64 | ~uint32 | ~int](c *peer.Coder, numbers *[]T) {
	// 1. Encode.
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
	// 2. Decode. A number takes a byte at least.
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

// appendLabels appends labels as texts.
func appendLabels(texts []string, labels []cell.Label) []string {
	for _, l := range labels {
		text := ""
		if l != cell.NoLabel {
			text = string(lists.AppendLabel(nil, l))
		}
		texts = append(texts, text)
	}
	return texts
}

// parseLabels is the reverse of appendLabels.
func parseLabels(texts []string) ([]cell.Label, error) {
	labels := make([]cell.Label, len(texts))
	for i, text := range texts {
		labels[i] = cell.NoLabel
		if text == "" {
			continue
		}
		var err error
		if labels[i], err = decodeLabel([]byte(text)); err != nil {
			return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
		}
	}
	return labels, nil
}
