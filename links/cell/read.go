// Reads of links: single lists with UIDs, and all of them for Verify.

package cell

import (
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// scratch is the memory of one read: a list in ordinals and ghosts.
type scratch struct {
	locals, ghosts []uint32
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKeptScratch is the longest list whose memory is kept for the next read.
const maxKeptScratch = 1 << 16

func (s *scratch) release() {
	if cap(s.locals)+cap(s.ghosts) <= maxKeptScratch {
		scratches.Put(s)
	}
}

// shortList is the longest list that is decoded on the stack.
const shortList = 64

// Degree returns the number of links of a page in direction d without decoding them. It is 0 if
// the ordinal is not below Len.
func (c *Cell) Degree(d Direction, ord uint32) int { return int(c.Lists(d).Degree(ord)) }

// AppendLinks appends the links of a page in direction d, by ascending UIDs. It appends nothing
// if the ordinal is not below Len. It allocates only if dst has too little capacity.
func (c *Cell) AppendLinks(dst []uid.UID, d Direction, ord uint32) []uid.UID {
	var list [shortList]uint32
	if locals, ghosts, ok := c.Lists(d).DecodeTogether(list[:], ord); ok {
		return c.appendUIDs(dst, d, list[:locals], list[locals:locals+ghosts])
	}
	s := scratches.Get().(*scratch)
	var err error
	s.locals, s.ghosts, err = c.Lists(d).Decode(ord, s.locals[:0], s.ghosts[:0])
	if err != nil {
		c.damaged(err)
	} else {
		dst = c.appendUIDs(dst, d, s.locals, s.ghosts)
	}
	s.release()
	return dst
}

// appendUIDs appends the UIDs of locals and ghosts, both ascending, in UID order: ghosts below
// the range, locals, ghosts above it.
func (c *Cell) appendUIDs(dst []uid.UID, d Direction, locals, ghosts []uint32) []uid.UID {
	g := &c.ghosts[d]
	below, mixed := g.split(ghosts)
	if mixed {
		return c.appendMixed(dst, d, locals, ghosts)
	}
	at, n := len(dst), len(locals)+len(ghosts)
	if cap(dst)-at < n {
		dst = slices.Grow(dst, n)
	}
	dst = dst[:at+n]
	out := dst[at:]
	// All ghosts are read at once, behind the room for the locals. Those below the range must
	// then move before it.
	if len(ghosts) > 0 {
		g.putUIDs(out[len(locals):], ghosts)
		copy(out, out[len(locals):len(locals)+below])
	}
	c.pages.putUIDs(out[below:below+len(locals)], locals)
	return dst
}

// appendMixed is appendUIDs for lists with ghosts inside the cell's range, between locals.
func (c *Cell) appendMixed(dst []uid.UID, d Direction, locals, ghosts []uint32) []uid.UID {
	for _, ord := range locals {
		u := c.UID(ord)
		for len(ghosts) > 0 && c.ghosts[d].UID(ghosts[0]) < u {
			dst, ghosts = append(dst, c.ghosts[d].UID(ghosts[0])), ghosts[1:]
		}
		dst = append(dst, u)
	}
	for _, ghost := range ghosts {
		dst = append(dst, c.ghosts[d].UID(ghost))
	}
	return dst
}

// Links yields the result of AppendLinks. It holds only a piece of the list in memory, however
// long the list is.
func (c *Cell) Links(d Direction, ord uint32) iter.Seq[uid.UID] {
	return func(yield func(uid.UID) bool) {
		if c.Degree(d, ord) <= lists.PieceLen {
			var list [64]uid.UID
			for _, u := range c.AppendLinks(list[:0], d, ord) {
				if !yield(u) {
					return
				}
			}
			return
		}
		// A table has all locals before the ghosts, but UIDs mix them. So there must be two
		// scanners, and one skips the locals.
		locals := pieces{scanner: c.Lists(d).Scan(ord, ord+1), of: (*lists.Scanner).Locals}
		ghosts := pieces{scanner: c.Lists(d).Scan(ord, ord+1), of: (*lists.Scanner).Ghosts}
		local, moreLocals := locals.next()
		ghost, moreGhosts := ghosts.next()
		for moreLocals || moreGhosts {
			var u uid.UID
			if l, g := c.UID(local), c.ghosts[d].UID(ghost); moreLocals && (!moreGhosts || l < g) {
				u = l
				local, moreLocals = locals.next()
			} else {
				u = g
				ghost, moreGhosts = ghosts.next()
			}
			if !yield(u) {
				return
			}
		}
		for _, err := range []error{locals.scanner.Err(), ghosts.scanner.Err()} {
			if err != nil {
				c.damaged(err)
			}
		}
	}
}

// pieces iterates over the locals or the ghosts of one list.
type pieces struct {
	scanner *lists.Scanner
	of      func(*lists.Scanner) []uint32
	piece   []uint32
}

func (p *pieces) next() (uint32, bool) {
	for len(p.piece) == 0 {
		if !p.scanner.Next() {
			return 0, false
		}
		p.piece = p.of(p.scanner)
	}
	first := p.piece[0]
	p.piece = p.piece[1:]
	return first, true
}

// Verify checks everything again: the checksums first, then every list, URL and label. Its
// errors wrap ErrCorrupt. It takes some nanoseconds a link. All stores must be in memory.
func (c *Cell) Verify() error {
	again, err := Open(c.data)
	if err != nil {
		return err
	}
	if err := again.urls.Check(hostHash); err != nil {
		return fmt.Errorf("cell: %w: URLs: %w", ErrCorrupt, err)
	}
	for d := range again.lists {
		if err := again.verifyLists(Direction(d)); err != nil {
			return fmt.Errorf("cell: %w: %s lists: %w", ErrCorrupt, Direction(d), err)
		}
	}
	return nil
}

func (c *Cell) verifyLists(d Direction) error {
	var count, maxDegree, degree uint64
	last := uint32(0)
	t := c.Lists(d)
	used := make([]bool, c.ghosts[d].Len())
	// 1. Count links. A long list comes in several pieces, so a degree sums up until the key
	// changes.
	s := t.Scan(0, t.Len())
	for s.Next() {
		if s.Key() != last {
			degree, last = 0, s.Key()
		}
		degree += uint64(len(s.Locals()) + len(s.Ghosts()))
		count += uint64(len(s.Locals()) + len(s.Ghosts()))
		maxDegree = max(maxDegree, degree)
		for _, g := range s.Ghosts() {
			used[g] = true
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	// 2. Compare with the header. Every ghost must be in a list, because the builder writes no
	// others.
	if count != c.header.links[d] || maxDegree != uint64(c.header.maxDegree[d]) {
		return fmt.Errorf("%d links, at most %d a page, and the header says %d and %d", count, maxDegree, c.header.links[d], c.header.maxDegree[d])
	}
	for i, used := range used {
		if !used {
			return fmt.Errorf("ghost %d is in no list", i)
		}
	}
	if d == Forward {
		return c.verifyLabels()
	}
	return nil
}
