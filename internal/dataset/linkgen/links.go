// The copying model: the links of a page.

package linkgen

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

const (
	degreeSteps  = 1024
	degreeOffset = 16 // the smaller, the longer the tail
	drawUnit     = 1 << 12
	localUnit    = 1 << 16

	copied      = 224 // of 256 links, those copied from the prototype
	withoutLink = 16  // one page in this number has no link
	maxDraws    = 1 << 16
)

// degreeTable returns numbers of links with a Pareto tail and the mean 1, in 1/drawUnit.
func degreeTable() (degrees [degreeSteps]uint64) {
	const unit = 1 << 32
	total := uint64(0)
	for i := range degrees {
		degrees[i] = unit / uint64(i+degreeOffset)
		total += degrees[i]
	}
	for i, weight := range degrees {
		degrees[i] = weight * degreeSteps * drawUnit / total
	}
	return degrees
}

// calibrate sets scale and local: a sample of pages must have the requested mean of links and share
// within the host, as nearly as three steps come.
func (g *Graph) calibrate(links, localPercent uint64) {
	g.scale = links * drawUnit * 2
	g.local = localUnit - localUnit*(100-localPercent)/170
	sample := min(g.Pages(), 1<<16)
	var list []uint32
	// 1. Measure the sample with the present factors.
	for range 3 {
		all, inside := uint64(0), uint64(0)
		for k := range sample {
			page := uint32(uint64(k) * uint64(g.Pages()) / uint64(sample))
			first, end := g.HostPages(g.Host(page))
			list = g.Links(page, list[:0])
			all += uint64(len(list))
			for _, target := range list {
				if target >= first && target < end {
					inside++
				}
			}
		}
		// 2. Correct both factors by their ratio, within limits because a ratio may be extreme.
		if all > 0 {
			g.scale = min(g.scale*links*uint64(sample)/all, 4*links*drawUnit)
		}
		if inside > 0 {
			g.local = min(g.local*localPercent*all/100/inside, localUnit)
		}
	}
}

// Links appends the pages that a page links to: distinct, in ascending order, without the page
// itself. It panics if there is no such page.
func (g *Graph) Links(page uint32, dst []uint32) []uint32 {
	// 1. The page's own stream decides its number of links.
	var r rand.PCG
	r.Seed(g.derive(ofPage, uint64(page)), uint64(page))
	draws := g.draws(r.Uint64())
	if draws == 0 {
		return dst
	}
	s := g.siteOf(page)
	directory, dirFirst, dirEnd := s.directory(page)
	prototype := g.derive(ofPrototype, uint64(s.host)<<32|uint64(directory))

	// 2. If the host is not large, its pages are gathered as bits, because that sorts them.
	var local localSet
	gathered := s.end - s.first
	if gathered > localSetBits {
		gathered = 0
	}
	// 3. Draw the links: most are copied from the directory's prototype.
	from := len(dst)
	for k := range uint64(draws) {
		x := r.Uint64()
		var target uint32
		if x&0xff < copied {
			target = g.target(&s, mix(prototype+k*golden), dirFirst, dirEnd)
		} else {
			target = g.target(&s, mix(x), page, 0)
		}
		if i := target - s.first; i < gathered {
			local[i/64] |= 1 << (i % 64)
		} else if target != page {
			dst = append(dst, target)
		}
	}
	// 4. Sort and join both sets. The page itself must not be in the list.
	dst = dst[:from+len(distinct(dst[from:]))]
	if gathered == 0 {
		return dst
	}
	i := page - s.first
	local[i/64] &^= 1 << (i % 64)
	return local.insert(dst, from, s.first, gathered)
}

// localSet is a set of pages of one host, by their numbers in it.
type localSet [localSetBits / 64]uint64

const localSetBits = 1024

// insert inserts the set into dst[from:]. The set holds the first n pages from first on. dst[from:]
// must be ascending and have none of them.
func (l *localSet) insert(dst []uint32, from int, first, n uint32) []uint32 {
	count := 0
	used := l[:(n+63)/64]
	for _, word := range used {
		count += bits.OnesCount64(word)
	}
	at, _ := slices.BinarySearch(dst[from:], first)
	at += from
	end := len(dst)
	dst = slices.Grow(dst, count)[:end+count]
	copy(dst[at+count:], dst[at:end])
	for i, word := range used {
		for ; word != 0; word &= word - 1 {
			dst[at] = first + uint32(i*64+bits.TrailingZeros64(word))
			at++
		}
	}
	return dst
}

// draws returns the number of links that a page draws.
func (g *Graph) draws(x uint64) int {
	if x%withoutLink == 0 {
		return 0
	}
	x >>= 8
	step := x % degreeSteps
	x >>= 10
	n := g.degrees[step] * g.scale / drawUnit
	if step == 0 {
		n <<= bits.TrailingZeros64(x | 1<<4)
		x >>= 5
	}
	// The rest of a link becomes one with this probability.
	return int(min((n+x%drawUnit)/drawUnit, maxDraws))
}

// target returns the target page of a link drawn as y. Within the host it is near page first or, if
// end > 0, in the directory [first, end).
func (g *Graph) target(s *site, y uint64, first, end uint32) uint32 {
	place, kind, z := y&(localUnit-1), y>>16&15, mix(y)
	size := s.end - s.first
	if place >= g.local && g.Hosts() > 1 || size == 1 {
		return g.remote(s, kind, z)
	}
	switch {
	case kind == 0:
		return s.first
	case kind < 5:
		d := scaleTo(z, min(8, s.directories))
		return min(s.first+1+d*s.dirPages, s.end-1)
	case kind < 11 && end > 0:
		return first + scaleTo(z, end-first)
	case kind < 11:
		return s.nearbyPage(first, z)
	default:
		rank := logUniform(z, size)
		return s.first + scaleTo(g.derive(ofHostRank, uint64(s.host)<<32|uint64(rank)), size)
	}
}

// nearbyPage returns a page of the host at a log-uniform distance of 1 to 16 from page. If the distance
// crosses an end of the host, it wraps around.
func (s *site) nearbyPage(page uint32, z uint64) uint32 {
	size := s.end - s.first
	distance := 1 + scaleTo(z<<8, 1<<(z&3+1)) // up to 2, 4, 8 or 16
	if distance %= size; z>>4&1 == 0 {
		distance = (size - distance) % size
	}
	return s.first + uint32((uint64(page-s.first)+uint64(distance))%uint64(size))
}

// remote returns a page, most likely of another host.
func (g *Graph) remote(s *site, kind, z uint64) uint32 {
	switch {
	case kind < 9:
		x := g.derive(ofRank, uint64(logUniform(z, g.Pages())))
		page := scaleTo(x, g.Pages())
		if x&3 == 0 {
			return page
		}
		return g.start[g.Host(page)]
	case kind < 13:
		return scaleTo(z, g.Pages())
	}
	group := s.host &^ (groupHosts - 1)
	host := group + scaleTo(z, min(groupHosts, g.Hosts()-group))
	first, end := g.HostPages(host)
	if z&1 == 0 {
		return first
	}
	return first + scaleTo(mix(z), end-first)
}

// logUniform returns a rank in [0, n). The first 16 are equally likely, and so are the next 16, the
// next 32 and so on, each power of two together.
func logUniform(z uint64, n uint32) uint32 {
	classes := uint32(bits.Len32((n - 1) >> 4))
	class := scaleTo(z<<32, classes+1)
	low, size := uint32(0), uint32(16)
	if class > 0 {
		low = 16 << (class - 1)
		size = low
	}
	return low + scaleTo(z, min(size, n-low))
}

// distinct sorts list in place and returns its distinct numbers.
func distinct(list []uint32) []uint32 {
	if len(list) > 40 {
		slices.Sort(list)
		return slices.Compact(list)
	}
	kept := list[:0]
	for _, x := range list { // insertion sort
		i := len(kept)
		for i > 0 && kept[i-1] > x {
			i--
		}
		if i > 0 && kept[i-1] == x {
			continue
		}
		kept = kept[:len(kept)+1]
		copy(kept[i+1:], kept[i:])
		kept[i] = x
	}
	return kept
}
