// Applying changes of the feed to a store.

package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// Target is the store that a chain is restored into.
type Target interface {
	Sink() rdfload.Sink
	store.Writer
}

// Limits of the changes that are applied together.
const (
	maxPending      = 8192
	maxPendingBytes = 4 << 20
	annotators      = 64 // annotations that are written at the same time, because they share a sync
	maxEarlyBytes   = 256 << 20
)

// pending collects changes and applies them together. Only the last change of a triple or an
// annotation counts, because each sets the whole state.
type pending struct {
	to      Target
	changed map[string]*outcome // by key in SPO
	order   []*outcome          // in order of their first change
	bytes   int
	whole   bool // nothing is applied before flush, however much it is
	// loaded is set behind a bulk load in the present archive. early then has the annotations of triples
	// that do not exist yet, by key in SPO: the row of the load may be missing because an add in a cluster
	// that changed nothing has given it another stamp. That add comes later.
	loaded     bool
	early      map[string]map[string]*feed.Annotation
	earlyBytes int
	mu         sync.Mutex // guards early while annotations are written
}

// outcome is what several changes make of one triple.
type outcome struct {
	key         string
	triple      triple.Triple
	cleared     bool // the triple was deleted, so earlier annotations are gone
	exists      bool // it is added last
	annotations map[string]*feed.Annotation
}

// outcomeOf returns the outcome for the triple of a change.
func (p *pending) outcomeOf(c *feed.Change) (*outcome, error) {
	if o := p.changed[string(c.Key)]; o != nil {
		return o, nil
	}
	t, err := c.Triple()
	if err != nil {
		return nil, fault.Backup("%w", err)
	}
	if p.changed == nil {
		p.changed = make(map[string]*outcome)
	}
	o := &outcome{key: string(c.Key), triple: t, annotations: p.takeEarly(string(c.Key))}
	p.changed[string(c.Key)] = o
	p.order = append(p.order, o)
	p.bytes += 2*len(c.Key) + len(c.Long)
	return o, nil
}

// add adds a change of a triple. It applies the changes so far if they are many.
func (p *pending) add(ctx context.Context, c *feed.Change) error {
	o, err := p.outcomeOf(c)
	if err != nil {
		return err
	}
	switch c.Kind {
	case feed.Add:
		o.exists = true
	case feed.Delete:
		*o = outcome{key: o.key, triple: o.triple, cleared: true}
	case feed.Annotate:
		if o.annotations == nil {
			o.annotations = make(map[string]*feed.Annotation)
		}
		a := *c.Annotation
		a.Data = append([]byte{}, a.Data...) // never nil, because nil would remove it
		o.annotations[a.ApplicationID] = &a
		p.bytes += len(a.ApplicationID) + len(a.Data)
	}
	if p.whole || len(p.order) < maxPending && p.bytes < maxPendingBytes {
		return nil
	}
	return p.flush(ctx)
}

// flush applies the changes: deletes, then adds, then annotations.
func (p *pending) flush(ctx context.Context) error {
	if len(p.order) == 0 {
		return nil
	}
	var deletes, adds []triple.Triple
	for _, o := range p.order {
		if o.cleared {
			deletes = append(deletes, o.triple)
		}
		if o.exists {
			adds = append(adds, o.triple)
		}
	}
	// A triple that was deleted and added again loses its annotations.
	if len(deletes) > 0 {
		if _, err := store.Delete(ctx, p.to, deletes); err != nil {
			return err
		}
	}
	if len(adds) > 0 {
		if _, err := store.Add(ctx, p.to, adds); err != nil {
			return err
		}
	}
	err := p.annotate(ctx)
	p.forget()
	return err
}

// annotate writes the annotations.
func (p *pending) annotate(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	slots := make(chan struct{}, annotators)
	// 1. Begin all writes. A slot frees when one ends.
	for _, o := range p.order {
		for _, a := range o.annotations {
			data := a.Data
			if a.Removed {
				data = nil
			}
			slots <- struct{}{}
			wait.Go(func() {
				defer func() { <-slots }()
				err := store.Annotate(ctx, p.to, o.triple, a.ApplicationID, data)
				// The triple may be gone, because a row was read after the change. Or it comes later.
				if errors.Is(err, store.ErrNotFound) {
					err = p.keepEarly(o.key, a)
				}
				if err != nil {
					cancel(err)
				}
			})
		}
		if ctx.Err() != nil {
			break
		}
	}
	// 2. Wait for them.
	wait.Wait()
	return context.Cause(ctx)
}

// begin begins an archive.
func (p *pending) begin() { p.loaded, p.early, p.earlyBytes = false, nil, 0 }

// keepEarly keeps an annotation of a triple that does not exist, if a later change may add it.
func (p *pending) keepEarly(key string, a *feed.Annotation) error {
	if !p.loaded {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.earlyBytes += earlySize(key, a); p.earlyBytes > maxEarlyBytes {
		return fmt.Errorf("annotations of triples of a bulk load that do not exist yet take more than %d bytes: restore from a full backup that was taken after the load", maxEarlyBytes)
	}
	if p.early == nil {
		p.early = make(map[string]map[string]*feed.Annotation)
	}
	if p.early[key] == nil {
		p.early[key] = make(map[string]*feed.Annotation)
	}
	p.early[key][a.ApplicationID] = a
	return nil
}

// takeEarly returns the early annotations of a triple, and drops them.
func (p *pending) takeEarly(key string) map[string]*feed.Annotation {
	all := p.early[key]
	for _, a := range all {
		p.earlyBytes -= earlySize(key, a)
	}
	delete(p.early, key)
	return all
}

func earlySize(key string, a *feed.Annotation) int {
	return len(key) + len(a.ApplicationID) + len(a.Data)
}

// forget drops the changes so far, because a Clear removes what they made.
func (p *pending) forget() {
	clear(p.changed)
	clear(p.order)
	p.order, p.bytes = p.order[:0], 0
}

// clearGraphs applies the changes so far, and then a Clear.
func (p *pending) clearGraphs(ctx context.Context, c *feed.ClearInfo) error {
	if err := p.flush(ctx); err != nil {
		return err
	}
	// A cleared triple takes its annotations along, and the row of a load that was cleared is missing. Only
	// a lone store clears, and it gives no row of a load another stamp.
	p.early, p.earlyBytes = nil, 0
	_, err := store.Apply(ctx, p.to, store.Steps{ClearAll: c.All, ClearDefault: c.Default, ClearGraphs: slices.Clone(c.Graphs)})
	return err
}
