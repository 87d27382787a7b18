// The scan of one pattern in the sequence of a variable's terms.

package scan

import (
	"bytes"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Cursor is the scan of one pattern.
type Cursor struct {
	Pattern  *pattern.Pattern
	Reader   pattern.Reader
	Access   *pattern.Access
	Position int // of the variable
	Plan     *explain.Plan
	ranges   []triple.Range // ascending
	rows     source.Rows
	at       int    // the range of the row
	key      []byte // of seeks: the range's beginning up to the variable
	prefix   int
	term     []byte // of the row, in its key form; empty at the end
	near     int    // how many steps to try before a seek
	group    [][4]string
}

// begin moves to the first row.
func (c *Cursor) begin(q *exec.Execution) error {
	c.ranges, _ = c.Pattern.Ranges(nil, nil, c.Access, nil)
	c.at, c.near, c.term = 0, nearLeaps, nil
	c.Reader.BeginRange()
	if len(c.ranges) == 0 {
		return nil
	}
	hull := triple.Range{Lo: c.ranges[0].Lo, Hi: c.ranges[len(c.ranges)-1].Hi}
	whole := *c.Access
	whole.Spans = nil
	prefix, _ := c.Pattern.Ranges(nil, nil, &whole, nil)
	c.key = append(c.key[:0], prefix[0].Lo...)
	c.prefix = len(c.key)
	rows, err := q.Source.Scan(q.Ctx, hull, false)
	if err != nil {
		return err
	}
	c.rows = rows
	return c.load(rows.Next())
}

const nearLeaps = 8

// next moves to the next row.
func (c *Cursor) next() error { return c.load(c.rows.Next()) }

// leap moves to the first row whose term is target or greater: by steps if it
// was near the last times, else by a seek.
func (c *Cursor) leap(target []byte) error {
	for step := range c.near + 1 {
		if err := c.next(); err != nil || len(c.term) == 0 {
			return err
		}
		if bytes.Compare(c.term, target) >= 0 {
			if step > 0 || c.near == 0 {
				c.near = min(c.near+2, nearLeaps)
			}
			return nil
		}
	}
	c.near = max(c.near-2, 0)
	c.key = append(c.key[:c.prefix], target...)
	return c.load(c.rows.SeekGE(c.key))
}

// load sets the term of the scan's row if the row is in a range, or else moves on to the next
// range.
func (c *Cursor) load(ok bool) error {
	c.Plan.AddReads(1)
	for ok {
		key, _ := c.rows.Row()
		for c.at < len(c.ranges) && c.ranges[c.at].Hi != nil && bytes.Compare(key, c.ranges[c.at].Hi) >= 0 {
			c.at++
		}
		if c.at == len(c.ranges) {
			break
		}
		if bytes.Compare(key, c.ranges[c.at].Lo) < 0 {
			ok = c.rows.SeekGE(c.ranges[c.at].Lo)
			continue
		}
		_, terms, err := triple.SplitKey(key)
		c.term = terms[c.Position]
		return err
	}
	c.term = nil
	return c.rows.Err()
}

func (c *Cursor) close() {
	if c.rows != nil {
		_ = c.rows.Close() // a finished scan is never read again
		c.rows = nil
	}
	c.group = nil
}
