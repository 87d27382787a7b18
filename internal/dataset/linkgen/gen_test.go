// Tests of the numbers of graphs: golden, sound, and of the promised shape.

package linkgen

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/triple"
)

// TestGolden pins small graphs: every page's links and URL.
func TestGolden(t *testing.T) {
	var out strings.Builder
	for _, o := range []Options{{Pages: 1000, Hosts: 50, Seed: 1}, {Pages: 1000, Hosts: 50, Seed: 2}, {Pages: 3000, Hosts: 1}, {Pages: 300, Hosts: 300},
		{Pages: 20_000, Hosts: 20, Links: 40, LocalPercent: 90, Seed: 7}} {
		g := mustNew(t, o)
		sum := sha256.New()
		links := 0
		var list []uint32
		for page := range g.Pages() {
			list = g.Links(page, list[:0])
			links += len(list)
			for _, target := range append(list, ^uint32(0)) {
				sum.Write(binary.BigEndian.AppendUint32(nil, target))
			}
			sum.Write(g.URL(page, nil))
		}
		fmt.Fprintf(&out, "%+v: %d links, %x\n", o, links, sum.Sum(nil))
		for _, page := range []uint32{0, 1, g.Pages() / 3, g.Pages() - 1} {
			fmt.Fprintf(&out, "\t%d %s %d\n", page, g.URL(page, nil), g.Links(page, nil))
		}
	}
	const file = "testdata/golden.txt"
	goldenfile.Check(t, file, out.String())
}

// TestSound: hosts cover the pages, lists are ascending sets without the page,
// URLs are distinct, stand in order and can be stored; of any shape of graph.
func TestSound(t *testing.T) {
	r := newRand(t)
	options := []Options{{Pages: 1}, {Pages: 2, Hosts: 1}, {Pages: 2, Hosts: 2}, {Pages: 40_000, Hosts: 1}, {Pages: 500, Hosts: 500},
		{Pages: 3, Hosts: 1, Links: 10_000}, {Pages: 200, Hosts: 10, Links: 500}, {Pages: 1000, LocalPercent: 100}, {Pages: 1000, LocalPercent: 1}}
	for range 5 {
		pages := 1 + r.Uint32N(20_000)
		options = append(options, Options{Pages: pages, Hosts: 1 + r.Uint32N(pages), Links: 1 + r.IntN(50), LocalPercent: 1 + r.IntN(100), Seed: r.Uint64()})
	}
	for _, o := range options {
		g := mustNew(t, o)
		if g.Pages() != o.Pages || o.Hosts > 0 && g.Hosts() != o.Hosts {
			t.Fatalf("%+v: %d pages, %d hosts", o, g.Pages(), g.Hosts())
		}
		page := uint32(0)
		before, beforeHost := "", ""
		for host := range g.Hosts() {
			first, end := g.HostPages(host)
			if first != page || end <= first {
				t.Fatalf("%+v: host %d has the pages %d to %d, after %d", o, host, first, end, page)
			}
			site := string(g.Site(host, nil))
			for ; page < end; page++ {
				url := string(g.URL(page, nil))
				if g.Host(page) != host || !strings.HasPrefix(url, site) || (page == first) != (url == site) {
					t.Fatalf("%+v: page %d, %s, is of host %d, and not of %d, %s", o, page, url, g.Host(page), host, site)
				}
				key, url := orderKey(t, url)
				if page > 0 && (key < beforeHost || key == beforeHost && url <= before) || page > first && key != beforeHost || page == first && key == beforeHost {
					t.Fatalf("%+v: %s comes after %s", o, url, before)
				}
				before, beforeHost = url, key
				if err := triple.CheckIRI(url); err != nil {
					t.Fatal(err)
				}
				list := g.Links(page, []uint32{7, 3})
				if list[0] != 7 || list[1] != 3 {
					t.Fatalf("%+v: what was there is gone", o)
				}
				for i, target := range list[2:] {
					if target == page || target >= g.Pages() || i > 0 && target <= list[2+i-1] {
						t.Fatalf("%+v: the links of %d are %d", o, page, list[2:])
					}
				}
			}
		}
		if page != g.Pages() {
			t.Fatalf("%+v: the hosts have %d pages", o, page)
		}
	}
}

// shape holds the measured figures of a graph.
type shape struct {
	links, local, urlBytes, without, shared, compared int64
	in                                                []uint32
	out                                               []int
	largestHost                                       uint32
}

func measure(g *Graph) shape {
	s := shape{in: make([]uint32, g.Pages()), out: make([]int, g.Pages())}
	var list, previous []uint32
	var url []byte
	for page := range g.Pages() {
		previous, list = list, previous
		list = g.Links(page, list[:0])
		first, end := g.HostPages(g.Host(page))
		s.largestHost = max(s.largestHost, end-first)
		s.links += int64(len(list))
		s.out[page] = len(list)
		if len(list) == 0 {
			s.without++
		}
		for _, target := range list {
			s.in[target]++
			if target >= first && target < end {
				s.local++
			}
			if page > first {
				if _, ok := slices.BinarySearch(previous, target); ok {
					s.shared++
				}
			}
		}
		if page > first {
			s.compared += int64(len(list))
		}
		url = g.URL(page, url[:0])
		s.urlBytes += int64(len(url))
	}
	return s
}

// atLeast counts the numbers that are at least k.
func atLeast[T uint32 | int](numbers []T, k T) int {
	n := 0
	for _, x := range numbers {
		if x >= k {
			n++
		}
	}
	return n
}

// TestShape asserts the figures of the package comment.
func TestShape(t *testing.T) {
	seed.Slow(t)
	o := Options{Pages: 1_000_000, Hosts: 50_000, Seed: 1}
	if testing.Short() || race.Enabled {
		o.Pages, o.Hosts = 100_000, 5_000
	}
	g := mustNew(t, o)
	s := measure(g)
	pages := float64(g.Pages())
	between := func(what string, got, low, high float64) {
		t.Helper()
		t.Logf("%-36s %.3f", what, got)
		if got < low || got > high {
			t.Errorf("%s: %.3f is not between %.3f and %.3f", what, got, low, high)
		}
	}
	between("links a page", float64(s.links)/pages, 17.6, 18.4)
	between("share in the host", float64(s.local)/float64(s.links), 0.74, 0.76)
	between("share of pages without links", float64(s.without)/pages, 0.055, 0.075)
	between("links also of the page before", float64(s.shared)/float64(s.compared), 0.4, 0.7)
	between("bytes a URL", float64(s.urlBytes)/pages, 70, 80)
	between("largest host, share of pages", float64(s.largestHost)/pages, 0.005, 0.03)
	between("out-degree, greatest", float64(slices.Max(s.out)), 700, 6000)
	between("share of pages of out-degree 100", float64(atLeast(s.out, 100))/pages, 0.003, 0.05)
	between("share of pages of in-degree 0", 1-float64(atLeast(s.in, 1))/pages, 0, 0.05)
	between("in-degree, greatest", float64(slices.Max(s.in))/pages, 0.01, 0.1)
	// A power law: each time that the degree is four times as great there are as
	// many times fewer pages, 4^1 to 4^1.6.
	for k := uint32(64); k <= 1024 && atLeast(s.in, 4*k) >= 100; k *= 4 {
		between(fmt.Sprintf("pages of in-degree %d for one of %d", k, 4*k), float64(atLeast(s.in, k))/float64(atLeast(s.in, 4*k)), 3.5, 11)
	}
}

// TestSeeds: another seed must make another graph, and the same seed the same one.
func TestSeeds(t *testing.T) {
	lists := func(o Options) (all []uint32) {
		g := mustNew(t, o)
		for page := range g.Pages() {
			all = g.Links(page, all)
		}
		return all
	}
	o := Options{Pages: 500, Hosts: 20}
	a, b := lists(o), lists(o)
	if !slices.Equal(a, b) {
		t.Error("one seed gives two graphs")
	}
	o.Seed++
	if slices.Equal(a, lists(o)) {
		t.Error("two seeds give one graph")
	}
}

func TestValidate(t *testing.T) {
	for _, o := range []Options{{Pages: maxPages + 1}, {Pages: 5, Hosts: 6}, {Hosts: maxHosts + 1, Pages: maxPages}, {Links: -1}, {Links: maxLinks + 1}, {LocalPercent: 101}, {LocalPercent: -1}} {
		if _, err := New(o); !errors.Is(err, ErrOptions) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if g := mustNew(t, Options{Pages: 100}); g.Hosts() != 5 {
		t.Errorf("%d hosts by default", g.Hosts())
	}
}

// TestLargest: names and numbers must hold for the largest number of hosts and pages, without a
// table of them.
func TestLargest(t *testing.T) {
	domain, _ := domainOf(maxHosts - 1)
	g := &Graph{seed: 1, domains: domain + 1}
	before := ""
	for _, host := range []uint32{0, 1, 2, 5, 6, 8, 9, 15, 16, 1 << 20, 1<<20 + 1, maxHosts - 17, maxHosts - 2, maxHosts - 1} {
		key, _ := orderKey(t, string(g.Site(host, nil)))
		if key <= before {
			t.Errorf("host %d, %s, comes after %s", host, key, before)
		}
		before = key
	}
	s := &site{first: 0, end: maxPages, dirPages: 16, directories: (maxPages - 1 + 15) / 16}
	last := []byte{}
	for _, section := range []uint32{0, 1, 2, 1000, 1001, s.directories/sectionDirs - 1, s.directories / sectionDirs} {
		if section*sectionDirs >= s.directories {
			continue
		}
		name := g.appendSection(nil, s, section)
		if bytes.Compare(name, last) <= 0 {
			t.Errorf("section %d, %s, comes after %s", section, name, last)
		}
		last = name
	}
	if !slices.IsSorted(words[:]) || len(slices.Compact(slices.Clone(words[:]))) != len(words) {
		t.Error("the words are not in ascending order")
	}
}

// TestLogUniform: ranks must be in range, and all classes equally likely.
func TestLogUniform(t *testing.T) {
	for _, n := range []uint32{1, 2, 15, 16, 17, 31, 32, 33, 1000, 1 << 20, maxPages} {
		counts := make([]int, 33)
		for k := range uint64(20_000) {
			rank := logUniform(mix(k*golden), n)
			if rank >= n {
				t.Fatalf("%d of %d", rank, n)
			}
			class := 0
			for ; rank>>4 > 0; rank >>= 1 {
				class++
			}
			counts[class]++
		}
		classes := slices.Index(counts, 0)
		for _, c := range counts[:classes] {
			if c < 20_000/classes*8/10 || c > 20_000/classes*12/10 {
				t.Errorf("%d: %v", n, counts[:classes])
			}
		}
	}
}

func TestDistinct(t *testing.T) {
	r := newRand(t)
	for range 2000 {
		list := make([]uint32, r.IntN(80))
		for i := range list {
			list[i] = r.Uint32N(50)
		}
		want := slices.Clone(list)
		slices.Sort(want)
		want = slices.Compact(want)
		if got := distinct(slices.Clone(list)); !slices.Equal(got, want) {
			t.Fatalf("%d: %d, want %d", list, got, want)
		}
	}
}
