// Merging of several rows into one.

package delta

import (
	"math"
	"slices"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// mergeRows returns the row with the combined effect of rows, oldest first.
func mergeRows(rows []*Row) (*Row, error) {
	w := newRowWriter()
	defer w.release()
	for d := range w.links {
		// 1. Make room for all entries, and add up their changes.
		keys, data := 0, 0
		for _, r := range rows {
			keys, data = keys+r.links[d].keys, data+len(r.links[d].data)
			w.links[d].changes += r.links[d].changes
		}
		w.links[d].expect(keys, data)
		m := newMerger(rows, cell.Direction(d))
		for m.next() {
			var err error
			// 2. Merge the entries key by key. If several rows have the key, its count of
			// changes is taken anew.
			if len(m.at) > 1 {
				w.links[d].changes -= m.changes()
			}
			if body, ok := m.single(); !ok {
				err = w.links[d].add(m.key, m.entry())
			} else if err = w.links[d].addBody(m.key, body); len(m.at) > 1 {
				w.links[d].changes += bodyChanges(body)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	p := newPageMerger(rows)
	for p.next() {
		if err := w.pages.add(p.uid, p.url); err != nil {
			return nil, err
		}
	}
	return w.row(rows[0].first, rows[len(rows)-1].last)
}

// bodyChanges returns the number of links that the entry with this body adds and deletes.
func bodyChanges(body []byte) int64 {
	head, n := uvarint(body)
	changes := head >> headShift
	if head&headDeletes != 0 {
		deletes, _ := uvarint(body[n:])
		changes += deletes
	}
	return int64(changes)
}

// merger iterates over the keys of several rows in one direction.
type merger struct {
	cursors []cursor  // of rows with keys left, oldest first
	keys    []uid.UID // current key of each cursor
	at      []int     // indexes of the cursors at key, oldest first
	key     uid.UID
	// others is the least key of the other cursors. It is valid if exactly one cursor is at key.
	others uid.UID
	fold   folder
}

func newMerger(rows []*Row, d cell.Direction) *merger {
	m := new(merger)
	for _, r := range rows {
		if c := (cursor{links: &r.links[d]}); c.next() {
			m.cursors, m.keys = append(m.cursors, c), append(m.keys, c.key)
		}
	}
	return m
}

// next moves to the next key. It returns false at the end.
func (m *merger) next() bool {
	// 1. If a row is much longer than the others, several of its keys follow each other. Then a
	// comparison with others is enough.
	if len(m.at) == 1 {
		i := m.at[0]
		if c := &m.cursors[i]; c.place < c.links.keys {
			c.next()
			m.keys[i] = c.key
			if c.key < m.others {
				m.key = c.key
				return true
			}
			m.at = m.at[:0]
		}
	}
	// 2. Advance the cursors at the key, last first, because Delete moves those after.
	for at := len(m.at) - 1; at >= 0; at-- {
		i := m.at[at]
		if m.cursors[i].next() {
			m.keys[i] = m.cursors[i].key
		} else {
			m.cursors, m.keys = slices.Delete(m.cursors, i, i+1), slices.Delete(m.keys, i, i+1)
		}
	}
	// 3. Find the least key and the cursors at it. They stay ordered by age, because cursors
	// are.
	m.at, m.others = m.at[:0], math.MaxUint64
	for i, key := range m.keys {
		if len(m.at) > 0 && key > m.key {
			m.others = min(m.others, key)
			continue
		}
		if len(m.at) > 0 && key < m.key {
			m.others, m.at = m.key, m.at[:0]
		}
		m.key, m.at = key, append(m.at, i)
	}
	return len(m.at) > 0
}

// single returns the body of the entry if one row alone decides.
func (m *merger) single() ([]byte, bool) {
	newest := m.cursors[m.at[len(m.at)-1]].body()
	return newest, len(m.at) == 1 || newest[0]&headWhole != 0
}

// changes returns the number of links that the entries of all rows at the key add and delete.
func (m *merger) changes() (n int64) {
	for _, i := range m.at {
		n += bodyChanges(m.cursors[i].body())
	}
	return n
}

// entry returns the combined effect of all rows at the key. It is valid until the next call.
func (m *merger) entry() *entry {
	for at := len(m.at) - 1; at >= 0; at-- {
		if !m.fold.older(m.cursors[m.at[at]].body(), m.key) {
			break
		}
	}
	return m.fold.take()
}

// folder combines entries into one. They must come newest first.
type folder struct {
	a, b, c entry
	some    bool
}

// older adds an entry older than those before. It reports whether still older ones matter: they
// do not if the result is whole.
func (f *folder) older(body []byte, key uid.UID) bool {
	if !f.some {
		f.some = true
		readEntry(body, key, &f.a)
		return !f.a.whole
	}
	readEntry(body, key, &f.b)
	f.c.cover(&f.b, &f.a)
	f.a, f.c = f.c, f.a
	return !f.a.whole
}

// take returns the result, valid until the next call of older, and resets the folder.
func (f *folder) take() *entry {
	f.some = false
	return &f.a
}

// pageMerger iterates over the pages of several rows.
type pageMerger struct {
	cursors []pageCursor
	started bool
	uid     uid.UID
	url     []byte
}

func newPageMerger(rows []*Row) *pageMerger {
	m := new(pageMerger)
	for _, r := range rows {
		m.cursors = append(m.cursors, pageCursor{pages: &r.pages})
	}
	return m
}

// next moves to the next page. It returns false at the end.
func (m *pageMerger) next() bool {
	kept := m.cursors[:0]
	for _, c := range m.cursors {
		if m.started && c.uid != m.uid || c.next() {
			kept = append(kept, c)
		}
	}
	m.cursors, m.started = kept, true
	if len(kept) == 0 {
		return false
	}
	least := &kept[0]
	for i := range kept[1:] {
		if kept[1+i].uid < least.uid {
			least = &kept[1+i]
		}
	}
	m.uid, m.url = least.uid, least.url
	return true
}
