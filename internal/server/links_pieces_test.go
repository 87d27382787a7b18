// Lists of links in pieces, packed or not.

package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/linkstest"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/wire"
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

// packedWeb is a graph that has lists packed, unless it is bare.
type packedWeb struct {
	boundedWeb
	bare bool
}

func (g *packedWeb) Capabilities() links.Capabilities {
	return links.Capabilities{Epoch: g.Graph, Prefix: g, Packed: g}
}

func (g *packedWeb) PackedPrefix(ctx context.Context, d links.Direction, pages []uid.UID, most int) (lengths []int, packed rank.Lists[byte], err error) {
	if g.bare {
		return nil, packed, errors.ErrUnsupported
	}
	lists, err := g.LinksPrefix(ctx, d, pages, most)
	for i := range lists.Len() {
		lengths = append(lengths, len(lists.At(i)))
		last := uid.UID(0)
		for _, u := range lists.At(i) {
			packed.Items = binary.AppendUvarint(packed.Items, uint64(u-last))
			last = u
		}
		packed.End()
	}
	return lengths, packed, err
}

// TestLinksPacked: lists that are packed already are the same answers, in the binary form;
// in others they are not asked for.
func TestLinksPacked(t *testing.T) {
	plain, urls := aWeb(t, seeded(t), 40)
	packed := &packedWeb{boundedWeb: boundedWeb{Graph: plain}}
	one, other := serveLinks(t, plain, Options{}), serveLinks(t, packed, Options{})
	for _, most := range []int{1, 5, 1 << 18, 1 << 19} {
		one.setPieces(most)
		other.setPieces(most)
		packed.bare = most == 1<<19
		for _, more := range []string{"", `,"as":"urls"`, `,"direction":"backward"`} {
			question := fmt.Sprintf(`{"urls":%s%s}`, quoted(urls), more)
			for _, accept := range []string{wire.MediaType, response.JSON} {
				want, got := one.do("POST", "/links/get", question, "Accept", accept), other.do("POST", "/links/get", question, "Accept", accept)
				if want.status != got.status || want.body != got.body {
					t.Errorf("%d links a piece%s, %s: %d %.200q\nwant %d %.200q", most, more, accept, got.status, got.body, want.status, want.body)
				}
			}
		}
	}
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
