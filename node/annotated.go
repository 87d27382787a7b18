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
// called by several goroutines. The first error ends it: some are set then, and all
// may be set again.
func AnnotateAll(ctx context.Context, all []Annotated, annotate func(ctx context.Context, t triple.Triple, applicationID string, data []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	slots := make(chan struct{}, annotateAtOnce)
	for _, t := range all {
		for _, a := range t.Annotations {
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
