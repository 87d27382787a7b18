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

// Write implements [store.Writer].
func (c *checkedStore) Write(ctx context.Context, change store.Change) (store.Result, error) {
	if change.Kind == store.KindClaim {
		return c.Triples.Write(ctx, change)
	}
	k, err := c.checking(ctx)
	if err != nil {
		return store.Result{}, err
	}
	err = k.change(&change)
	switch change.Kind {
	case store.KindApply:
		defer k.close() // because the store checks the triples as it reads them
	case store.KindUpdate: // the store closes its reader
	default:
		k.close()
	}
	if err != nil {
		return store.Result{}, err
	}
	return c.Triples.Write(ctx, change)
}

// change checks a change. Those of an update are checked when they are known.
func (k *checking) change(c *store.Change) error {
	switch c.Kind {
	case store.KindAdd:
		return k.list(feed.Add, c.Triples)
	case store.KindDelete:
		return k.list(feed.Delete, c.Triples)
	case store.KindDeleteMatch:
		// A delete from all graphs leaves the system graph as it is.
		if c.Pattern.Graph != systemgraph.Graph {
			c.Keep = systemgraph.Graph
		}
		return k.pattern(c.Pattern)
	case store.KindAnnotate:
		a := c.Annotation
		return k.triple(feed.Annotate, c.Triples[0], &feed.Annotation{ApplicationID: a.ApplicationID, Removed: a.Data == nil, Data: a.Data})
	case store.KindApply:
		return k.steps(&c.Steps)
	case store.KindUpdate:
		update := c.Update
		c.Update = func(r store.Reader) (store.Steps, error) {
			steps, err := update(r)
			if err == nil {
				k.reader = r
				err = k.steps(&steps)
			}
			return steps, err
		}
	}
	return nil
}

func (k *checking) list(kind feed.Kind, triples []triple.Triple) error {
	for i := range triples {
		if err := k.triple(kind, triples[i], nil); err != nil {
			return err
		}
	}
	return nil
}

// steps checks the clears of a change, and lets the store check its triples as it reads them: if
// one is rejected, the store finds the error when it has read the rest, and changes nothing.
func (k *checking) steps(steps *store.Steps) error {
	// 1. The triples of cleared graphs. ClearAll deletes those of the system graph, too.
	var cleared []triple.Pattern
	if steps.ClearAll {
		if err := k.noneProtected(); err != nil {
			return err
		}
		cleared = append(cleared, triple.Pattern{})
	} else {
		if steps.ClearDefault {
			cleared = append(cleared, triple.Pattern{DefaultGraph: true})
		}
		for _, g := range steps.ClearGraphs {
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
	steps.Delete = k.each(feed.Delete, steps.Delete, &failed)
	steps.Add = k.each(feed.Add, steps.Add, &failedAdd)
	before := steps.Err
	steps.Err = func() error {
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
