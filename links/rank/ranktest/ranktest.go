// Package ranktest has the conformance tests of [rank.Source] and [rank.Exchange]: [CheckSource]
// and [CheckExchange].
package ranktest

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// TB is the part of testing.TB used by the checks.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// CheckSource compares a source with its forward links. links must have ascending lists by page.
// A list may be empty. weight returns the weight of a link. The seed determines the requests, and a
// failure shows it.
func CheckSource(t TB, seed uint64, source rank.Source, links map[uid.UID][]uid.UID, weight func(from, to uid.UID) float64, hosts sample.Hosts) {
	t.Helper()
	c := &sourceChecker{TB: t, seed: seed, source: source, weight: weight, hosts: hosts, random: rand.New(rand.NewPCG(seed, 0))}
	c.links[rank.Forward] = links
	c.links[rank.Backward] = map[uid.UID][]uid.UID{}
	known := map[uid.UID]bool{}
	for _, from := range slices.Sorted(maps.Keys(links)) {
		known[from] = true
		for _, to := range links[from] {
			known[to] = true
			c.links[rank.Backward][to] = append(c.links[rank.Backward][to], from)
		}
	}
	c.known = slices.Sorted(maps.Keys(known))
	for range 20 {
		pages := c.pages()
		for class := sample.All; class <= sample.InterDomain; class++ {
			for _, d := range []rank.Direction{rank.Forward, rank.Backward} {
				for _, mode := range []sample.Mode{sample.ModeRandom, sample.ModeConsistent} {
					c.samples(d, pages, sample.Spec{N: c.random.IntN(8), Mode: mode, Class: class, Seed: c.random.Uint64()})
				}
			}
			c.checkWithin(pages, class)
		}
	}
	c.cancellation()
}

type sourceChecker struct {
	TB
	seed   uint64
	source rank.Source
	weight func(from, to uid.UID) float64
	hosts  sample.Hosts
	random *rand.Rand
	links  [2]map[uid.UID][]uid.UID // by direction
	known  []uid.UID
}

func (c *sourceChecker) fail(format string, args ...any) {
	c.Helper()
	c.Fatalf("seed %d: %s", c.seed, fmt.Sprintf(format, args...))
}

// pages returns some pages in any order, some of them twice, and one unknown page.
func (c *sourceChecker) pages() []uid.UID {
	const unknown = 1<<64 - 1
	pages := []uid.UID{unknown}
	for range c.random.IntN(2 * (1 + len(c.known))) {
		if len(c.known) > 0 {
			pages = append(pages, c.known[c.random.IntN(len(c.known))])
		}
	}
	c.random.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	return pages[:c.random.IntN(len(pages)+1)]
}

// samples compares with samples of the lists. Random ones must be the same too, because they
// depend on seed, page and list only.
func (c *sourceChecker) samples(d rank.Direction, pages []uid.UID, s sample.Spec) {
	c.Helper()
	got, err := c.source.SampleLinks(context.Background(), d, pages, s)
	if err != nil || got.Len() != len(pages) {
		c.fail("SampleLinks(%d, %d pages, %+v): %d lists, %v", d, len(pages), s, got.Len(), err)
	}
	for i, page := range pages {
		want := sample.Sample(nil, c.links[d][page], page, s, c.hosts)
		if !slices.Equal(got.At(i), want) {
			c.fail("SampleLinks(%d, page %d, %+v) is %d, want %d of %d", d, page, s, got.At(i), want, c.links[d][page])
		}
	}
}

func (c *sourceChecker) checkWithin(pages []uid.UID, class sample.Class) {
	c.Helper()
	// 1. Read the links with and without weights.
	set := &rank.Set{}
	for _, page := range pages {
		set.Add(page)
	}
	got, err := c.source.LinksWithin(context.Background(), set, class)
	if err != nil || got.Len() != set.Len() {
		c.fail("LinksWithin(%d pages, %s): %d lists, %v", set.Len(), class, got.Len(), err)
	}
	weighted, err := c.source.WeightsWithin(context.Background(), set, class)
	if err != nil || weighted.Len() != set.Len() {
		c.fail("WeightsWithin(%d pages, %s): %d lists, %v", set.Len(), class, weighted.Len(), err)
	}
	// 2. Compare both with the plain lists.
	for i, page := range set.UIDs() {
		var want []uint32
		weights := map[rank.WeightedLink]bool{}
		for _, to := range sample.Sample(nil, c.links[rank.Forward][page], page, sample.Spec{N: len(c.known), Class: class}, c.hosts) {
			if id, ok := set.Find(to); ok {
				want = append(want, id)
				weights[rank.WeightedLink{To: id, Weight: c.weight(page, to)}] = true
			}
		}
		slices.Sort(want)
		if list := slices.Sorted(slices.Values(got.At(i))); !slices.Equal(list, want) {
			c.fail("LinksWithin(%d pages, %s) of page %d is %d, want %d", set.Len(), class, page, list, want)
		}
		list := weighted.At(i)
		if slices.ContainsFunc(list, func(l rank.WeightedLink) bool { return !weights[l] }) || len(list) != len(want) {
			c.fail("WeightsWithin(%d pages, %s) of page %d is %v, want %v", set.Len(), class, page, list, weights)
		}
	}
}

func (c *sourceChecker) cancellation() {
	c.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.source.SampleLinks(ctx, rank.Forward, c.known, sample.Spec{N: 1}); err == nil {
		c.fail("SampleLinks answers although the context has ended")
	}
	set := &rank.Set{}
	for _, page := range c.known {
		set.Add(page)
	}
	if _, err := c.source.LinksWithin(ctx, set, sample.All); err == nil {
		c.fail("LinksWithin answers although the context has ended")
	}
	if _, err := c.source.WeightsWithin(ctx, set, sample.All); err == nil {
		c.fail("WeightsWithin answers although the context has ended")
	}
}
