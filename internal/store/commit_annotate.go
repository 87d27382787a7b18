// Annotations in a commit.

package store

import (
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// readAnnotationIDs reads the IDs of a triple's annotations as of the start of this commit, once.
func (c *commit) readAnnotationIDs(r *request, it *item, state *tripleState) error {
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
		state.annotationIDs = append(state.annotationIDs, string(row.id))
	}
	return nil
}

func (c *commit) annotate(r *request, it *item, state *tripleState, stamp triple.Stamp) error {
	// 1. Learn the IDs of the triple's annotations, because the counters depend on them.
	if err := c.readAnnotationIDs(r, it, state); err != nil {
		return err
	}
	at := slices.Index(state.annotationIDs, r.applicationID)
	if r.data == nil {
		if at < 0 {
			return nil
		}
		state.annotationIDs = slices.Delete(state.annotationIDs, at, at+1)
		c.counted.Annotations--
		return c.removeAnnotation(r, it, r.applicationID)
	}
	if at < 0 {
		state.annotationIDs = append(state.annotationIDs, r.applicationID)
		c.counted.Annotations++
	}
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
	return nil
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
