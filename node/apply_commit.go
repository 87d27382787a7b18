package node

import (
	"cmp"
	"context"

	"github.com/trefoildb/trefoil/triple"
)

// commitChange writes a change into the batch: what it clears, then its parts
// as if they were a group of requests.
func (c *commit) commitChange(r *request) error {
	c.request = r
	if done, err := c.begin(r.token); done || err != nil {
		return cmp.Or(err, ErrDone)
	}
	parts := r.parts
	if err := c.lookUp(parts); err != nil {
		return err
	}
	if err := c.clear(&r.clear); err != nil {
		return err
	}
	c.refs = nil // they keep the keys of all parts
	var stamp triple.Stamp
	for i, part := range parts {
		if err := c.doPart(r, part, c.slotOf[i], &stamp); err != nil {
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
	size := int64(c.batch.Len())
	r.size = size
	if c.adds {
		return c.store.disk.room(size)
	}
	return c.store.disk.reserve(size)
}

// goOn is called with every row that a change looks at; it tells why the change
// is to end before it is written.
func (c *commit) goOn() error {
	if c.request == nil {
		return nil
	}
	if c.moves++; c.moves%checkMoves != 0 {
		return nil
	}
	return c.fits()
}

func (c *commit) fits() error {
	r := c.request
	r.steps.Add(1)
	if int64(c.batch.Len()) > r.limit {
		return tooLarge(r.limit)
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if c.store.health.isClosing() {
		return ErrClosed
	}
	return c.store.health.err()
}
