// The arguments of a call: other triples, as the pending effects leave them.

package functions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// MaxArguments is the number of argument triples of a call.
const MaxArguments = 1000

// errTooMany is a fault of the registration.
var errTooMany = errors.New("the argument patterns match too much")

// overlay is net effects that are not in the store yet: the last effect on each triple and on each
// annotation.
type overlay struct {
	triples     map[string]*pending // by key in SPO
	annotations map[string]*pending // by key in SPO and application
	order       []*pending          // in the order of their first effect
	adds        []*pending          // those that add a triple, in the order of that
	bytes       int
}

// pending is one net effect. A dropped one was an annotation of a triple that is deleted later.
type pending struct {
	Operation
	triple  triple.Triple
	dropped bool
}

func newOverlay() *overlay {
	return &overlay{triples: map[string]*pending{}, annotations: map[string]*pending{}}
}

// add adds an effect with the depth of its call.
func (o *overlay) add(e *sandbox.Effect, depth uint8) {
	key, _ := triple.AppendKey(nil, triple.SPO, e.Triple)
	into := o.triples
	if e.Kind == feed.Annotate {
		into = o.annotations
		key = triple.AppendAnnotationKey(nil, key, e.Annotation.ApplicationID)
	}
	p := into[string(key)]
	if p == nil {
		p = &pending{triple: e.Triple}
		p.Triple = textOf(e.Triple)
		into[string(key)] = p
		o.order = append(o.order, p)
		o.bytes += len(p.Triple) + 64
	}
	// Calls look for added triples, so these are at hand. A counter replaces its triple in each call.
	switch {
	case e.Kind == feed.Add && p.Kind != feed.Add:
		o.adds = append(o.adds, p)
	case e.Kind == feed.Delete && p.Kind == feed.Add:
		o.adds = slices.DeleteFunc(o.adds, func(a *pending) bool { return a == p })
	}
	p.Kind, p.Depth, p.dropped = e.Kind, max(p.Depth, depth), false
	if a := e.Annotation; a != nil {
		o.bytes += len(a.Data)*4/3 + len(a.ApplicationID)
		p.Application, p.Removed, p.Data = a.ApplicationID, a.Removed, a.Data
	}
	if e.Kind == feed.Delete {
		// The delete takes the annotations with it. They are few, so all are compared.
		for _, a := range o.annotations {
			a.dropped = a.dropped || a.triple == e.Triple
		}
	}
}

// operations returns the effects for an intent.
func (o *overlay) operations() []Operation {
	all := make([]Operation, 0, len(o.order))
	for _, p := range o.order {
		if !p.dropped {
			all = append(all, p.Operation)
		}
	}
	return all
}

// readArguments returns the argument triples of a function for a changed triple. What cannot fit into
// the memory of a call is not read. lookups has one entry for each argument of the function. pending
// may be nil.
func (s *Service) readArguments(ctx context.Context, f *function, r store.Matcher, lookups []lookup, t triple.Triple, pending *overlay) (all []sandbox.Argument, err error) {
	size := 0
	take := func(key []byte, t triple.Triple) error {
		if len(all) == MaxArguments {
			return fmt.Errorf("%w: more than %d triples", errTooMany, MaxArguments)
		}
		if size += len(t.Subject.Value()) + len(t.Predicate.Value()) + len(t.Object.Value()) + len(t.Graph.Value()); size > f.MemoryBytes {
			return fmt.Errorf("%w: their terms have more than the %d bytes of memory of a call", errTooMany, f.MemoryBytes)
		}
		all = append(all, sandbox.Argument{Triple: t, Location: s.locate(key)})
		return nil
	}
	for i := range f.arguments {
		p, ok := f.arguments[i].bind(t)
		if !ok {
			continue
		}
		// 1. The triples of the store, without those that a pending effect deletes or adds.
		for row, err := range lookups[i].read(ctx, r, p) {
			if err != nil {
				return nil, err
			}
			if pending != nil && pending.triples[string(row.key)] != nil {
				continue
			}
			if err := take(row.key, row.Triple); err != nil {
				return nil, err
			}
		}
		if pending == nil {
			continue
		}
		// 2. Those that pending effects add.
		for _, e := range pending.adds {
			if p.Match(e.triple) {
				key, _ := triple.AppendKey(nil, triple.SPO, e.triple)
				if err := take(key, e.triple); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}
