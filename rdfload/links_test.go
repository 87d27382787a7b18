// Tests of loads of link files.

package rdfload_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

const linksTo = linkfile.DefaultPredicate

var newRand = seed.Rand

// linkDocument is a link file, and what a load of it alone does.
type linkDocument struct {
	document
	want     set
	read     int64
	rejected int
	skipped  int64
	labelled int64
}

func link(src, dst string) triple.Triple {
	return triple.Triple{Subject: triple.NewIRI(src), Predicate: triple.NewIRI(linksTo), Object: triple.NewIRI(dst)}
}

// newLinkDocument writes a link file of a format with so many pages, some of its
// lines broken.
func newLinkDocument(r *rand.Rand, name string, format linkfile.Format, pages int) *linkDocument {
	d := &linkDocument{document: document{name: name}, want: make(set)}
	page := func() string {
		long := strings.Repeat("x", max(r.IntN(40)-38, 0)*1200) // some are long in keys
		return fmt.Sprintf("http://h%d.example/%d%s", r.IntN(20), r.IntN(60), long)
	}
	var b bytes.Buffer
	if format != linkfile.NTriples {
		fmt.Fprintf(&b, "# links: %v\n", format)
	}
	for range pages {
		src := page()
		n := r.IntN(6)
		if r.IntN(40) == 0 {
			n = 1500 // in several parts
		}
		if format == linkfile.Lists || format == linkfile.Pages {
			b.WriteString(src)
		}
		for range n {
			dst := page()
			broken := r.IntN(12) == 0
			if broken {
				dst = "no iri"
			}
			switch format {
			case linkfile.Edges:
				fmt.Fprintf(&b, "%s\t%s", src, dst)
				if r.IntN(3) == 0 {
					fmt.Fprintf(&b, "\t%d\ttext", r.IntN(9))
					if !broken {
						d.labelled++
					}
				}
				b.WriteByte('\n')
			case linkfile.NTriples:
				fmt.Fprintf(&b, "<%s> <%s> <%s> .\n", src, linksTo, dst)
				if r.IntN(5) == 0 {
					fmt.Fprintf(&b, "<%s> <http://example/p> \"no link\" .\n", src)
					d.skipped++
				}
			default:
				b.WriteString("\t" + dst)
			}
			if broken {
				d.rejected++
				continue
			}
			d.read++
			d.want[link(src, dst)] = true
		}
		if format == linkfile.Lists || format == linkfile.Pages {
			b.WriteByte('\n')
		}
	}
	d.data = b.Bytes()
	return d
}

var linkFormats = []linkfile.Format{linkfile.Edges, linkfile.Lists, linkfile.Pages, linkfile.NTriples}

// linkOptions are those of loads with many small units and runs.
func linkOptions(r *rand.Rand) rdfload.Options {
	o := rdfload.Options{Memory: rdfload.MinMemory, Workers: 1 + r.IntN(3), KeepGoing: true, Links: &rdfload.Links{}}
	o.SetLimits(int64(200+r.IntN(2000)), 8, 8<<10+r.IntN(16<<10), 100+r.IntN(700), 1<<20)
	return o
}

// A load of link files holds what their pages say, whatever the format and the
// compression, and tells what it left out.
func TestLinks(t *testing.T) {
	r := newRand(t)
	for _, format := range linkFormats {
		extensions := []string{"", ".gz", ".zst"}
		if testing.Short() {
			extensions = extensions[r.IntN(3):][:1]
		}
		for _, ext := range extensions {
			t.Run(format.String()+ext, func(t *testing.T) {
				d := newLinkDocument(r, "web"+ext, format, 80)
				if format == linkfile.NTriples {
					d.name = "web.nt" + ext
				}
				size := int64(len(d.data))
				d.data = compressed(ext, d.data)
				store := newStore(t)
				var rejects bytes.Buffer
				opts := linkOptions(r)
				opts.Rejects = &rejects
				sum, err := rdfload.Load(ctx, store.Sink(), sources(&d.document), opts)
				if err != nil {
					t.Fatal(err)
				}
				checkStored(t, store, d.want)
				if sum.Read != d.read || sum.New != int64(len(d.want)) || sum.Rejected != int64(d.rejected) || sum.Skipped != d.skipped || sum.Labelled != d.labelled || sum.Bytes != size {
					t.Errorf("%+v, want %d read, %d rejected, %d skipped, %d labelled, %d bytes", sum, d.read, d.rejected, d.skipped, d.labelled, size)
				}
				if n := strings.Count(rejects.String(), "# "+d.name+":"); n != d.rejected {
					t.Errorf("%d rejects, want %d:\n%.500s", n, d.rejected, rejects.String())
				}
			})
		}
	}
}

// The first thing that cannot be read ends a load that does not keep going.
func TestLinksStrict(t *testing.T) {
	store := newStore(t)
	d := &document{name: "a.edges", data: []byte("http://a/\thttp://b/\nhttp://a/\tb\n")}
	_, err := rdfload.Load(ctx, store.Sink(), sources(d), rdfload.Options{Links: &rdfload.Links{}})
	var syntax *triple.SyntaxError
	if !errors.Is(err, rdfload.ErrRejected) || !errors.As(err, &syntax) || syntax.Source != "a.edges" || syntax.Line != 2 {
		t.Errorf("%v", err)
	}
	checkStored(t, store, set{})
	checkNoLoads(t, store.Sink())
}

func TestLinksOptions(t *testing.T) {
	store := newStore(t)
	d := &document{name: "a.nt", data: []byte("<http://a/> <http://p> <http://b/> .\n")}
	for _, test := range []struct {
		links rdfload.Links
		want  string
	}{
		{rdfload.Links{Predicate: "no iri"}, "predicate of links"},
		{rdfload.Links{Reading: linkfile.Options{Format: 200}}, "format"},
		{rdfload.Links{Predicate: "http://q", Reading: linkfile.Options{Predicate: "http://p"}}, ""},
	} {
		_, err := rdfload.Load(ctx, store.Sink(), sources(d), rdfload.Options{Links: &test.links})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.links, err)
		}
	}
	checkStored(t, store, set{triple.Triple{Subject: triple.NewIRI("http://a/"), Predicate: triple.NewIRI("http://q"), Object: triple.NewIRI("http://b/")}: true})
}

// Lists that are superseded are left out with all that is wrong in them; what
// stands between lists is not.
func TestLinksSuperseded(t *testing.T) {
	const text = "http://a/\thttp://x/\tbad\thttp://y/\n" + "bad\thttp://x/\n" + "http://b/\thttp://x/\n" + "http://a/\thttp://z/\tworse\n"
	d := &document{name: "a.pages", data: []byte(text)}
	store := newStore(t)
	var rejects bytes.Buffer
	superseded := func(source int, at int64, page []byte) bool {
		return source == 0 && at == 0 && string(page) == "http://a/"
	}
	sum, err := rdfload.Load(ctx, store.Sink(), sources(d), rdfload.Options{KeepGoing: true, Rejects: &rejects, Links: &rdfload.Links{Superseded: superseded}})
	if err != nil {
		t.Fatal(err)
	}
	checkStored(t, store, set{link("http://b/", "http://x/"): true, link("http://a/", "http://z/"): true})
	if sum.Rejected != 2 || !strings.Contains(rejects.String(), "worse") || !strings.Contains(rejects.String(), "a.pages:2:") {
		t.Errorf("%+v: %s", sum, rejects.String())
	}
}

// A load of link files that stops goes on where it was: in the middle of files that
// are not compressed, of compressed ones, and of long lists.
func TestLinksResume(t *testing.T) {
	r := newRand(t)
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	for round := range rounds {
		format := linkFormats[round%len(linkFormats)]
		ext := []string{"", ".gz"}[round/len(linkFormats)]
		d := newLinkDocument(r, "web", format, 120)
		if format == linkfile.NTriples {
			d.name = "web.nt"
		}
		size := int64(len(d.data))
		d.data = compressed(ext, d.data)
		source := d.source()
		if round%3 > 0 { // a file of the system, of which the read part is not read again
			source.Path = filepath.Join(t.TempDir(), "web")
			if err := os.WriteFile(source.Path, d.data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		store := newStore(t)
		opts := linkOptions(r)
		d.fail = errFault
		for part := int64(1); part <= 3; part++ {
			d.failAt = int64(len(d.data)) * part / 4
			if _, err := rdfload.Load(ctx, store.Sink(), []input.Source{source}, opts); !errors.Is(err, errFault) && part == 1 {
				t.Fatalf("%v, want the fault", err)
			}
			opts.Resume = true
			if source.Path != "" {
				break // the rest is read from the file
			}
		}
		_, state := kept(t, store.Sink())
		d.fail = nil
		var rejects bytes.Buffer
		opts.Rejects = &rejects
		sum, err := rdfload.Load(ctx, store.Sink(), []input.Source{source}, opts)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Resumed != (state != nil) {
			t.Errorf("round %d: resumed %t, kept %+v", round, sum.Resumed, state)
		}
		checkStored(t, store, d.want)
		if sum.Read != d.read || sum.Rejected != int64(d.rejected) || sum.Skipped != d.skipped || sum.Labelled != d.labelled || sum.Bytes != size {
			t.Errorf("round %d, %v%s: %+v, want %d read, %d rejected, %d skipped, %d labelled, %d bytes", round, format, ext, sum, d.read, d.rejected, d.skipped, d.labelled, size)
		}
		if n := strings.Count(rejects.String(), "# "+d.name+":"); n != d.rejected {
			t.Errorf("round %d: %d rejects, want %d", round, n, d.rejected)
		}
	}
}

// Options that a load of links began with must not change.
func TestLinksResumeChanged(t *testing.T) {
	r := newRand(t)
	d := newLinkDocument(r, "web", linkfile.Lists, 300)
	store := newStore(t)
	opts := linkOptions(r)
	d.fail, d.failAt = errFault, int64(len(d.data)-10)
	if _, err := rdfload.Load(ctx, store.Sink(), sources(&d.document), opts); !errors.Is(err, rdfload.ErrKept) {
		t.Fatal(err)
	}
	d.fail, opts.Resume = nil, true
	for _, other := range []*rdfload.Links{nil, {Predicate: "http://other"}, {Reading: linkfile.Options{Format: linkfile.Pages}}, {Reading: linkfile.Options{Normalize: true}}} {
		changed := opts
		changed.Links = other
		if _, err := rdfload.Load(ctx, store.Sink(), sources(&d.document), changed); !errors.Is(err, rdfload.ErrChanged) {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if _, err := rdfload.Load(ctx, store.Sink(), sources(&d.document), opts); err != nil {
		t.Fatal(err)
	}
	checkStored(t, store, d.want)
}

func BenchmarkLinks(b *testing.B) {
	var text bytes.Buffer
	r := rand.New(rand.NewPCG(1, 0))
	const pages, links = 20_000, 10
	for i := range pages {
		fmt.Fprintf(&text, "http://www.h%04d.example/directory/page-%07d.html", i/20, i)
		for range links {
			j := i
			if r.IntN(4) == 0 {
				j = r.IntN(pages)
			} else {
				j = j/20*20 + r.IntN(20)
			}
			fmt.Fprintf(&text, "\thttp://www.h%04d.example/directory/page-%07d.html", j/20, j)
		}
		text.WriteByte('\n')
	}
	d := &document{name: "web.lists", data: text.Bytes()}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		b.StopTimer()
		store := newStore(b)
		b.StartTimer()
		if _, err := rdfload.Load(ctx, store.Sink(), sources(d), rdfload.Options{Links: &rdfload.Links{}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(pages*links*float64(b.N)/b.Elapsed().Seconds(), "links/s")
}
