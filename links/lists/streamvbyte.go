// Codec StreamVByte; the package comment draws it.

package lists

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

const (
	// svbSlack is how many bytes behind the last list a reader may load.
	svbSlack = 24
	// svbLong is the least length of a list that stores the length of its data.
	svbLong = 4096
	// The counts in the first byte of a list are below these.
	svbLocals, svbGhosts = 31, 7
	// slack is the maximum number of extra numbers that are decoded behind a list.
	slack = 3
)

// finishNumbers finishes the decoding of the numbers in out: locals, then ghosts, then anything. It
// converts the ghosts into indexes, and returns the start values for the next unpack. It returns
// false if a number is out of range. To find a sum of more than 32 bits, it compares sum, in 64
// bits, with the last targets.
func finishNumbers(t *Table, out []uint32, locals, ghosts int, sum uint64) (last uint64, ok bool) {
	base, last, ok := check(t, out, locals, ghosts, sum)
	if ok && base > 0 {
		g := out[locals : locals+ghosts]
		for i := range g {
			g[i] -= base
		}
	}
	return last, ok
}

// check is settle without the conversion: the ghosts stay base more than their indexes.
func check(t *Table, out []uint32, locals, ghosts int, sum uint64) (base uint32, last uint64, ok bool) {
	want := uint64(0)
	n := locals + ghosts
	if n < len(out) {
		// The numbers in place of padding are below 2^28, so 32 bits are enough.
		want = uint64(out[len(out)-1] - out[n-1])
	}
	if locals > 0 {
		end := out[locals-1]
		if end >= t.n {
			return 0, 0, false
		}
		last = uint64(end)
		want += last
		base = end + 1
	}
	if ghosts > 0 {
		if locals > 0 {
			want++
		}
		end := out[n-1] - base
		if end >= t.ghostEnd {
			return 0, 0, false
		}
		last = uint64(end)
		want += last
	}
	return base, last, sum == want
}

// svbList is the head of a list.
//
// Invariant: control+ceil((locals+ghosts)/4) <= data <= limit of the table.
type svbList struct {
	locals, ghosts uint32
	control, data  uint64 // their offsets
	length         uint64 // of the data if locals+ghosts >= svbLong
	wide           bool   // the lengths are wideLengths
}

// parse decodes the head of the list at pos, which must be below limit.
func (l *svbList) parse(data []byte, pos, limit uint64) bool {
	b := data[pos]
	l.locals, l.ghosts = uint32(b&svbLocals), uint32(b>>5)
	if l.locals == svbLocals || l.ghosts == svbGhosts {
		return l.parseLong(data, pos+1, limit)
	}
	l.wide = false
	l.control = pos + 1
	l.data = l.control + uint64(l.locals+l.ghosts+3)>>2
	return l.data <= limit
}

// parseLong decodes the rest of the head if a count does not fit the first byte.
func (l *svbList) parseLong(data []byte, pos, limit uint64) bool {
	var ok bool
	if l.control, ok = l.counts(data, pos, limit); !ok {
		return false
	}
	l.data = l.control + (uint64(l.locals)+uint64(l.ghosts)+3)>>2
	return l.data <= limit && l.length <= limit-l.data
}

// counts decodes the counts behind the first byte; l must hold the counts of that byte. It
// returns the end of the counts.
func (l *svbList) counts(data []byte, pos, limit uint64) (next uint64, ok bool) {
	// 1. A count that fills its bits continues behind the first byte. read bounds each number,
	// because the sums below must not overflow.
	locals, ghosts, ok := uint64(l.locals), uint64(l.ghosts), true
	read := func() (v uint64) {
		if ok {
			var n int
			v, n = binary.Uvarint(data[pos:limit])
			pos += uint64(max(n, 0))
			ok = n > 0 && v <= math.MaxInt64>>1
		}
		return v
	}
	l.wide = false
	if locals == svbLocals {
		locals = read()
		l.wide = locals&1 != 0
		locals >>= 1
	}
	if ghosts == svbGhosts {
		ghosts += read()
	}
	n := locals + ghosts
	l.length = 0
	if n >= svbLong {
		l.length = read()
	}
	l.locals, l.ghosts = uint32(locals), uint32(ghosts)
	return pos, ok && n <= math.MaxUint32
}

// layout returns the layout of the list's numbers.
func (l *svbList) layout(t *Table) *layout {
	if l.wide {
		return wideLayout
	}
	return t.layout
}

// start returns the start value of unpack. With it the first sum is the first target.
func (l *svbList) start(t *Table, key uint32) uint64 {
	if l.locals == 0 {
		return math.MaxUint64
	}
	first := binary.LittleEndian.Uint32(t.data[l.data:]) & l.layout(t).mask[t.data[l.control]&3]
	return uint64(unzigzag(first, key)) - uint64(first) - 1
}

// unpack is layout.unpack for the list's numbers. out must not be empty.
func (l *svbList) unpack(t *Table, out []uint32, key uint32) (sum, end uint64, ok bool) {
	control := t.data[l.control : l.control+uint64(len(out)>>2)]
	return l.layout(t).unpack(out, control, t.data[l.data:], 0, l.start(t, key))
}

// body decodes the list into out. len(out) must be the list's length, rounded up to a multiple
// of four. It returns the end of the list.
func (l *svbList) body(t *Table, out []uint32, key uint32) (end uint64, ok bool) {
	if len(out) == 0 {
		return l.data, true
	}
	sum, end, ok := l.unpack(t, out, key)
	if !ok {
		return 0, false
	}
	_, ok = finishNumbers(t, out, int(l.locals), int(l.ghosts), sum)
	y := l.layout(t)
	n := uint64(l.locals) + uint64(l.ghosts)
	end = l.data + (end-y.padding(uint64(len(out))-n)+1)>>1
	return end, ok && (n < svbLong || end == l.data+l.length)
}

type streamVByte struct{}

func (streamVByte) limit(data []byte) (uint64, bool) {
	return uint64(len(data)) - svbSlack, len(data) >= svbSlack
}

func (streamVByte) degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool) {
	var l svbList
	ok = l.parse(t.data, pos, t.limit)
	return l.locals, l.ghosts, ok
}

func (streamVByte) decode(t *Table, key uint32, pos uint64, locals, ghosts []uint32) (l, g []uint32, ok bool) {
	var h svbList
	if !h.parse(t.data, pos, t.limit) {
		return nil, nil, false
	}
	n := int(uint64(h.locals) + uint64(h.ghosts))
	if n == 0 {
		return locals, ghosts, true
	}
	groups := (n + slack) >> 2
	at := len(locals)
	if cap(locals)-at < 4*groups {
		locals = slices.Grow(locals, 4*groups)
	}
	out := locals[at : at+4*groups]
	if _, ok = h.body(t, out, key); !ok {
		return nil, nil, false
	}
	ghosts = append(ghosts, out[h.locals:n]...)
	return locals[:at+int(h.locals)], ghosts, true
}

func (streamVByte) scan(s *Scanner, key uint32) bool {
	if s.rest.locals|s.rest.ghosts != 0 {
		return s.piece()
	}
	t := s.t
	var h svbList
	if s.pos >= t.limit || !h.parse(t.data, s.pos, t.limit) {
		return false
	}
	n := uint64(h.locals) + uint64(h.ghosts)
	if n > PieceLen {
		s.rest = rest{locals: h.locals, ghosts: h.ghosts, control: h.control, data: 2 * h.data, last: h.start(t, key), layout: h.layout(t)}
		s.pos = h.data + h.length
		return s.piece()
	}
	groups := (n + slack) >> 2
	out := s.buf[:4*groups]
	var ok bool
	s.pos, ok = h.body(t, out, key)
	s.locals, s.ghosts = out[:h.locals], out[h.locals:n]
	return ok
}

// piece decodes the next piece of a long list of StreamVByte or Reference.
func (s *Scanner) piece() bool {
	t, r := s.t, &s.rest
	n := min(uint64(r.locals)+uint64(r.ghosts), PieceLen)
	locals := min(uint64(r.locals), n)
	ghosts := n - locals
	groups := (n + slack) >> 2
	out := s.buf[:4*groups]
	sum, end, ok := r.layout.unpack(out, t.data[r.control:r.control+groups], t.data, r.data, r.last)
	if !ok {
		return false
	}
	if r.last, ok = finishNumbers(t, out, int(locals), int(ghosts), sum); !ok {
		return false
	}
	r.locals -= uint32(locals)
	r.ghosts -= uint32(ghosts)
	if r.locals == 0 && ghosts == 0 {
		r.last = math.MaxUint64
	}
	r.control += groups
	end -= r.layout.padding(4*groups - n)
	r.data = end
	s.locals, s.ghosts = out[:locals], out[locals:n]
	return r.locals|r.ghosts != 0 || (end+1)>>1 == s.pos
}

// numberEncoder writes lists of numbers with lengths chosen by the first lists.
type numberEncoder struct {
	buf     []byte   // the last lists
	chunks  [][]byte // earlier lists, so growth moves nothing
	before  uint64   // total length of chunks
	seen    histogram
	layout  *layout // nil before begin
	numbers []uint32
}

// chunkBytes is the approximate length of a chunk.
const chunkBytes = 1 << 20

// position makes room for the next list, and returns its position.
func (e *numberEncoder) position() uint64 {
	if len(e.buf) >= chunkBytes {
		e.chunks = append(e.chunks, e.buf)
		e.before += uint64(len(e.buf))
		e.buf = make([]byte, 0, chunkBytes+chunkBytes/8)
	}
	return e.before + uint64(len(e.buf))
}

func (e *numberEncoder) size() uint64 { return e.before + uint64(len(e.buf)) }

// choose sets the layout by the numbers seen.
func (e *numberEncoder) choose() lengths {
	best := e.seen.best()
	e.layout = layoutOf(best)
	numbers := uint64(0)
	for _, n := range e.seen {
		numbers += n
	}
	e.buf = make([]byte, 0, min(2*numbers, chunkBytes)+chunkBytes/8)
	return best
}

func (e *numberEncoder) appendTo(dst []byte) []byte {
	dst = slices.Grow(dst, int(e.size())+svbSlack+8)
	for _, c := range e.chunks {
		dst = append(dst, c...)
	}
	return append(append(dst, e.buf...), make([]byte, svbSlack)...)
}

// layoutFor returns the layout for the numbers of a list.
func (e *numberEncoder) layoutFor(numbers []uint32) *layout {
	all := uint32(0)
	for _, v := range numbers {
		all |= v
	}
	if e.layout.codes[bits.Len32(all)] > 3 {
		return wideLayout
	}
	return e.layout
}

// svbEncoder writes the lists of StreamVByte.
type svbEncoder struct {
	numberEncoder
	at []uint64 // position of each list
}

func (e *svbEncoder) positions() []uint64 { return append(e.at, e.position()) }

func (e *svbEncoder) begin(first eachList) lengths {
	first(func(key uint32, locals, ghosts []uint32) {
		e.numbers = appendNumbers(e.numbers[:0], key, locals, ghosts)
		e.seen.add(e.numbers)
	})
	return e.choose()
}

func (e *svbEncoder) append(key uint32, locals, ghosts []uint32) {
	e.at = append(e.at, e.position())
	e.numbers = appendNumbers(e.numbers[:0], key, locals, ghosts)
	y := e.layoutFor(e.numbers)
	e.buf = y.pack(y.appendCounts(e.buf, e.numbers, len(locals), len(ghosts)), e.numbers)
}

// appendNumbers appends the numbers of a list.
func appendNumbers(dst []uint32, key uint32, locals, ghosts []uint32) []uint32 {
	dst = slices.Grow(dst, len(locals)+len(ghosts)+slack)
	if len(locals) > 0 {
		dst = appendGaps(append(dst, zigzag(locals[0], key)), locals)
	}
	if len(ghosts) > 0 {
		dst = appendGaps(append(dst, ghosts[0]), ghosts)
	}
	return dst
}

// appendGaps appends the gaps of an ascending list, each minus 1.
func appendGaps(dst, list []uint32) []uint32 {
	last := list[0]
	for _, v := range list[1:] {
		dst = append(dst, v-last-1)
		last = v
	}
	return dst
}

// appendCounts appends the counts of a list. If it has svbLong numbers or more, it appends the
// length of its data, too.
func (y *layout) appendCounts(dst []byte, numbers []uint32, locals, ghosts int) []byte {
	inByte, wide := min(locals, svbLocals), uint64(0)
	if y.wide {
		inByte, wide = svbLocals, 1
	}
	dst = append(dst, byte(inByte|min(ghosts, svbGhosts)<<5))
	if inByte == svbLocals {
		dst = binary.AppendUvarint(dst, uint64(locals)<<1|wide)
	}
	if ghosts >= svbGhosts {
		dst = binary.AppendUvarint(dst, uint64(ghosts-svbGhosts))
	}
	if locals+ghosts >= svbLong {
		size, _ := y.size(numbers)
		dst = binary.AppendUvarint(dst, size)
	}
	return dst
}
