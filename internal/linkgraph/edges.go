// Edges: the links of the cells in place of the rows that a query reads.

package linkgraph

import (
	"context"
	"math"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/read"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// edgesTimeout bounds the wait for cells. After it a query reads rows.
const edgesTimeout = 200 * time.Millisecond

// Edges returns a graph whose links are exactly the triples of the predicate that a reader has in the
// default graph, and in the merge of all graphs. If the cells cannot give them soon, the error is not nil.
//
// On a lone node the links are those of the reader's moment. A member's reader has no moment: every read
// has what was acknowledged before Edges was called, or more. The error of a read wraps ErrMixed if
// triples have come meanwhile that cells do not have.
func (g *Graph) Edges(ctx context.Context, r store.Reader) (links.Graph, error) {
	wait, cancel := context.WithTimeout(ctx, edgesTimeout)
	defer cancel()
	at, fixed, err := r.Position()
	switch {
	case err != nil:
		return nil, err
	case fixed != (g.Node.Lone() != nil):
		return nil, state.ErrMixed // the node has become a member
	case fixed:
		s, err := g.Board.StateAt(wait, at)
		if err != nil {
			return nil, err
		}
		return pinned{g, s.Pin()}, nil
	}
	s, err := g.Board.Current(wait)
	switch {
	case err != nil:
		return nil, err
	case s.Mixed || len(s.Parts) == 0:
		return nil, state.ErrMixed
	}
	// Rows that the state was made from may be newer than its position, so they are checked, too.
	u := unpinned{g, s.Ends}
	if s.Held == machine.AllPartitions {
		return pinned{g, s.Pin()}, u.check(wait)
	}
	return u, nil
}

// pinned reads pages and lists from one state, which holds all partitions.
type pinned struct {
	*Graph
	state *state.State
}

// UIDs implements [links.PageReader]. A page in no cell has no links, and gets 0.
func (p pinned) UIDs(ctx context.Context, urls []string) ([]uid.UID, error) {
	return p.state.UIDs(ctx, urls)
}

// URLs implements [links.PageReader].
func (p pinned) URLs(ctx context.Context, pages []uid.UID) ([]string, error) {
	return p.state.URLs(ctx, pages)
}

// Links implements [links.ListReader].
func (p pinned) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	return p.state.Links(ctx, d, pages, math.MaxInt)
}

// Degrees implements [links.ListReader].
func (p pinned) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	return p.state.Degrees(ctx, d, pages)
}

// LinksPrefix implements [links.PrefixReader].
func (p pinned) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	return p.state.Links(ctx, d, pages[:min(len(pages), read.UpToPages)], most)
}

// Capabilities implements [links.Graph].
func (p pinned) Capabilities() links.Capabilities { return links.Capabilities{Prefix: p} }

// unpinned reads lists from all machines, and checks that the graph has stayed plain.
type unpinned struct {
	*Graph
	ends uint64 // see plain
}

// Links implements [links.ListReader].
func (u unpinned) Links(ctx context.Context, d links.Direction, pages []uid.UID) (links.Lists, error) {
	l, err := u.Graph.Links(ctx, d, pages)
	if err != nil {
		return l, err
	}
	return l, u.check(ctx)
}

// LinksPrefix implements [links.PrefixReader].
func (u unpinned) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	l, err := u.Graph.LinksPrefix(ctx, d, pages, most)
	if err != nil {
		return l, err
	}
	return l, u.check(ctx)
}

// check returns an error if the graph has not been plain since Edges. Other machines may be ahead of this
// one, but not of the end of the feed.
func (u unpinned) check(ctx context.Context) error {
	s, err := u.Board.Current(ctx)
	if err == nil && (s.Mixed || s.Ends != u.ends) {
		err = state.ErrMixed
	}
	return err
}

// Capabilities implements [links.Graph].
func (u unpinned) Capabilities() links.Capabilities { return links.Capabilities{Prefix: u} }
