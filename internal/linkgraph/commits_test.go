// Commits that the feed delivers in parts.

package linkgraph

import (
	"context"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/triple"
)

// TestLargeCommits: what the intake of the feed gives to the keeper ends between commits, so the keeper's position is
// never inside of one, although a commit is larger than the keeper takes at a time.
func TestLargeCommits(t *testing.T) {
	w := newWorld(t, Options{})
	page := func(i int) triple.Term { return triple.NewIRI(fmt.Sprintf("http://example.org/o%d", i)) }
	feedtest.Follower(t, w.store, page, func(s *feedtest.Source) feedtest.Consumer {
		g := newGraph(newMachine(tapped{w.graph.node, s}, w.graph.o))
		g.o.Predicate = feedtest.Predicate
		set := map[string]bool{}
		at, err := s.Position(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		apply := func(ctx context.Context, taken *taken) error {
			// 1. A cleared graph makes the keeper read the rows.
			if taken.void {
				clear(set)
				all, err := feedtest.Stored(ctx, w.store)
				for _, one := range all {
					set[one.Object.Value()] = true
				}
				at = taken.at
				return err
			}
			// 2. Applying a change again is harmless.
			for _, c := range taken.changes {
				if delete(set, taken.urls[c.dst]); c.kind == feed.Add {
					set[taken.urls[c.dst]] = true
				}
			}
			at = taken.at
			return nil
		}
		return feedtest.Consumer{
			Follow: func(ctx context.Context) error {
				end, err := s.Position(ctx)
				if err != nil {
					return err
				}
				ctx, cancel := context.WithCancel(ctx)
				defer g.running.Wait()
				defer cancel()
				in := g.keeper.startIntake(ctx, at)
				for !at.Reaches(end) {
					<-in.more
					taken, err := in.take()
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
	Node
	feed feed.Source
}

func (n tapped) Feed() feed.Source { return n.feed }
