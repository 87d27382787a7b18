// The part about conditions of annotations.

package storetest

import (
	"errors"
	"strconv"
	"sync"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// conditions: an annotation is set or removed only if it has the expected version.
func (c *checker) conditions() {
	tr := sample(1)[0]
	c.add(tr)
	// set sets data, or removes the annotation, and compares the outcome.
	set := func(what, data string, when store.Condition, current triple.Stamp) triple.Stamp {
		c.t.Helper()
		text := []byte(data)
		if data == "" {
			text = nil
		}
		v, err := store.AnnotateIf(c.ctx, c.s, tr, "a", text, when)
		var conflict *store.ConflictError
		switch {
		case current == (triple.Stamp{Epoch: 1<<64 - 1}):
			c.must(what, err)
			if (v == triple.Stamp{}) != (text == nil) {
				c.errorf("%s: version %v", what, v)
			}
		case !errors.As(err, &conflict) || conflict.Current != current:
			c.errorf("%s: %v, want a conflict with %v", what, err, current)
		}
		return v
	}
	done, none := triple.Stamp{Epoch: 1<<64 - 1}, triple.Stamp{}
	// 1. Nothing is there yet.
	set("a version of nothing", "x", store.Condition{Version: triple.Stamp{Epoch: 1, Sequence: 1}}, none)
	first := set("create", "1", store.Condition{Absent: true}, done)
	set("create again", "2", store.Condition{Absent: true}, first)
	// 2. Each write has a new version, also of the same data.
	second := set("replace", "1", store.Condition{Version: first}, done)
	set("replace an old version", "3", store.Condition{Version: first}, second)
	if second == first || !first.Less(second) {
		c.errorf("version %v follows %v", second, first)
	}
	if got := c.listAnnotations(tr); len(got) != 1 || got[0] != "a=1" {
		c.errorf("annotations %q", got)
	}
	// 3. Removed, and gone with the triple.
	set("remove an old version", "", store.Condition{Version: first}, second)
	set("remove", "", store.Condition{Version: second}, done)
	set("remove again", "", store.Condition{Version: second}, none)
	third := set("create after the removal", "4", store.Condition{Absent: true}, done)
	if _, err := store.Delete(c.ctx, c.s, []triple.Triple{tr}); err != nil {
		c.must("delete", err)
	}
	_, err := store.AnnotateIf(c.ctx, c.s, tr, "a", []byte("x"), store.Condition{Version: third})
	c.fails("annotate a deleted triple", err, store.ErrNotFound)
	c.add(tr)
	set("a version of the triple before", "x", store.Condition{Version: third}, none)
	set("create on the new triple", "5", store.Condition{Absent: true}, done)
	// 4. Conditions that contradict themselves.
	_, err = store.AnnotateIf(c.ctx, c.s, tr, "a", nil, store.Condition{Absent: true, Version: third})
	c.fails("a version and absent", err, store.ErrInvalid)
	// 5. With a key, a change that is sent again is not made again.
	ctx := store.WithRequestKey(c.ctx, "key", true)
	v, err := store.AnnotateIf(ctx, c.s, tr, "keyed", []byte("1"), store.Condition{Absent: true})
	c.must("annotate with a key", err)
	if _, err = store.AnnotateIf(c.ctx, c.s, tr, "keyed", []byte("2"), store.Condition{Version: v}); err != nil {
		c.must("annotate", err)
	}
	_, err = store.AnnotateIf(store.WithRequestKey(c.ctx, "key", false), c.s, tr, "keyed", []byte("1"), store.Condition{Absent: true})
	c.must("annotate again with the key", err)
	if got := c.listAnnotations(tr); len(got) != 2 || got[1] != "keyed=2" {
		c.errorf("annotations %q: the retry was done again", got)
	}
}

// counters: many writers increment one annotation by comparing, and none of the increments is lost.
func (c *checker) counters() {
	const writers, increments = 4, 10
	tr := sample(1)[0]
	c.add(tr)
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range increments {
				if err := c.increment(tr); err != nil {
					c.errorf("increment: %v", err)
					return
				}
			}
		})
	}
	running.Wait()
	if got := c.listAnnotations(tr); len(got) != 1 || got[0] != "n="+strconv.Itoa(writers*increments) {
		c.errorf("the counter is %q after %d increments", got, writers*increments)
	}
}

// increment adds 1 to an annotation.
func (c *checker) increment(t triple.Triple) error {
	for {
		r, err := c.s.Reader()
		if err != nil {
			return err
		}
		a, err := r.Annotation(c.ctx, t, "n")
		r.Close()
		if err != nil {
			return err
		}
		when, n := store.Condition{Absent: true}, 0
		if a != nil {
			when = store.Condition{Version: a.Version}
			if n, err = strconv.Atoi(string(a.Data)); err != nil {
				return err
			}
		}
		_, err = store.AnnotateIf(c.ctx, c.s, t, "n", []byte(strconv.Itoa(n+1)), when)
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}
