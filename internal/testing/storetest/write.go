// The parts about writes: adds, deletes, changes, updates, claims, upkeep.

package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// writes: what Add, Delete and DeleteMatch count and leave.
func (c *checker) writes() {
	all := sample(400)
	a, named := all[0], all[0]
	named.Graph = iri("g0")
	// 1. Of equal triples in one list, one is added.
	for _, step := range []struct {
		add  []triple.Triple
		want store.Result
	}{
		{[]triple.Triple{a, all[1], a, named}, store.Result{Added: 3, Existing: 1}},
		{[]triple.Triple{a, named}, store.Result{Existing: 2}},
		{nil, store.Result{}},
	} {
		if r, err := store.Add(c.ctx, c.s, step.add); err != nil || r != step.want {
			c.errorf("add %v: %+v, %v, want %+v", step.add, r, err, step.want)
		}
	}
	c.holds("added", a, all[1], named)
	// 2. A delete without a graph is of the default graph.
	r, err := store.Delete(c.ctx, c.s, []triple.Triple{a, a, all[2]})
	if err != nil || r != (store.Result{Deleted: 1, Missing: 2}) {
		c.errorf("delete: %+v, %v", r, err)
	}
	c.holds("deleted", all[1], named)
	// 3. DeleteMatch deletes what matches, and reports an empty result if nothing does.
	for _, want := range []int64{1, 0} {
		if r, err := store.DeleteMatch(c.ctx, c.s, triple.Pattern{Graph: named.Graph}); err != nil || r != (store.Result{Deleted: want}) {
			c.errorf("delete a graph: %+v, %v, want %d", r, err, want)
		}
	}
	c.holds("the graph deleted", all[1])
	if r, err := store.Add(c.ctx, c.s, all); err != nil || r != (store.Result{Added: 399, Existing: 1}) {
		c.errorf("add all: %+v, %v", r, err)
	}
	if r, err := store.DeleteMatch(c.ctx, c.s, triple.Pattern{}); err != nil || r.Deleted != 400 {
		c.errorf("delete all: %+v, %v", r, err)
	}
	c.holds("all deleted")
}

// invalid: a call with an invalid argument changes nothing, and names the argument.
func (c *checker) invalid() {
	good, bad := sample(1)[0], triple.Triple{Subject: triple.NewString("x"), Predicate: iri("p"), Object: iri("o")}
	_, add := store.Add(c.ctx, c.s, []triple.Triple{good, bad})
	_, del := store.Delete(c.ctx, c.s, []triple.Triple{good, bad})
	_, apply := store.Apply(c.ctx, c.s, store.Steps{Add: slices.Values([]triple.Triple{good, bad})})
	for what, err := range map[string]error{"add": add, "delete": del, "apply": apply, "annotate": store.Annotate(c.ctx, c.s, bad, "a", nil)} {
		c.fails(what, err, triple.ErrBadTerm)
	}
	for what, err := range map[string]error{"add": add, "delete": del} {
		if err != nil && !strings.Contains(err.Error(), "triple 1:") {
			c.errorf("%s does not name the triple: %v", what, err)
		}
	}
	for _, id := range []string{"", strings.Repeat("x", 256)} {
		c.fails(fmt.Sprintf("an application ID of %d bytes", len(id)), store.Annotate(c.ctx, c.s, good, id, nil), store.ErrInvalid)
	}
	c.fails("a large annotation", store.Annotate(c.ctx, c.s, good, "a", make([]byte, store.MaxAnnotationBytes+1)), store.ErrInvalid)
	r := c.reader()
	defer r.Close()
	_, err := rows(r.Match(c.ctx, triple.Pattern{}, store.ReadOptions{Limit: -1}))
	c.fails("a negative limit", err, store.ErrInvalid)
	_, err = rows(r.Match(c.ctx, triple.Pattern{}, store.ReadOptions{Offset: -1}))
	c.fails("a negative offset", err, store.ErrInvalid)
	_, err = rows(r.Range(c.ctx, triple.Bounds{}, store.ReadOptions{}))
	c.fails("bounds without an order", err, triple.ErrBadBounds)
	c.holds("nothing")
}

// changes: Apply clears, then deletes, then adds.
func (c *checker) changes() {
	all := sample(40)
	inGraph := func(g triple.Term) func(triple.Triple) bool {
		return func(t triple.Triple) bool { return t.Graph == g }
	}
	left := slices.Clone(all)
	c.add(all...)
	apply := func(what string, changes store.Steps, want store.Result, now ...triple.Triple) {
		c.t.Helper()
		if r, err := store.Apply(c.ctx, c.s, changes); err != nil || r != want {
			c.errorf("%s: %+v, %v, want %+v", what, r, err, want)
		}
		c.holds(what, now...)
	}
	apply("nothing", store.Steps{}, store.Result{}, left...)
	// Deletes come before adds: a triple in both is stored afterwards.
	apply("delete and add one", store.Steps{Delete: slices.Values(all[:2]), Add: slices.Values(all[:1])}, store.Result{Added: 1, Deleted: 2}, slices.Concat(all[:1], all[2:])...)
	left = slices.Concat(all[:1], all[2:])
	// Clearing a missing graph is no error.
	graphs := len(left)
	left = slices.DeleteFunc(left, inGraph(iri("g1")))
	apply("clear a graph and one that is missing", store.Steps{ClearGraphs: []triple.Term{iri("g1"), iri("missing")}}, store.Result{Deleted: int64(graphs - len(left))}, left...)
	// Clearing the default graph leaves named graphs alone.
	named := triple.Triple{Subject: iri("s"), Predicate: iri("p"), Object: iri("o"), Graph: iri("g9")}
	n := len(slices.DeleteFunc(slices.Clone(left), func(t triple.Triple) bool { return !t.Graph.IsZero() }))
	left = append(slices.DeleteFunc(left, inGraph(triple.Term{})), named)
	apply("clear the default graph", store.Steps{ClearDefault: true, Add: slices.Values([]triple.Triple{named})}, store.Result{Added: 1, Deleted: int64(n)}, left...)
	apply("clear all, add one", store.Steps{ClearAll: true, Delete: slices.Values([]triple.Triple{named}), Add: slices.Values([]triple.Triple{named})},
		store.Result{Added: 1, Deleted: int64(len(left))}, named)
	// Rejected changes write nothing.
	broken := errors.New("broken")
	_, err := store.Apply(c.ctx, c.s, store.Steps{ClearAll: true, Add: slices.Values(all), Err: func() error { return broken }})
	c.fails("an input with an error", err, broken)
	_, err = store.Apply(c.ctx, c.s, store.Steps{ClearAll: true, Add: slices.Values(all), MaxBytes: 100})
	c.fails("a large change", err, store.ErrTooLarge)
	c.holds("rejected", named)
}

// updates: each one sees the one before, and its error is returned unchanged.
func (c *checker) updates() {
	tally := func(n int) triple.Triple {
		return triple.Triple{Subject: iri("tally"), Predicate: iri("is"), Object: triple.NewTyped(fmt.Sprint(n), triple.XSDInteger)}
	}
	c.add(tally(0))
	// 1. Updates at the same time.
	var group sync.WaitGroup
	// Each update counts one up. If two saw the same number, the sum would be too small.
	for range 5 {
		group.Go(func() {
			for range 4 {
				r, err := store.Update(c.ctx, c.s, func(r store.Reader) (store.Steps, error) {
					list, err := rows(r.Match(c.ctx, triple.Pattern{Predicate: iri("is")}, store.ReadOptions{}))
					if err != nil || len(list) != 1 {
						return store.Steps{}, fmt.Errorf("%d rows, %w", len(list), err)
					}
					v, _ := triple.NumericValue(list[0].t.Object)
					return store.Steps{Delete: slices.Values([]triple.Triple{list[0].t}), Add: slices.Values([]triple.Triple{tally(int(v) + 1)})}, nil
				})
				if err != nil || r != (store.Result{Added: 1, Deleted: 1}) {
					c.errorf("update: %+v, %v", r, err)
				}
			}
		})
	}
	group.Wait()
	c.holds("20 updates", tally(20))
	// 2. Updates that fail.
	broken := errors.New("broken")
	if _, err := store.Update(c.ctx, c.s, func(store.Reader) (store.Steps, error) { return store.Steps{ClearAll: true}, broken }); err != broken {
		c.errorf("the error of an update: %v", err)
	}
	ended, cancel := context.WithCancel(c.ctx)
	cancel()
	if _, err := store.Update(ended, c.s, func(store.Reader) (store.Steps, error) { return store.Steps{ClearAll: true}, nil }); err == nil {
		c.errorf("an update whose context has ended is made")
	}
	c.holds("failed updates", tally(20))
}

// claims: a request without a key may always begin, one with a key once.
func (c *checker) claims() {
	c.must("claim without a key", store.Claim(c.ctx, c.s))
	c.must("claim without a key", store.Claim(c.ctx, c.s))
	keyed := store.WithRequestKey(c.ctx, "storetest", false)
	c.must("claim", store.Claim(keyed, c.s))
	c.fails("claim again", store.Claim(keyed, c.s), store.ErrBegun)
	c.must("claim another key", store.Claim(store.WithRequestKey(c.ctx, "storetest 2", false), c.s))
	_, err := store.DeleteMatch(keyed, c.s, triple.Pattern{Predicate: iri("p")})
	c.fails("a delete under a key that began", err, store.ErrBegun)
}

// upkeep: a check of a healthy store finds all rows and no problem.
func (c *checker) upkeep() {
	all := sample(100)
	c.add(all...)
	report, err := c.s.Check(c.ctx)
	if err != nil || report.Triples != 100 || len(report.Problems) > 0 || report.More > 0 {
		c.errorf("check: %+v, %v", report, err)
	}
	for _, o := range triple.Orders {
		if got, want := report.Rows[o.String()], len(expected(o, all, nil)); int(got) != want {
			c.errorf("check: %d rows in %s, want %d", got, o, want)
		}
	}
	c.must("Err", c.s.Err())
	if s := c.s.Status(); s.Lost != 0 || len(s.Members) == 0 {
		c.errorf("status: %+v", s)
	}
	registry := prometheus.NewPedanticRegistry()
	c.must("register metrics", c.s.RegisterMetrics(registry))
	families, err := registry.Gather()
	if err != nil || len(families) == 0 {
		c.errorf("%d metrics, %v", len(families), err)
	}
	if c.s.RegisterMetrics(registry) == nil {
		c.errorf("metrics are registered twice")
	}
}
