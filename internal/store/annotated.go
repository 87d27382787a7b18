// Annotating many triples.

package store

import (
	"context"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

// Annotated is a triple with the annotations to set.
type Annotated struct {
	Triple      triple.Triple
	Annotations []Annotation
}

// annotateAtOnce is the number of annotations in progress at a time. The waiting ones share a
// commit.
const annotateAtOnce = 256

// AnnotateAll sets annotations as [Annotate] does, many at a time. If an application has several
// annotations on one triple, the last one is set.
// The first error ends the call; some are set then. The call may be repeated.
func AnnotateAll(ctx context.Context, to Writer, all []Annotated) error {
	// 1. Find the last annotation of each triple and application, because they are set in any
	// order.
	type position struct{ triple, annotation int }
	type name struct {
		triple        triple.Triple
		applicationID string
	}
	last := make(map[name]position, len(all))
	for i, t := range all {
		for j, a := range t.Annotations {
			last[name{t.Triple, a.ApplicationID}] = position{i, j}
		}
	}
	// 2. Set these. The channel limits the annotations in progress.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	inProgress := make(chan struct{}, annotateAtOnce)
	for i, t := range all {
		for j, a := range t.Annotations {
			if last[name{t.Triple, a.ApplicationID}] != (position{i, j}) {
				continue
			}
			data := a.Data
			if data == nil {
				data = []byte{} // nil would remove it
			}
			inProgress <- struct{}{}
			running.Go(func() {
				defer func() { <-inProgress }()
				if ctx.Err() != nil {
					return
				}
				if err := Annotate(ctx, to, t.Triple, a.ApplicationID, data); err != nil {
					cancel(err)
				}
			})
		}
	}
	running.Wait()
	return context.Cause(ctx)
}
