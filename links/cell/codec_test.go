// Tests of cells with codecs of their own choice.

package cell

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// site returns a site. Its pages link to the same menu, which makes many links to few pages, and
// to some random pages.
func site(tb testing.TB, pages int) *graph {
	rng := random(tb)
	g := newGraph(uid.Slots{First: 1, Last: 1}.Range())
	all := make([]uid.UID, pages)
	for i := range all {
		all[i] = uid.Make(1, 1, uint32(i))
		g.pages[all[i]] = fmt.Sprintf("http://a.example/%d", i)
	}
	for _, u := range all {
		for i := range 40 {
			g.links[Edge{u, all[i*pages/40]}] = NoLabel
		}
		for range 4 {
			g.links[Edge{u, all[rng.IntN(pages)]}] = NoLabel
		}
	}
	return g
}

// Each direction must have its own codec, and the header must record it.
func TestCodecs(t *testing.T) {
	g := site(t, 2500)
	data := g.bytes(t, Options{Lists: lists.Options{Codec: lists.Auto}}, nil)
	c, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	if c.Codec(Forward) != lists.Reference || c.Codec(Backward) != lists.StreamVByte || data[5] != 0x14 {
		t.Errorf("%v, %v, byte %#x", c.Codec(Forward), c.Codec(Backward), data[5])
	}
	g.check(t, c)
	plain := g.bytes(t, Options{}, nil)
	if len(data) > len(plain)*3/4 {
		t.Errorf("%d bytes, in %v alone %d", len(data), lists.StreamVByte, len(plain))
	}
	for _, codec := range []lists.Codec{lists.StreamVByte, lists.Reference} {
		c := g.build(t, Options{Lists: lists.Options{Codec: codec}}, nil)
		if c.Codec(Forward) != codec || c.Codec(Backward) != codec || c.Bytes()[5] != byte(codec) {
			t.Errorf("%v, %v, byte %#x; want %v", c.Codec(Forward), c.Codec(Backward), c.Bytes()[5], codec)
		}
	}
}
