// A machine that joins a cluster: no request waits for the end of that.

package linkgraph

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
)

// joiner is the node of a machine that joins.
type joiner struct{ *talker }

var errJoins = fmt.Errorf("%w: it joins", store.ErrUnavailable)

func (joiner) View() *view.View { return nil }

func (joiner) Newer(context.Context, *view.View) error { return errJoins }

func (joiner) ReadPosition(context.Context) (p feed.Position, err error) { return p, errJoins }

func (joiner) Reader() (store.Reader, error) { return nil, errJoins }

// TestJoining: requests that go to several machines end at once with the reason, in virtual time. None is
// answered as by a lone node.
func TestJoining(t *testing.T) {
	for name, request := range map[string]func(ctx context.Context, g *Graph) error{
		"stats":          func(ctx context.Context, g *Graph) error { _, err := g.Stats(ctx); return err },
		"epoch":          func(ctx context.Context, g *Graph) error { _, err := g.CurrentEpoch(ctx, 0); return err },
		"stores":         func(ctx context.Context, g *Graph) error { _, err := g.Stores(ctx); return err },
		"relinquish":     func(ctx context.Context, g *Graph) error { return g.Relinquish(ctx, links.URLStore) },
		"pagerank":       func(ctx context.Context, g *Graph) error { _, err := g.PageRank(ctx); return err },
		"start pagerank": func(ctx context.Context, g *Graph) error { return g.StartPageRank(ctx, links.PageRankOptions{}) },
		"stop pagerank":  func(ctx context.Context, g *Graph) error { return g.StopPageRank(ctx) },
		"uids":           func(ctx context.Context, g *Graph) error { _, err := g.UIDs(ctx, []string{"http://x/"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, n := newTalker(t)
				g.Node = joiner{n}
				began := time.Now()
				if err := request(t.Context(), g); !errors.Is(err, errJoins) || time.Since(began) > 0 {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
			})
		})
	}
}
