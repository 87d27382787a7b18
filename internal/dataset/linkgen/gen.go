// The graph's options, its table of hosts, and the look-up of a page's host.

package linkgen

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
)

// ErrOptions means that the options cannot make a graph.
var ErrOptions = errors.New("no graph can be generated so")

// Options describe a graph. The zero value is a million pages.
type Options struct {
	Pages        uint32 // 0: one for every 20 pages
	Hosts        uint32 // 0: one for 20 pages
	Links        int    // mean number of links of a page; 0: 18
	LocalPercent int    // percentage of links within their host; 0: 75
	Seed         uint64
}

const (
	maxHosts = 1 << 24
	maxPages = 1 << 31
	maxLinks = 10_000
)

func (o Options) withDefaults() Options {
	if o.Pages == 0 {
		o.Pages = 1_000_000
	}
	if o.Hosts == 0 {
		o.Hosts = min((o.Pages+19)/20, maxHosts)
	}
	if o.Links == 0 {
		o.Links = 18
	}
	if o.LocalPercent == 0 {
		o.LocalPercent = 75
	}
	return o
}

// Validate returns an error that wraps [ErrOptions] if an option is invalid.
func (o Options) Validate() error {
	switch o = o.withDefaults(); {
	case o.Pages > maxPages:
		return fmt.Errorf("%w: %d pages are more than %d", ErrOptions, o.Pages, maxPages)
	case o.Hosts > min(o.Pages, maxHosts):
		return fmt.Errorf("%w: %d hosts for %d pages: it is at most one a page and %d", ErrOptions, o.Hosts, o.Pages, maxHosts)
	case o.Links < 1 || o.Links > maxLinks:
		return fmt.Errorf("%w: a mean of %d links: it is 1 to %d", ErrOptions, o.Links, maxLinks)
	case o.LocalPercent < 1 || o.LocalPercent > 100:
		return fmt.Errorf("%w: %d%% of the links in their host: it is 1 to 100", ErrOptions, o.LocalPercent)
	}
	return nil
}

// guideShift is the number of pages of a guide entry, as a power of two.
const guideShift = 6

// Graph is a web graph. It is immutable, and safe for concurrent use.
type Graph struct {
	seed uint64
	// start[h] is the first page of host h; start[Hosts()] is Pages().
	// Invariant: start[h] < start[h+1].
	start []uint32
	guide []uint32 // guide[i] is the host of page i<<guideShift

	domains uint32              // registered domains
	degrees [degreeSteps]uint64 // draws of a page, in 1/drawUnit
	scale   uint64              // factor of the draws, in 1/drawUnit
	local   uint64              // share of the draws within the host, in 1/localUnit
}

// New returns a graph: it makes the table of hosts, and the links of a sample of at most 65,536
// pages three times. It takes about a third of a second.
func New(o Options) (*Graph, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	g := &Graph{seed: mix(o.Seed + 1), start: hostStarts(o)}
	g.guide = make([]uint32, (o.Pages-1)>>guideShift+1)
	h := uint32(0)
	for i := range g.guide {
		for g.start[h+1] <= uint32(i)<<guideShift {
			h++
		}
		g.guide[i] = h
	}
	domain, _ := domainOf(o.Hosts - 1)
	g.domains = domain + 1
	g.degrees = degreeTable()
	g.calibrate(uint64(o.Links), uint64(o.LocalPercent))
	return g, nil
}

// zipfOffset limits the largest hosts, because they would have most of the pages otherwise.
const zipfOffset = 10

// hostStarts returns the first page of each host. Each host has one page, and a share of the rest
// in proportion to 1/(rank+zipfOffset). The hosts are in a random order.
func hostStarts(o Options) []uint32 {
	// 1. The total weight, in integers because floating point differs between machines.
	weight := func(rank uint32) uint64 { return (1 << 40) / uint64(rank+zipfOffset) }
	total := uint64(0)
	for rank := range o.Hosts {
		total += weight(rank)
	}
	// 2. The size of each host, by rank.
	rest, given := uint64(o.Pages-o.Hosts), uint64(0)
	start := make([]uint32, o.Hosts+1)
	for rank := range o.Hosts {
		hi, lo := bits.Mul64(rest, weight(rank))
		extra, _ := bits.Div64(hi, lo, total) // rest < 2^32 and weight <= total
		given += extra
		start[rank] = 1 + uint32(extra)
	}
	for rank := uint32(0); given < rest; given++ { // distribute the pages lost by rounding
		start[rank]++
		rank = (rank + 1) % o.Hosts
	}
	// 3. Shuffle the hosts, and sum up their sizes.
	r := rand.New(rand.NewPCG(o.Seed, 0))
	r.Shuffle(int(o.Hosts), func(i, j int) { start[i], start[j] = start[j], start[i] })
	sum := uint32(0)
	for h, size := range start {
		start[h] = sum
		sum += size
	}
	return start
}

// Pages returns the number of pages.
func (g *Graph) Pages() uint32 { return g.start[len(g.start)-1] }

// Hosts returns the number of hosts.
func (g *Graph) Hosts() uint32 { return uint32(len(g.start) - 1) }

// Host returns the host of a page. It panics if there is no such page.
func (g *Graph) Host(page uint32) uint32 {
	h := g.guide[page>>guideShift]
	for page >= g.start[h+1] {
		h++
	}
	return h
}

// HostPages returns the pages of a host: from first to before end.
func (g *Graph) HostPages(host uint32) (first, end uint32) {
	return g.start[host], g.start[host+1]
}

// mix is splitmix64's finaliser, a bijection (G. Steele et al., Fast splittable pseudorandom number
// generators, OOPSLA 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// golden is splitmix64's increment: mix(x+k*golden) is its k-th number.
const golden = 0x9e3779b97f4a7c15

// derive returns the random number of a thing of a kind.
func (g *Graph) derive(kind, thing uint64) uint64 {
	return mix(g.seed + kind*0xd1342543de82ef95 + thing*golden)
}

// Kinds of random numbers.
const (
	ofPrototype = iota + 1
	ofPage
	ofHost
	ofSite
	ofDirectory
	ofSection
	ofName
	ofRank
	ofHostRank
)

// scaleTo returns a number in [0, n) from the upper bits of x.
func scaleTo(x uint64, n uint32) uint32 {
	hi, _ := bits.Mul64(x, uint64(n))
	return uint32(hi)
}
