// The store as clients see it: its changes are checked, and the system graph is protected.

package functions

import (
	"context"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// Checked returns the store of s as clients see it: each change runs the checks first. A check sees
// the store before the change. Two changes at the same time do not see each other. A change of the
// system graph is [systemgraph.ErrProtected], unless its context is of an operator.
func (s *Service) Checked() store.Triples { return &checkedStore{s.store, s} }

type checkedStore struct {
	store.Triples
	service *Service
}

// checking returns the checks of a change of ctx. It must be closed.
func (c *checkedStore) checking(ctx context.Context) (*checking, error) {
	checks, err := c.service.current(ctx)
	if checks == nil {
		checks = noChecks
	}
	return &checking{Service: c.service, ctx: ctx, checks: checks}, err
}

// with calls check with the checks of a change.
func (c *checkedStore) with(ctx context.Context, check func(k *checking) error) error {
	k, err := c.checking(ctx)
	if err != nil {
		return err
	}
	defer k.close()
	return check(k)
}

func (c *checkedStore) Add(ctx context.Context, triples []triple.Triple) (store.AddResult, error) {
	err := c.with(ctx, func(k *checking) error { return k.list(feed.Add, triples) })
	if err != nil {
		return store.AddResult{}, err
	}
	return c.Triples.Add(ctx, triples)
}

func (c *checkedStore) Delete(ctx context.Context, triples []triple.Triple) (store.DeleteResult, error) {
	err := c.with(ctx, func(k *checking) error { return k.list(feed.Delete, triples) })
	if err != nil {
		return store.DeleteResult{}, err
	}
	return c.Triples.Delete(ctx, triples)
}

func (k *checking) list(kind feed.Kind, triples []triple.Triple) error {
	for i := range triples {
		if err := k.triple(kind, triples[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// DeleteMatch leaves the system graph as it is, unless the pattern names it.
func (c *checkedStore) DeleteMatch(ctx context.Context, p triple.Pattern) (store.DeleteResult, error) {
	if err := c.with(ctx, func(k *checking) error { return k.pattern(p) }); err != nil {
		return store.DeleteResult{}, err
	}
	if p.Graph != systemgraph.Graph {
		ctx = store.WithKept(ctx, systemgraph.Graph)
	}
	return c.Triples.DeleteMatch(ctx, p)
}

func (c *checkedStore) Annotate(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	if err := c.annotation(ctx, t, applicationID, data); err != nil {
		return err
	}
	return c.Triples.Annotate(ctx, t, applicationID, data)
}

func (c *checkedStore) AnnotateIf(ctx context.Context, t triple.Triple, applicationID string, data []byte, when store.Condition) (triple.Stamp, error) {
	if err := c.annotation(ctx, t, applicationID, data); err != nil {
		return triple.Stamp{}, err
	}
	return c.Triples.AnnotateIf(ctx, t, applicationID, data, when)
}

func (c *checkedStore) annotation(ctx context.Context, t triple.Triple, applicationID string, data []byte) error {
	return c.with(ctx, func(k *checking) error {
		return k.triple(feed.Annotate, t, &feed.Annotation{ApplicationID: applicationID, Removed: data == nil, Data: data})
	})
}

func (c *checkedStore) Apply(ctx context.Context, changes store.Changes) (store.ApplyResult, error) {
	k, err := c.checking(ctx)
	if err != nil {
		return store.ApplyResult{}, err
	}
	defer k.close()
	if err := k.changes(&changes); err != nil {
		return store.ApplyResult{}, err
	}
	return c.Triples.Apply(ctx, changes)
}

func (c *checkedStore) Update(ctx context.Context, f func(store.Reader) (store.Changes, error)) (store.ApplyResult, error) {
	k, err := c.checking(ctx)
	if err != nil {
		return store.ApplyResult{}, err
	}
	return c.Triples.Update(ctx, func(r store.Reader) (store.Changes, error) {
		changes, err := f(r)
		if err == nil {
			k.reader = r // the store closes it
			err = k.changes(&changes)
		}
		return changes, err
	})
}

// changes checks the clears of a change, and lets the store check its triples as it reads them: if
// one is rejected, the store finds the error when it has read the rest, and changes nothing.
func (k *checking) changes(changes *store.Changes) error {
	// 1. The triples of cleared graphs. ClearAll deletes those of the system graph, too.
	var cleared []triple.Pattern
	if changes.ClearAll {
		if err := k.noneProtected(); err != nil {
			return err
		}
		cleared = append(cleared, triple.Pattern{})
	} else {
		if changes.ClearDefault {
			cleared = append(cleared, triple.Pattern{DefaultGraph: true})
		}
		for _, g := range changes.ClearGraphs {
			cleared = append(cleared, triple.Pattern{Graph: g})
		}
	}
	for _, p := range cleared {
		if err := k.pattern(p); err != nil {
			return err
		}
	}
	// 2. The triples to delete and to add.
	var failed, failedAdd error
	changes.Delete = k.each(feed.Delete, changes.Delete, &failed)
	changes.Add = k.each(feed.Add, changes.Add, &failedAdd)
	before := changes.Err
	changes.Err = func() error {
		switch {
		case failed != nil:
			return failed
		case failedAdd != nil:
			return failedAdd
		case before != nil:
			return before()
		}
		return nil
	}
	return nil
}

// Sink refuses bulk loads while there are checks, unless [WithUnchecked] allows them.
func (c *checkedStore) Sink() rdfload.Sink { return checkedSink{c.Triples.Sink(), c.service} }

type checkedSink struct {
	rdfload.Sink
	service *Service
}

func (c checkedSink) Begin(ctx context.Context, id string) (rdfload.Start, error) {
	if err := c.refuse(ctx); err != nil {
		return rdfload.Start{}, err
	}
	return c.Sink.Begin(ctx, id)
}

// Publish refuses a load if a check was registered after its begin.
func (c checkedSink) Publish(ctx context.Context, record rdfload.Record, tables []string) error {
	if err := c.refuse(ctx); err != nil {
		return err
	}
	return c.Sink.Publish(ctx, record, tables)
}

// refuse returns an error if there is a check for adds.
func (c checkedSink) refuse(ctx context.Context) error {
	checks, err := c.service.current(ctx)
	if unchecked, _ := ctx.Value(uncheckedKey{}).(bool); err != nil || checks == nil || unchecked {
		return err
	}
	if adds := checks.byKind[feed.Add]; len(adds) > 0 {
		return &RejectedError{Function: adds[0].Name, Change: "bulk load",
			Reason: "bulk loads are not checked; add the triples by POST /triples, or send unchecked=true (load --unchecked)"}
	}
	return nil
}

type uncheckedKey struct{}

// WithUnchecked returns a context for a bulk load that is made although there are checks.
func WithUnchecked(ctx context.Context) context.Context {
	return context.WithValue(ctx, uncheckedKey{}, true)
}
