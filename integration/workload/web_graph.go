package workload

// This file holds the copying model of the web-link graph. Every link is a
// pure function of the page and the link's number, evaluated by walking from
// the page to its prototype and so on until a page that draws the link afresh;
// walks are short because each step ends the walk with a fixed probability.

const (
	tagHostOrder = iota
	tagDegree
	tagPrototype
	tagInside
	tagOutside
	tagFresh
	tagSweep

	freshInside  = 20 // percent of the links inside a host that are drawn afresh
	freshOutside = 10 // percent of the others

	degreeSteps = 1024 // of the table of degrees
	degreeShift = 16   // the smaller, the longer the tail
	insideOne   = 1024 // the unit of Graph.inside

	guideShift = 4 // one entry of the table of hosts for so many pages, as a power of two
)

// A Graph is a Web that can be asked for any page's links and URL. Pages are
// numbered from 0; those of a host have consecutive numbers, in the order of
// their URLs. A Graph is immutable and safe for concurrent use.
type Graph struct {
	seed uint64

	// Host h has the pages [start[h], start[h+1]).
	// Invariant: start is strictly increasing, from 0 to the number of pages.
	start []uint32
	// guide[i] is the host of page i<<guideShift.
	guide []uint32

	degrees [degreeSteps]int // a page's number of links is one of these, if it can have so many
	inside  int              // share of a page's links inside the host where that has room, in 1/insideOne
}

func newGraph(g Web) *Graph {
	w := &Graph{seed: g.Seed, start: hostStarts(g), degrees: degreeTable(g.Links)}
	w.guide = make([]uint32, (w.Pages()-1)>>guideShift+1)
	h := uint32(0)
	for i := range w.guide {
		for w.start[h+1] <= uint32(i<<guideShift) {
			h++
		}
		w.guide[i] = h
	}
	w.inside = w.calibrate(g.InsidePercent)
	return w
}

// hostStarts gives each host a page, and the rest in proportion to
// 1/(rank+1), and puts the hosts into a random order.
func hostStarts(g Web) []uint32 {
	const unit = 1 << 32
	total := uint64(0)
	for rank := range g.Hosts {
		total += unit / uint64(rank+1)
	}
	rest, given := uint64(g.Pages-g.Hosts), uint64(0)
	start := make([]uint32, g.Hosts+1)
	for rank := range g.Hosts {
		// rest < 2^31, so that the product fits.
		extra := rest * (unit / uint64(rank+1)) / total
		given += extra
		start[rank] = 1 + uint32(extra)
	}
	for rank := 0; given < rest; rank, given = (rank+1)%g.Hosts, given+1 {
		start[rank]++
	}
	r := newStream(g.Seed, tagHostOrder, 0)
	for h := g.Hosts - 1; h > 0; h-- {
		other := r.n(h + 1)
		start[h], start[other] = start[other], start[h]
	}
	sum := uint32(0)
	for h, size := range start {
		start[h] = sum
		sum += size
	}
	return start
}

// degreeTable returns numbers of links with a Pareto tail and a given mean.
func degreeTable(mean int) (degrees [degreeSteps]int) {
	const unit = 1 << 32
	total := 0
	for i := range degrees {
		degrees[i] = unit / (i + degreeShift)
		total += degrees[i]
	}
	for i, weight := range degrees {
		degrees[i] = max(1, (2*weight*mean*degreeSteps/total+1)/2)
	}
	return degrees
}

// calibrate returns the share of links inside the host that pages must aim at
// so that the whole graph has the given one: pages of small hosts cannot.
func (w *Graph) calibrate(percent int) int {
	hosts := make(map[int]int) // size: number of hosts
	for h := range len(w.start) - 1 {
		hosts[int(w.start[h+1]-w.start[h])]++
	}
	all := 0
	for _, degree := range w.degrees {
		all += degree * w.Pages()
	}
	low, high := 0, insideOne // the answer is in [low, high]
	for low < high {
		share := (low + high) / 2
		inside := 0
		for size, n := range hosts { // a sum: the order does not matter
			links := 0
			for _, degree := range w.degrees {
				links += min(degree*share, (size-1)*insideOne)
			}
			inside += links / insideOne * n * size
		}
		if inside*100 < all*percent {
			low = share + 1
		} else {
			high = share
		}
	}
	return low
}

// Pages returns the number of pages.
func (w *Graph) Pages() int { return int(w.start[len(w.start)-1]) }

// Hosts returns the number of hosts.
func (w *Graph) Hosts() int { return len(w.start) - 1 }

// Host returns the host of a page, and the pages [first, end) of that host.
func (w *Graph) Host(page int) (host, first, end int) {
	h := w.guide[page>>guideShift]
	for uint32(page) >= w.start[h+1] {
		h++
	}
	return int(h), int(w.start[h]), int(w.start[h+1])
}

// OutDegree returns the number of a page's links.
func (w *Graph) OutDegree(page int) int {
	_, first, end := w.Host(page)
	inside, outside := w.split(page, end-first)
	return inside + outside
}

// split returns the numbers of a page's links inside and outside its host,
// which has size pages.
func (w *Graph) split(page, size int) (inside, outside int) {
	x := derive(w.seed, tagDegree, uint64(page))
	degree := w.degrees[x%degreeSteps]
	inside = min((degree*w.inside+int(x>>32%insideOne))/insideOne, degree, size-1)
	return inside, min(degree-inside, w.Pages()-size)
}

// AppendLinks appends the pages that a page links to, those of its own host
// first. They are distinct.
func (w *Graph) AppendLinks(dst []int, page int) []int {
	_, first, end := w.Host(page)
	inside, outside := w.split(page, end-first)
	set := newPageSet(dst, page, inside+outside)

	for i := 0; len(set.pages) < set.from+inside && i < 2*inside+16; i++ {
		set.add(w.insideLink(page, i, first, end))
	}
	// The host has nearly no other pages: take the next free ones.
	sweep := first + below(derive(w.seed, tagSweep, uint64(page)), end-first)
	for len(set.pages) < set.from+inside {
		set.add(sweep)
		if sweep++; sweep == end {
			sweep = first
		}
	}

	for i := 0; len(set.pages) < set.from+inside+outside && i < 4*outside+16; i++ {
		if target := w.outsideLink(page, i); target < first || target >= end {
			set.add(target)
		}
	}
	sweep = below(derive(w.seed, tagSweep, uint64(page)), w.Pages())
	for len(set.pages) < set.from+inside+outside {
		if sweep < first || sweep >= end {
			set.add(sweep)
		}
		if sweep++; sweep == w.Pages() {
			sweep = 0
		}
	}
	return set.pages
}

// insideLink returns the i-th link of a page inside its host [first, end),
// which may be the page itself or one of the earlier links.
func (w *Graph) insideLink(page, i, first, end int) int {
	for {
		x := derive(w.seed, tagInside+uint64(i)<<8, uint64(page))
		if page == first || x%100 < freshInside {
			return freshInsideLink(x, page, first, end)
		}
		page = w.prototype(page, first)
	}
}

// freshInsideLink draws from the host's pages: half of the links go near the
// page, a quarter to the host's first pages, and a quarter anywhere.
func freshInsideLink(x uint64, page, first, end int) int {
	y := mix(x)
	switch x >> 32 & 3 {
	case 0:
		return first + below(y, end-first)
	case 1:
		return first + below(y, min(8, end-first))
	default:
		low, high := max(first, page-16), min(end, page+17)
		return low + below(y, high-low)
	}
}

// outsideLink returns the i-th link of a page outside its host; where it is
// inside nevertheless, it is to be skipped.
func (w *Graph) outsideLink(page, i int) int {
	for {
		x := derive(w.seed, tagOutside+uint64(i)<<8, uint64(page))
		if page == 0 || x%100 < freshOutside {
			return below(mix(x), w.Pages())
		}
		if _, first, _ := w.Host(page); page > first && x>>32&3 > 0 {
			page = w.prototype(page, first)
		} else {
			page = below(mix(x), page)
		}
	}
}

// prototype returns the page of the same host that a page copies from: one of
// the 8 before it, or once in four times any before it. page > first.
func (w *Graph) prototype(page, first int) int {
	x := derive(w.seed, tagPrototype, uint64(page))
	if x&3 > 0 {
		first = max(first, page-8)
	}
	return first + below(mix(x), page-first)
}

// A pageSet collects different pages behind pages[:from].
type pageSet struct {
	pages []int
	from  int
	self  int
	seen  map[int]struct{} // nil while linear search is faster
}

func newPageSet(dst []int, self, size int) pageSet {
	s := pageSet{pages: dst, from: len(dst), self: self}
	if size > 96 {
		s.seen = make(map[int]struct{}, size)
	}
	return s
}

// add adds a page other than self, unless it is in the set.
func (s *pageSet) add(page int) {
	if page == s.self {
		return
	}
	if s.seen != nil {
		if _, ok := s.seen[page]; ok {
			return
		}
		s.seen[page] = struct{}{}
	} else {
		for _, p := range s.pages[s.from:] {
			if p == page {
				return
			}
		}
	}
	s.pages = append(s.pages, page)
}
