// The graphs that a request changes, for the audit log.

package graphrights

import (
	"context"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// Touched collects the names of the graphs that a request changes or would have changed, if its rights had permitted
// it. It is safe for concurrent use.
type Touched struct {
	mu    sync.Mutex
	last  triple.Term
	names []string
}

// maxTouched bounds the names.
const maxTouched = 32

// Names of graphs that are no IRIs.
const (
	defaultGraph = "default"
	allGraphs    = "all"
	moreGraphs   = "..." // there are more than maxTouched
)

// Names returns the names in the order of the change: IRIs, "default", "all", and at the end "..." if there are more
// than 32.
func (t *Touched) Names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.names)
}

func (t *Touched) add(graph triple.Term) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if graph == t.last && len(t.names) > 0 { // neighbours are often of one graph
		return
	}
	t.last = graph
	name := defaultGraph
	if !graph.IsZero() {
		name = graph.Value()
	}
	t.addName(name)
}

func (t *Touched) addAll() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.addName(allGraphs)
	}
}

func (t *Touched) addName(name string) {
	switch {
	case slices.Contains(t.names, name), len(t.names) > maxTouched:
	case len(t.names) == maxTouched:
		t.names = append(t.names, moreGraphs)
	default:
		t.names = append(t.names, name)
	}
}

type touchedKey struct{}

// Record returns a context whose changes are collected in t.
func Record(ctx context.Context, t *Touched) context.Context {
	return context.WithValue(ctx, touchedKey{}, t)
}

// Touch adds a graph that the request of ctx changes by other means than a store of [Guard].
func Touch(ctx context.Context, graph triple.Term) { touchedOf(ctx).add(graph) }

func touchedOf(ctx context.Context) *Touched {
	t, _ := ctx.Value(touchedKey{}).(*Touched)
	return t
}

// change checks and collects the graphs of a change.
type change struct {
	rights  *Rights
	touched *Touched
}

func changeOf(ctx context.Context) change { return change{FromContext(ctx), touchedOf(ctx)} }

// isFree reports whether the graphs do not matter.
func (c change) isFree() bool { return c.rights == nil && c.touched == nil }

// check returns an error if a graph may not be written.
func (c change) check(graph triple.Term) error {
	c.touched.add(graph)
	return c.rights.check(graph)
}

// checkAll returns an error if not all graphs may be written.
func (c change) checkAll() error {
	c.touched.addAll()
	if c.rights != nil {
		return errAllGraphs
	}
	return nil
}
