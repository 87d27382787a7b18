// Commits that the feed delivers in parts.

package linkgraph

import (
	"context"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/keep"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/triple"
)

// TestLargeCommits: what the intake of the feed gives to the keeper ends between commits, so the keeper's position is
// never inside of one, although a commit is larger than the keeper takes at a time.
func TestLargeCommits(t *testing.T) {
	w := newWorld(t, machine.Options{})
	page := func(i int) triple.Term { return triple.NewIRI(fmt.Sprintf("http://example.org/o%d", i)) }
	feedtest.Follower(t, w.store, page, func(s *feedtest.Source) feedtest.Consumer {
		g := newGraph(machine.NewMachine(tapped{w.graph.Node, s}, w.graph.Options))
		g.Options.Predicate = feedtest.Predicate
		set := map[string]bool{}
		at, err := s.Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		apply := func(ctx context.Context, taken *keep.Taken) error {
			// 1. A cleared graph makes the keeper read the rows.
			if taken.Void {
				clear(set)
				all, err := feedtest.Stored(ctx, w.store)
				for _, one := range all {
					set[one.Object.Value()] = true
				}
				at = taken.At
				return err
			}
			// 2. Applying a change again is harmless.
			for _, c := range taken.Changes {
				if delete(set, taken.URLs[c.Dst]); c.Kind == feed.Add {
					set[taken.URLs[c.Dst]] = true
				}
			}
			at = taken.At
			return nil
		}
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error {
				end, err := s.Position(ctx)
				if err != nil {
					return err
				}
				ctx, cancel := context.WithCancel(ctx)
				defer g.Running.Wait()
				defer cancel()
				in := g.keeper.StartIntake(ctx, at)
				for !at.Reaches(end) {
					<-in.More
					taken, err := in.Take()
					if taken != nil {
						err = apply(ctx, taken)
					}
					if err != nil {
						return err
					}
				}
				return nil
			},
			Objects: func(context.Context) (list []triple.Term, err error) {
				for url := range set {
					list = append(list, triple.NewIRI(url))
				}
				return list, nil
			},
		}
	})
}

// tapped is a node whose feed a test watches.
type tapped struct {
	derived.Node
	feed feed.Source
}

func (n tapped) Feed() feed.Source { return n.feed }
