// The commit of one change: clears, then its parts.

package store

import (
	"cmp"
	"context"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/triple"
)

// commitChange writes a change into the batch: its clears, then its parts, like a group of
// requests.
func (c *commit) commitChange(r *request) error {
	c.request = r
	// 1. If the token is taken, the change was done before.
	if done, err := c.begin(r.token); done || err != nil {
		return cmp.Or(err, ErrDone)
	}
	// 2. Look up all triples first, because a clear updates their states.
	parts := r.parts
	if err := c.lookUp(parts); err != nil {
		return err
	}
	c.log.SetDepth(r.token.Depth())
	var stamp triple.Stamp
	if err := c.clear(&r.clear, &stamp); err != nil {
		return err
	}
	c.refs = nil // they hold the keys of all parts
	// 3. Write the parts. Each one is freed at once, because a change may be large.
	for i, part := range parts {
		if err := c.doPart(r, part, c.stateOf[i], &stamp); err != nil {
			return err
		}
		if err := c.fits(); err != nil {
			return err
		}
		parts[i] = nil
	}
	if c.batch.Empty() {
		return nil
	}
	if err := c.fits(); err != nil {
		return err
	}
	// 4. Check the room with the true size. A change without adds may use the reserve.
	size := int64(c.batch.Len())
	r.size = size
	return c.to.claim(size, !c.adds)
}

// goOn must be called for every row that a change reads. It returns an error if the change must
// end before it is written.
func (c *commit) goOn() error {
	if c.request == nil {
		return nil
	}
	if c.moves++; c.moves%database.CheckMoves != 0 {
		return nil
	}
	return c.fits()
}

func (c *commit) fits() error {
	r := c.request
	r.steps.Add(1)
	if int64(c.batch.Len())-c.log.Bytes() > r.limit {
		return tooLarge(r.limit)
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if c.to.db.Closing() {
		return ErrClosed
	}
	return c.to.db.Err()
}
