// Rows of copies, made of the rows of this machine.

package copyserver

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/assign"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// pulledRows is the state of one message: the rows that it makes.
type pulledRows struct {
	graph  *Server
	ranges []triple.Range

	rows  []copies.Row // rows of lists have no value until pack
	ends  [][]int      // by row: indexes in urls
	named [][]int      // likewise, of links in named graphs
	urls  []string     // each once
	place map[string]int

	list []byte // the order and terms at the start of the rows of the current list
	of   int    // the index of the range of the current list
	last []byte // the other end of the last link of the current list

	looked, links, bytes int
	done                 int
	rest                 []byte
}

// read reads rows until the message is full. rest is then the first key that was not read.
func (m *pulledRows) read(ctx context.Context, sn *store.Snapshot) error {
	err := sn.Source().Lookup(ctx, m.ranges, func(i int, key, value []byte) error {
		if m.looked++; m.looked > maxPulledRows || m.links >= maxPulledLinks || m.bytes >= maxPulledBytes {
			m.done, m.rest = i, bytes.Clone(key)
			return rowreader.ErrEnough
		}
		return m.add(i, key, value)
	})
	if errors.Is(err, rowreader.ErrEnough) {
		return nil
	}
	return err
}

// add adds a row of the store.
func (m *pulledRows) add(i int, key, value []byte) error {
	pair, ok := triple.KeyPair(key)
	if !ok {
		return nil
	}
	// 1. A row of the current list adds a link.
	if i == m.of && bytes.Equal(pair, m.list) {
		return m.link(key, value)
	}
	m.of = i
	m.list = append(m.list[:0], pair...)
	m.last = nil
	// 2. Any other row begins a list, or is a row of its own.
	order, terms, err := triple.SplitKey(key)
	if err != nil {
		return err
	}
	switch predicate := terms[triple.Predicate]; {
	case bytes.Equal(predicate, m.graph.Keys.PredicateTerm):
		// A list begins at its first row. If the message before ended inside the list, it
		// begins at that key.
		at := copies.PairRange(pair).Lo
		if bytes.Compare(at, m.ranges[i].Lo) < 0 {
			at = bytes.Clone(key)
		}
		m.begin(at)
		return m.link(key, value)
	case bytes.Equal(predicate, m.graph.Keys.UIDTerm):
		m.list = m.list[:0] // each of these is a row of its own
		return m.claim(rowreader.CopiedUIDs, order, key, value)
	case bytes.Equal(predicate, m.graph.Keys.ClaimTerm):
		m.list = m.list[:0]
		return m.claim(rowreader.CopiedGrants, order, key, value)
	}
	m.list = m.list[:0]
	return nil
}

func (m *pulledRows) begin(key []byte) {
	m.rows = append(m.rows, copies.Row{Key: key})
	m.ends, m.named = append(m.ends, nil), append(m.named, nil)
	m.bytes += len(key)
}

// link adds a link to the last row.
func (m *pulledRows) link(key, value []byte) error {
	row, err := linkkeys.DecodeRow(key, value)
	if err != nil {
		return err
	}
	at := triple.Object
	if triple.Order(key[0]) == triple.POS {
		at = triple.Subject
	}
	end, ok := row.Iri(at)
	if _, isPage := row.Iri(triple.Subject + triple.Object - at); !ok || !isPage {
		return nil
	}
	// 1. The rows of a link in several graphs are adjacent: only the first one counts, but the
	// link is named if any of them is.
	named := len(row.Terms[triple.Graph]) > 0
	if m.last != nil && bytes.Equal(end, m.last) {
		if of := &m.named[len(m.named)-1]; named {
			*of = append(*of, m.place[string(end)])
		}
		return nil
	}
	// 2. If the row is full, the list continues in a new one.
	m.last = append(m.last[:0], end...)
	if len(m.ends[len(m.ends)-1]) == linkkeys.MaxPacked {
		m.begin(bytes.Clone(key))
	}
	// 3. Record the end by its index, because UIDs are looked up once for all rows.
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

// claim adds a row for a UID, or for the claim of a grant.
func (m *pulledRows) claim(kind byte, order triple.Order, key, value []byte) error {
	row, err := linkkeys.DecodeRow(key, value)
	if err != nil {
		return err
	}
	c, ok := assign.ClaimOf(kind, &row)
	url, isIRI := row.Iri(triple.Subject)
	if !ok || !isIRI {
		return nil // a triple of another application
	}
	m.begin(bytes.Clone(key))
	last := &m.rows[len(m.rows)-1]
	if order == triple.POS {
		last.Value = bytes.Clone(url)
		m.bytes += len(url)
		return nil
	}
	if c.Stamp, err = row.Stamp(); err != nil {
		return err
	}
	last.Value = peer.Encode(24+len(c.Name), c.Fields)
	return nil
}

// pack makes the values of the rows of lists.
func (m *pulledRows) pack(ctx context.Context) error {
	if len(m.urls) == 0 {
		return nil
	}
	uids, _, err := m.graph.uids.AssignReporting(ctx, m.urls)
	if err != nil {
		return err
	}
	var list []uid.UID
	// UIDs ascend in a packed list, but URLs ascend in the rows.
	pack := func(dst []byte, places []int) []byte {
		list = list[:0]
		for _, at := range places {
			if uids[at] != 0 {
				list = append(list, uids[at])
			}
		}
		slices.Sort(list)
		return linkkeys.AppendPacked(dst, slices.Compact(list))
	}
	// A row with a value is a claim, so only the others are lists.
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
