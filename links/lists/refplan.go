// Plan of a segment of the codec Reference: its parts, written or counted.

package lists

import "math/bits"

// refPlan is the parts of a segment's code.
type refPlan struct {
	back    int
	start   [2]uint32 // what the first local and the first ghost are coded relative to
	first   bool
	blocks  []int
	rest    [2][]uint32 // targets that are not copied; once split, neither in runs
	kept    [2][]uint32 // memory of rest
	room    [2]int      // number of targets that are not copied
	runs    [2][]run
	below   int
	numbers []uint32
	counter bitCounter
}

// run is neighbouring targets.
type run struct{ first, n uint32 }

// plain plans a segment without copies.
func (p *refPlan) plain(start [2]uint32, first bool, list [2][]uint32) {
	p.back, p.start, p.first, p.rest = 0, start, first, list
	p.split()
}

// copying plans a list that copies from source.
func (p *refPlan) copying(key uint32, back int, list, source [2][]uint32) {
	p.back, p.start, p.first, p.blocks = back, [2]uint32{key, 0}, true, p.blocks[:0]
	taken, size := true, 0
	for k := range list {
		rest, from := p.kept[k][:0], source[k]
		// Each target of the source ends a block, or lengthens it.
		mark := func(is bool) {
			if is != taken {
				p.blocks = append(p.blocks, size)
				taken, size = is, 0
			}
			size++
		}
		i := 0
		for _, v := range list[k] {
			for i < len(from) && from[i] < v {
				mark(false)
				i++
			}
			if i < len(from) && from[i] == v {
				mark(true)
				i++
			} else {
				rest = append(rest, v)
			}
		}
		for range from[i:] {
			mark(false)
		}
		p.kept[k], p.rest[k] = rest, rest
	}
	p.split()
}

// split splits the rest into runs and numbers.
func (p *refPlan) split() {
	p.numbers, p.below = p.numbers[:0], 0
	for k, list := range p.rest {
		p.room[k] = len(list)
		p.runs[k] = p.runs[k][:0]
		if len(list) < refRun {
			continue
		}
		// 1. Move the runs out. The targets between them move together, in other memory,
		// because the list may be the caller's.
		single, from := p.kept[k][:0], 0
		for i := 1; i <= len(list); i++ {
			if i < len(list) && list[i] == list[i-1]+1 {
				continue
			}
			if i-from >= refRun {
				p.runs[k] = append(p.runs[k], run{list[from], uint32(i - from)})
			} else {
				single = append(single, list[from:i]...)
			}
			from = i
		}
		p.kept[k], p.rest[k] = single, single
	}
	// 2. Turn locals below the key around.
	locals := p.rest[0]
	if p.first {
		for p.below < len(locals) && locals[p.below] < p.start[0] {
			p.below++
		}
	}
	next := p.start[0]
	for i := p.below - 1; i >= 0; i-- {
		p.numbers = append(p.numbers, next-locals[i]-1)
		next = locals[i]
	}
	p.numbers = appendFrom(p.numbers, p.start[0], locals[p.below:])
	p.numbers = appendFrom(p.numbers, p.start[1], p.rest[1])
}

// appendFrom appends the first of an ascending list minus start, and its gaps, each minus 1.
func appendFrom(dst []uint32, start uint32, list []uint32) []uint32 {
	for _, v := range list {
		dst = append(dst, v-start)
		start = v + 1
	}
	return dst
}

// eachField calls gamma, distance and bits for the fields before the numbers, in their order.
func (p *refPlan) eachField(f fields) {
	// 1. The blocks of the source.
	if p.back > 0 {
		f.gamma(uint64(len(p.blocks)))
		for i, n := range p.blocks {
			if i > 0 {
				n--
			}
			f.gamma(uint64(n))
		}
	}
	for k, runs := range p.runs {
		if p.room[k] < refRun {
			continue
		}
		f.gamma(uint64(len(runs)))
		end := p.start[k]
		for i, r := range runs {
			d := r.first - end
			if i == 0 && k == 0 && p.first {
				d = zigzag(r.first, end)
			}
			f.distance(d)
			f.gamma(uint64(r.n) - refRun)
			end = r.first + r.n + 1
		}
	}
	// 2. How many numbers lead downwards.
	if n := len(p.rest[0]); n > 0 && p.first {
		f.put(uint64(p.below), uint(bits.Len(uint(n))))
	}
}

// fields takes the fields of a plan: bitWriter writes them, and bitCounter counts their bits.
type fields interface {
	gamma(v uint64)
	distance(v uint32)
	put(v uint64, n uint)
}

// write writes the segment.
func (p *refPlan) write(w *bitWriter, l lengths, c *costs) {
	mode := uint64(p.back)
	if _, wide := p.numberBits(c); wide {
		mode += refWide
		l[3] = maxBits
	}
	w.gamma(mode)
	p.eachField(w)
	w.numbers(p.numbers, l)
}

// bits returns the length of the segment's code.
func (p *refPlan) bits(c *costs) int {
	p.counter = 0
	p.counter.gamma(uint64(p.back))
	p.eachField(&p.counter)
	numbers, _ := p.numberBits(c)
	return int(p.counter) + numbers
}

// numberBits returns the approximate length of the numbers, and whether one is too large for the
// table's lengths.
func (p *refPlan) numberBits(c *costs) (n int, wide bool) {
	for _, v := range p.numbers {
		cost := c[bits.Len32(v)]
		n += int(cost)
		wide = wide || cost > 2+32
	}
	return n, wide
}

// bitCounter counts the bits that a bitWriter would write.
type bitCounter int

func (n *bitCounter) gamma(v uint64)       { *n += bitCounter(gammaBits(v)) }
func (n *bitCounter) distance(v uint32)    { *n += bitCounter(distanceBits(v)) }
func (n *bitCounter) put(_ uint64, b uint) { *n += bitCounter(b) }
