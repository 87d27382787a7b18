// Tests of ListWriter against edges.

package cell

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/uid"
)

// listed returns the bytes of the cell of g, built from lists of ordinals.
func (g *graph) listed(tb testing.TB, o Options) []byte {
	tb.Helper()
	o.Range = g.keys
	b, err := NewBuilder(o)
	require.NoError(tb, err)
	own := g.own()
	for _, u := range own {
		require.NoError(tb, b.AddPage(u, []byte(g.pages[u])))
	}
	for _, d := range []Direction{Forward, Backward} {
		edges, labels := g.edges(d)
		var ghosts []uid.UID
		for _, e := range edges {
			if _, is := slices.BinarySearch(own, e.To); !is {
				ghosts = append(ghosts, e.To)
			}
		}
		slices.Sort(ghosts)
		ghosts = slices.Compact(ghosts)
		w, err := b.Lists(d, ghosts)
		require.NoError(tb, err)
		for _, u := range own {
			if len(edges) == 0 {
				break // pages after the last one with links
			}
			var locals, far []uint32
			n := 0
			for ; n < len(edges) && edges[n].From == u; n++ {
				if at, is := slices.BinarySearch(own, edges[n].To); is {
					locals = append(locals, uint32(at))
				} else {
					at, _ := slices.BinarySearch(ghosts, edges[n].To)
					far = append(far, uint32(at))
				}
			}
			var noted []Label
			if d == Forward {
				noted, labels = labels[:n], labels[n:]
			}
			edges = edges[n:]
			require.NoError(tb, w.Append(locals, far, noted))
		}
	}
	data, err := b.Build()
	require.NoError(tb, err)
	return data
}

// TestListWriter compares cells of lists with cells of the same edges.
func TestListWriter(t *testing.T) {
	r := random(t)
	for range 60 {
		g := randomGraph(r, 1+r.IntN(300), 2000)
		if got, want := g.listed(t, Options{}), g.bytes(t, Options{}, nil); !bytes.Equal(got, want) {
			t.Fatalf("%d pages, %d links: %d bytes of lists differ from %d of edges", len(g.pages), len(g.links), len(got), len(want))
		}
	}
}

func TestListWriterErrors(t *testing.T) {
	a, b, far := uid.Make(4, 1, 0), uid.Make(4, 1, 1), uid.Make(9, 1, 0)
	type list struct {
		locals, ghosts []uint32
		labels         []Label
	}
	for _, test := range []struct {
		name   string
		d      Direction
		ghosts []uid.UID
		lists  []list
		want   error // nil for any error
	}{
		{"ghosts descend", Forward, []uid.UID{far, far}, nil, ErrOrder},
		{"a page as a ghost", Forward, []uid.UID{b}, nil, ErrRange},
		{"ghost 0", Forward, []uid.UID{0}, nil, ErrUnknownPage},
		{"a local that is no page", Backward, nil, []list{{locals: []uint32{0, 2}}}, ErrUnknownPage},
		{"a ghost that is none", Backward, []uid.UID{far}, []list{{ghosts: []uint32{1}}}, ErrUnknownPage},
		{"too many lists", Forward, nil, []list{{}, {}, {}}, ErrUnknownPage},
		{"locals descend", Forward, nil, []list{{locals: []uint32{1, 0}}}, nil},
		{"a target twice", Forward, nil, []list{{locals: []uint32{1, 1}}}, nil},
		{"labels backward", Backward, nil, []list{{locals: []uint32{1}, labels: []Label{{Weight: 2}}}}, nil},
		{"too few labels", Forward, nil, []list{{locals: []uint32{0, 1}, labels: []Label{{Weight: 2}}}}, nil},
	} {
		builder, err := NewBuilder(Options{Range: testRange})
		require.NoError(t, err)
		for _, u := range []uid.UID{a, b} {
			require.NoError(t, builder.AddPage(u, []byte(u.String())))
		}
		w, err := builder.Lists(test.d, test.ghosts)
		for _, l := range test.lists {
			err = errors.Join(err, w.Append(l.locals, l.ghosts, l.labels))
		}
		_, buildErr := builder.Build()
		if err == nil || buildErr == nil || test.want != nil && (!errors.Is(err, test.want) || !errors.Is(buildErr, test.want)) {
			t.Errorf("%s: %v, then %v, want %v", test.name, err, buildErr, test.want)
		}
	}
}

// A direction must have either edges or lists, and lists only once.
func TestListsBesideEdges(t *testing.T) {
	a, b := uid.Make(4, 1, 0), uid.Make(4, 1, 1)
	builder, err := NewBuilder(Options{})
	require.NoError(t, err)
	require.NoError(t, errors.Join(builder.AddPage(a, []byte("a")), builder.AddPage(b, []byte("b"))))
	require.NoError(t, builder.AddEdges(Backward, []Edge{{a, b}}, nil))
	if _, err := builder.Lists(Backward, nil); !errors.Is(err, ErrOrder) {
		t.Errorf("lists after edges: %v", err)
	}
	if _, err := builder.Lists(Forward, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := builder.Lists(Forward, nil); !errors.Is(err, ErrOrder) {
		t.Errorf("lists a second time: %v", err)
	}
	if err := builder.AddEdges(Forward, []Edge{{a, b}}, nil); !errors.Is(err, ErrOrder) {
		t.Errorf("edges beside lists: %v", err)
	}
	if _, err := builder.Build(); !errors.Is(err, ErrOrder) {
		t.Errorf("build: %v", err)
	}
}
