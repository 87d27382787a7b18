// Annotating many triples.

package node

import (
	"context"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// Annotated is a triple and what is to be annotated on it.
type Annotated struct {
	Triple      triple.Triple
	Annotations []Annotation
}

// annotateAtOnce is how many annotations are on their way at a time: those that wait
// share a commit.
const annotateAtOnce = 256

// AnnotateAll sets annotations by annotate, which is [Store.Annotate] or the like and is
// called by several goroutines. Of several annotations of one application on one triple the
// last one is set. The first error ends it: some are set then, and all may be set again.
func AnnotateAll(ctx context.Context, all []Annotated, annotate func(ctx context.Context, t triple.Triple, applicationID string, data []byte) error) error {
	// 1. Which one is the last of its triple and application, because they are set in no order.
	type place struct{ triple, annotation int }
	type name struct {
		triple        triple.Triple
		applicationID string
	}
	last := make(map[name]place, len(all))
	for i, t := range all {
		for j, a := range t.Annotations {
			last[name{t.Triple, a.ApplicationID}] = place{i, j}
		}
	}
	// 2. Set those.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	slots := make(chan struct{}, annotateAtOnce)
	for i, t := range all {
		for j, a := range t.Annotations {
			if last[name{t.Triple, a.ApplicationID}] != (place{i, j}) {
				continue
			}
			data := a.Data
			if data == nil {
				data = []byte{} // nil would remove it
			}
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				if ctx.Err() != nil {
					return
				}
				if err := annotate(ctx, t.Triple, a.ApplicationID, data); err != nil {
					cancel(err)
				}
			})
		}
	}
	running.Wait()
	return context.Cause(ctx)
}
