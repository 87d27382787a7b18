// The changes in a commit: clears, then its parts; and annotations.

package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
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

// readAnnotations reads the IDs and versions of a triple's annotations as of the start of this commit, once.
func (c *commit) readAnnotations(r *request, it *item, state *tripleState) error {
	if state.annotationsRead {
		return nil
	}
	state.annotationsRead = true
	if c.to.counted.Annotations == 0 {
		return nil
	}
	for row, err := range annotations(c.to.db, r.key(it, 0)) {
		if err != nil {
			return err
		}
		a, err := triple.DecodeAnnotation(row.value)
		if err != nil {
			return err
		}
		state.annotations = append(state.annotations, annotationState{string(row.id), a.Stamp})
	}
	return nil
}

// annotation returns the index of an application's annotation, or -1. The annotations must be read.
func (state *tripleState) annotation(applicationID string) int {
	return slices.IndexFunc(state.annotations, func(a annotationState) bool { return a.id == applicationID })
}

// refused reports whether the triple of an annotation is missing or its condition does not hold. It
// puts the reason into the request.
func (c *commit) refused(r *request, it *item, state *tripleState) (bool, error) {
	if !state.exists {
		r.err = ErrNotFound
		return true, nil
	}
	if r.when.IsZero() {
		return false, nil
	}
	if err := c.readAnnotations(r, it, state); err != nil {
		return false, err
	}
	var current triple.Stamp
	if at := state.annotation(r.applicationID); at >= 0 {
		current = state.annotations[at].version
	}
	r.err = r.when.Met(current)
	return r.err != nil, nil
}

func (c *commit) annotate(r *request, it *item, state *tripleState, stamp triple.Stamp) error {
	// 1. Learn the IDs of the triple's annotations, because the counters depend on them.
	if err := c.readAnnotations(r, it, state); err != nil {
		return err
	}
	at := state.annotation(r.applicationID)
	if r.data == nil {
		if at < 0 {
			return nil
		}
		state.annotations = slices.Delete(state.annotations, at, at+1)
		c.counted.Annotations--
		if err := c.removeAnnotation(r, it, r.applicationID); err != nil {
			return err
		}
		return c.logAnnotation(r, it, stamp)
	}
	if at < 0 {
		at = len(state.annotations)
		state.annotations = append(state.annotations, annotationState{id: r.applicationID})
		c.counted.Annotations++
	}
	state.annotations[at].version, r.version = stamp, stamp
	// 2. Write the annotation beside the row in each order.
	value := triple.AppendAnnotation(nil, stamp, r.data)
	for i := range triple.Orders {
		if key := r.key(it, i); len(key) > 0 {
			c.scratch = triple.AppendAnnotationKey(c.scratch[:0], key, r.applicationID)
			if err := c.batch.Set(c.scratch, value, nil); err != nil {
				return err
			}
		}
	}
	return c.logAnnotation(r, it, stamp)
}

func (c *commit) logAnnotation(r *request, it *item, stamp triple.Stamp) error {
	a := feed.Annotation{ApplicationID: r.applicationID, Removed: r.data == nil, Data: r.data}
	return c.log.Annotate(stamp, r.key(it, 0), r.key(it, orderPOS), it.long, a)
}

func (c *commit) removeAnnotation(r *request, it *item, id string) error {
	for i := range triple.Orders {
		if key := r.key(it, i); len(key) > 0 {
			c.scratch = triple.AppendAnnotationKey(c.scratch[:0], key, id)
			if err := c.batch.Delete(c.scratch, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
