// Copies of what this machine reads, made for those who keep them.

package ranges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/links/copies"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodPull has the machine that reads some ranges make rows of copies (package copies):
//
//	request: epoch uvarint, n uvarint, n ranges (two keys: length uvarint and bytes)
//	answer:  n uvarint, n rows (key and value), done uvarint, rest (bytes; empty for none)
//
// The values of rows are
//
//	a part of a list      length uvarint, a packed list, and another one: of those of its
//	                      links that are in named graphs
//	a UID, in SPO         UID, epoch and sequence of its stamp, each as a uvarint, and 0
//	a UID, in POS         the page's URL
//	a claim of a grant    0, epoch and sequence, and the length and bytes of the name
const methodPull = "links/pull"

// pullTime bounds how long an owner is waited for.
const pullTime = 20 * time.Second

// What one message reads at most, about.
const (
	pulledRows  = 1 << 18
	pulledLinks = 1 << 15
	pulledBytes = 4 << 20
)

// pull implements copies.Pull.
func (g *Graph) pull(ctx context.Context, epoch uint64, owner trie.MachineID, ranges []triple.Range) (rows []copies.Row, done int, rest []byte, err error) {
	e := peer.NewEncoder(64 * len(ranges))
	e.Uvarint(epoch)
	e.Uvarint(uint64(len(ranges)))
	for _, r := range ranges {
		e.Bytes(r.Lo)
		e.Bytes(r.Hi)
	}
	ctx, cancel := context.WithTimeout(ctx, pullTime)
	defer cancel()
	answer, err := g.callOwner(ctx, owner, methodPull, e.Data())
	if err != nil {
		return nil, 0, nil, err
	}
	return parsePulled(answer, len(ranges))
}

// parsePulled reads the answer to so many ranges.
func parsePulled(answer []byte, ranges int) (rows []copies.Row, done int, rest []byte, err error) {
	d := peer.NewDecoder(answer)
	rows = make([]copies.Row, d.Count(2))
	for i := range rows {
		rows[i] = copies.Row{Key: d.Bytes(), Value: d.Bytes()}
	}
	n := d.Uvarint()
	rest = d.Bytes()
	if err := d.End(); err != nil {
		return nil, 0, nil, err
	}
	if n > uint64(ranges) {
		return nil, 0, nil, fmt.Errorf("%w: %d of %d ranges", peer.ErrMessage, n, ranges)
	}
	if len(rest) == 0 {
		rest = nil
	}
	return rows, int(n), rest, nil
}

// parsePull reads a request: ranges that ascend, one at least.
func parsePull(body []byte) (epoch uint64, ranges []triple.Range, err error) {
	d := peer.NewDecoder(body)
	epoch = d.Uvarint()
	ranges = make([]triple.Range, d.Count(2))
	for i := range ranges {
		ranges[i] = triple.Range{Lo: d.Bytes(), Hi: d.Bytes()}
		if d.Err() == nil && (ranges[i].Hi == nil || ranges[i].Empty() || i > 0 && bytes.Compare(ranges[i].Lo, ranges[i-1].Hi) < 0) {
			return 0, nil, fmt.Errorf("%w: ranges that do not ascend", peer.ErrMessage)
		}
	}
	if err := d.End(); err != nil {
		return 0, nil, err
	}
	if len(ranges) == 0 {
		return 0, nil, fmt.Errorf("%w: no range", peer.ErrMessage)
	}
	return epoch, ranges, nil
}

func (g *Graph) handlePull(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
	epoch, ranges, err := parsePull(body)
	if err != nil {
		return nil, err
	}
	m := made{graph: g, ranges: ranges, place: map[string]int{}, done: len(ranges)}
	err = g.store.ReadOwn(ctx, epoch, ranges, func(ctx context.Context, sn *node.Snapshot) error { return m.read(ctx, sn) })
	if err != nil {
		return nil, err
	}
	if err := m.pack(ctx); err != nil {
		return nil, err
	}
	e := peer.NewEncoder(m.bytes)
	e.Uvarint(uint64(len(m.rows)))
	for _, r := range m.rows {
		e.Bytes(r.Key)
		e.Bytes(r.Value)
	}
	e.Uvarint(uint64(m.done))
	e.Bytes(m.rest)
	return e.Data(), nil
}

// made are the rows that one message makes.
type made struct {
	graph  *Graph
	ranges []triple.Range

	rows  []copies.Row // those of lists have no value yet
	ends  [][]int      // by row: places of URLs
	named [][]int      // likewise, of links in named graphs
	urls  []string     // each once
	place map[string]int

	list []byte // the order and terms with which the rows of the current list begin
	of   int    // of the ranges: the one that it was met in
	last []byte // the end of the last link of it

	looked, links, bytes int
	done                 int
	rest                 []byte
}

// read reads rows until there are enough.
func (m *made) read(ctx context.Context, sn *node.Snapshot) error {
	err := sn.Source().Lookup(ctx, m.ranges, func(i int, key, value []byte) error {
		if m.looked++; m.looked > pulledRows || m.links >= pulledLinks || m.bytes >= pulledBytes {
			m.done, m.rest = i, bytes.Clone(key)
			return errEnough
		}
		return m.add(i, key, value)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// add takes a row in.
func (m *made) add(i int, key, value []byte) error {
	pair, ok := triple.KeyPair(key)
	if !ok {
		return nil
	}
	if i == m.of && bytes.Equal(pair, m.list) {
		return m.link(key, value)
	}
	m.of = i
	m.list = append(m.list[:0], pair...)
	m.last = nil
	order, terms, err := triple.SplitKey(key)
	if err != nil {
		return err
	}
	switch predicate := terms[triple.Predicate]; {
	case bytes.Equal(predicate, m.graph.predicateTerm):
		// A list begins where its first row is, or in the middle of it, where the message
		// before has ended.
		at := copies.PairRange(pair).Lo
		if bytes.Compare(at, m.ranges[i].Lo) < 0 {
			at = bytes.Clone(key)
		}
		m.begin(at)
		return m.link(key, value)
	case bytes.Equal(predicate, m.graph.uidTerm):
		m.list = m.list[:0] // each row is one of its own
		return m.claim(copiedUIDs, order, key, value)
	case bytes.Equal(predicate, m.graph.claimTerm):
		m.list = m.list[:0]
		return m.claim(copiedGrants, order, key, value)
	}
	m.list = m.list[:0]
	return nil
}

func (m *made) begin(key []byte) {
	m.rows = append(m.rows, copies.Row{Key: key})
	m.ends, m.named = append(m.ends, nil), append(m.named, nil)
	m.bytes += len(key)
}

// link adds a link to the last row.
func (m *made) link(key, value []byte) error {
	row, err := rowOf(key, value)
	if err != nil {
		return err
	}
	at := triple.Object
	if triple.Order(key[0]) == triple.POS {
		at = triple.Subject
	}
	end, ok := row.iri(at)
	if _, isPage := row.iri(triple.Subject + triple.Object - at); !ok || !isPage {
		return nil
	}
	named := len(row.terms[triple.Graph]) > 0
	if m.last != nil && bytes.Equal(end, m.last) {
		if of := &m.named[len(m.named)-1]; named {
			*of = append(*of, m.place[string(end)])
		}
		return nil
	}
	m.last = append(m.last[:0], end...)
	if len(m.ends[len(m.ends)-1]) == maxPacked {
		m.begin(bytes.Clone(key))
	}
	place, ok := m.place[string(end)]
	if !ok {
		place = len(m.urls)
		m.urls = append(m.urls, string(end))
		m.place[m.urls[place]] = place
		m.bytes += len(end)
	}
	of := &m.ends[len(m.ends)-1]
	*of = append(*of, place)
	if named {
		m.named[len(m.named)-1] = append(m.named[len(m.named)-1], place)
	}
	m.links++
	return nil
}

// claim adds a row for a UID, or for who claims a grant.
func (m *made) claim(kind byte, order triple.Order, key, value []byte) error {
	row, err := rowOf(key, value)
	if err != nil {
		return err
	}
	c, ok := claimOf(kind, &row)
	url, isIRI := row.iri(triple.Subject)
	if !ok || !isIRI {
		return nil // somebody else's triple
	}
	m.begin(bytes.Clone(key))
	last := &m.rows[len(m.rows)-1]
	if order == triple.POS {
		last.Value = bytes.Clone(url)
		m.bytes += len(url)
		return nil
	}
	if c.stamp, err = row.stamp(); err != nil {
		return err
	}
	e := peer.NewEncoder(24 + len(c.name))
	c.encode(e)
	last.Value = e.Data()
	return nil
}

// pack makes the values of the rows of lists.
func (m *made) pack(ctx context.Context) error {
	if len(m.urls) == 0 {
		return nil
	}
	uids, _, err := m.graph.namedOf(ctx, m.urls)
	if err != nil {
		return err
	}
	var list []uid.UID
	pack := func(dst []byte, places []int) []byte {
		list = list[:0]
		for _, at := range places {
			if uids[at] != 0 {
				list = append(list, uids[at])
			}
		}
		slices.Sort(list)
		return appendPacked(dst, slices.Compact(list))
	}
	for i := range m.rows {
		if m.rows[i].Value != nil {
			continue
		}
		e := peer.NewEncoder(0)
		e.Bytes(pack(nil, m.ends[i]))
		m.rows[i].Value = pack(e.Data(), m.named[i])
		m.bytes += len(m.rows[i].Value)
	}
	return nil
}
