// Lists of links in pieces, packed or not.

package server

import (
	"context"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/uid"
)

// boundedWeb is a graph that reads as many lists as there is room for, and counts what it
// is asked.
type boundedWeb struct {
	*linkstest.Graph
	pieces, degrees int
}

func (g *boundedWeb) Capabilities() links.Capabilities {
	return links.Capabilities{Epoch: g.Graph, Prefix: g}
}

func (g *boundedWeb) LinksPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (links.Lists, error) {
	g.pieces++
	all, err := g.Graph.Links(ctx, d, pages)
	n := 0
	for n < all.Len() && all.Ends[n] <= most {
		n++
	}
	all.Ends = all.Ends[:n]
	if n == 0 {
		all.Items = nil
	} else {
		all.Items = all.Items[:all.Ends[n-1]]
	}
	return all, err
}

func (g *boundedWeb) Degrees(ctx context.Context, d links.Direction, pages []uid.UID) ([]int, error) {
	g.degrees += len(pages)
	return g.Graph.Degrees(ctx, d, pages)
}

// TestLinksPrefix: a graph that reads as many lists as there is room for answers the same
// as one that is asked for degrees, and is asked for those of long lists only.
func TestLinksPrefix(t *testing.T) {
	plain, urls := aWeb(t, seeded(t), 40)
	bounded := &boundedWeb{Graph: plain}
	one, other := serveLinks(t, plain, Options{}), serveLinks(t, bounded, Options{})
	long := 0
	uids, err := plain.UIDs(t.Context(), urls)
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{1, 5, 1 << 18} {
		one.setPieces(most)
		other.setPieces(most)
		for _, more := range []string{"", `,"as":"urls"`, `,"direction":"backward"`} {
			question := fmt.Sprintf(`{"urls":%s%s}`, quoted(urls), more)
			bounded.degrees = 0
			want, got := one.do("POST", "/links/get", question), other.do("POST", "/links/get", question)
			if want.status != got.status || want.body != got.body {
				t.Errorf("%d links a piece%s: %d %.200s\nwant %d %.200s", most, more, got.status, got.body, want.status, want.body)
			}
			d := links.Forward
			if more == `,"direction":"backward"` {
				d = links.Backward
			}
			degrees, err := plain.Degrees(t.Context(), d, uids)
			if err != nil {
				t.Fatal(err)
			}
			beyond := 0
			for _, n := range degrees {
				if n > most {
					beyond++
				}
			}
			if long += beyond; bounded.degrees != beyond {
				t.Errorf("%d links a piece%s: asked for %d degrees; %d lists are long", most, more, bounded.degrees, beyond)
			}
		}
	}
	if long == 0 || bounded.pieces == 0 {
		t.Errorf("%d long lists, %d pieces", long, bounded.pieces)
	}
}
