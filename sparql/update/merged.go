// The rows of a source with a delta over it, merged.

package update

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// merged iterates over the rows of an overlay. Both sides stand at their next row in the
// direction of the iteration; the current row is one side's, or both sides' if they have the
// same key.
type merged struct {
	ctx     context.Context
	overlay *overlay
	reverse bool

	base   source.Rows // nil if it is cleared as a whole
	baseOK bool
	delta  cursor

	begun           bool
	inBase, inDelta bool // the sides at the current row
	err             error
}

// Next moves to the next row.
func (m *merged) Next() bool {
	if !m.begun {
		m.begun = true
		m.delta.first()
		m.baseOK = m.base != nil && m.base.Next()
	} else {
		m.step()
	}
	return m.selectNext()
}

// step moves a side if it stands at the current row.
func (m *merged) step() {
	if m.inBase {
		m.baseOK = m.base.Next()
	}
	if m.inDelta {
		m.delta.next()
	}
}

// SeekGE moves to the first row at or after key in the direction of the iteration.
func (m *merged) SeekGE(key []byte) bool {
	m.begun = true
	m.delta.seek(key)
	m.baseOK = m.base != nil && m.base.SeekGE(key)
	return m.selectNext()
}

// selectNext finds the next row from the sides' positions.
func (m *merged) selectNext() bool {
	for ; ; m.step() {
		m.inBase, m.inDelta = false, false
		// 1. The end of the base may be an error.
		if m.err == nil && m.base != nil && !m.baseOK {
			m.err = m.base.Err()
		}
		if m.err == nil {
			m.err = m.ctx.Err()
		}
		if m.err != nil || !m.baseOK && !m.delta.valid {
			return false
		}
		// 2. Compare both keys. If they are equal, the delta's row counts.
		order := 0 // of the base's key against the delta's
		switch {
		case !m.baseOK:
			order = 1
		case !m.delta.valid:
			order = -1
		default:
			key, _ := m.base.Row()
			order = bytes.Compare(key, m.delta.key())
			if m.reverse {
				order = -order
			}
		}
		// Both sides may be at the same key, so step must move both then.
		m.inBase, m.inDelta = order <= 0, order >= 0
		if m.inDelta {
			if !m.delta.row().deleted {
				return true
			}
			continue
		}
		// 3. A row of the base may be deleted or in a graph cleared.
		key, _ := m.base.Row()
		hidden, err := m.overlay.hides(key)
		if err != nil {
			m.err = err
			return false
		}
		if !hidden {
			return true
		}
		m.skipGraph(key)
	}
}

// skipGraph moves the base beyond a cleared graph if the graph's rows are adjacent. key is that of
// the base's row, which must be of the graph.
func (m *merged) skipGraph(key []byte) {
	if triple.Order(key[0]) != triple.GSPO {
		return
	}
	r := triple.OrderRange(triple.GSPO)
	if !m.overlay.cleared.named {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			m.err = err
			return
		}
		r = graphRange(terms[triple.Graph])
	}
	if m.reverse {
		m.baseOK = m.base.SeekGE(r.Lo)
	} else {
		m.baseOK = m.base.SeekGE(r.Hi)
	}
	m.inBase = false // it has moved
}

// Row returns the row's key and value.
func (m *merged) Row() (key, value []byte) {
	if m.inDelta {
		return m.delta.key(), bytesOf(m.delta.row().value)
	}
	return m.base.Row()
}

// Err returns the error if one ended the rows.
func (m *merged) Err() error { return m.err }

// Close frees the base's rows.
func (m *merged) Close() error {
	if m.base == nil {
		return nil
	}
	return m.base.Close()
}
