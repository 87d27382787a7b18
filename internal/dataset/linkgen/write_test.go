// Tests that a written graph is the generated one.

package linkgen

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/linkfile"
)

func TestWrite(t *testing.T) {
	g := mustNew(t, Options{Pages: 2000, Hosts: 60, Seed: 3})
	var all []string // source, then target
	pages := 0
	for page := range g.Pages() {
		list := g.Links(page, nil)
		if len(list) > 0 {
			pages++
		}
		for _, target := range list {
			all = append(all, string(g.URL(page, nil))+" "+string(g.URL(target, nil)))
		}
	}
	for _, f := range []linkfile.Format{0, linkfile.Edges, linkfile.Lists, linkfile.Pages, linkfile.NTriples} {
		for _, links := range []int64{0, 1, 1000} {
			var out bytes.Buffer
			n, err := g.Write(context.Background(), &out, WriteOptions{Format: f, Links: links})
			if err != nil || n.Bytes != int64(out.Len()) {
				t.Fatalf("%v: %+v, %v", f, n, err)
			}
			want := all
			if links > 0 {
				want = all[:links]
			}
			rd, err := linkfile.NewReader(&out, linkfile.Options{})
			require.NoError(t, err)
			i, lists := 0, 0
			for page, err := range rd.All() {
				require.NoError(t, err)
				if page.Replace {
					lists++
				}
				for _, l := range page.Links {
					if i >= len(want) || string(page.Source)+" "+string(l.Target) != want[i] {
						t.Fatalf("%v: link %d is %s %s", f, i, page.Source, l.Target)
					}
					i++
				}
			}
			if i != len(want) || n.Links != int64(len(want)) || links == 0 && n.Pages != 2000 || f == linkfile.Pages && int64(lists) != n.Pages {
				t.Errorf("%v: %d of %d links, %d lists, %+v", f, i, len(want), lists, n)
			}
			if told := rd.Format(); f > 0 && told != f && (f != linkfile.NTriples || told != linkfile.NQuads) {
				t.Errorf("%v is told to be %v", f, told)
			}
		}
	}
}

// TestWriteParts: parts one after the other must be the whole.
func TestWriteParts(t *testing.T) {
	g := mustNew(t, Options{Pages: 1500, Hosts: 60})
	write := func(o WriteOptions) string {
		var out bytes.Buffer
		o.Format = linkfile.NTriples
		if _, err := g.Write(context.Background(), &out, o); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if parts := write(WriteOptions{End: 400}) + write(WriteOptions{First: 400, End: 1400}) + write(WriteOptions{First: 1400, End: 9999}); parts != write(WriteOptions{}) {
		t.Error("the parts are not the whole")
	}
}

func TestWriteErrors(t *testing.T) {
	g := mustNew(t, Options{Pages: 100})
	if _, err := g.Write(context.Background(), io.Discard, WriteOptions{Format: linkfile.WAT}); !errors.Is(err, ErrOptions) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.Write(ctx, io.Discard, WriteOptions{}); err != context.Canceled {
		t.Error(err)
	}
	r, w := io.Pipe()
	r.Close()
	if _, err := g.Write(context.Background(), w, WriteOptions{}); err != io.ErrClosedPipe {
		t.Error(err)
	}
}

func benchGraph(b *testing.B) *Graph {
	return mustNew(b, Options{Pages: 1_000_000, Hosts: 50_000, Seed: 1})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		benchGraph(b)
	}
}

func BenchmarkLinks(b *testing.B) {
	g := benchGraph(b)
	var list []uint32
	page, links := uint32(0), 0
	for b.Loop() {
		list = g.Links(page, list[:0])
		links += len(list)
		if page++; page == g.Pages() {
			page = 0
		}
	}
	b.ReportMetric(float64(links)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
}

func BenchmarkURL(b *testing.B) {
	g := benchGraph(b)
	var url []byte
	page := uint32(0)
	for b.Loop() {
		url = g.URL(page, url[:0])
		page = (page*13 + 7) % g.Pages()
	}
}

func BenchmarkWrite(b *testing.B) {
	g := benchGraph(b)
	links := int64(0)
	first := uint32(0)
	for b.Loop() {
		n, err := g.Write(context.Background(), io.Discard, WriteOptions{First: first, End: first + 1000})
		if err != nil {
			b.Fatal(err)
		}
		links += n.Links
		first = (first + 1000) % (g.Pages() - 1000)
	}
	b.ReportMetric(float64(links)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
}
