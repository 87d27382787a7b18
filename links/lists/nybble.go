// Codec Nybble: the paper's variable-nybble code, for comparisons of size and speed. The package
// comment draws it.

package lists

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

const (
	wordNybbles = 12 // payload of a word
	wordBytes   = 8
	maxNybbles  = 16 // of a number
)

// nybbles reads numbers one by one. The zero value has none.
//
// Invariant: the unread parts of payload and ends are in their highest bits; the bits below are
// zero.
type nybbles struct {
	words   []byte
	next    int // offset of the next word
	payload uint64
	ends    uint64 // one bit for each nybble of payload, set on the last of a number
	left    int    // unread nybbles of payload
}

// seek sets the reader before nybble pos of words, or to their end.
func (r *nybbles) seek(words []byte, pos uint64) {
	*r = nybbles{words: words}
	if pos/wordNybbles >= uint64(len(words))/wordBytes {
		r.next = len(words)
		return
	}
	r.next = int(pos/wordNybbles) * wordBytes
	r.load()
	skip := uint(pos % wordNybbles)
	r.payload <<= 4 * skip
	r.ends <<= skip
	r.left -= int(skip)
}

// position returns the index of the next nybble.
func (r *nybbles) position() uint64 {
	return uint64(r.next)/wordBytes*wordNybbles - uint64(r.left)
}

func (r *nybbles) load() bool {
	if len(r.words)-r.next < wordBytes {
		return false
	}
	w := binary.LittleEndian.Uint64(r.words[r.next:])
	r.next += wordBytes
	r.payload = w &^ 0xffff
	r.ends = w << (64 - wordNybbles)
	r.left = wordNybbles
	return true
}

// number reads a number. ok is false at the end, or if the number has no end.
func (r *nybbles) number() (v uint64, ok bool) {
	if r.ends == 0 {
		return r.numberAcross()
	}
	n := uint(bits.LeadingZeros64(r.ends)) + 1
	v = r.payload >> ((64 - 4*n) & 63)
	r.payload <<= (4 * n) & 63
	r.ends <<= n & 63
	r.left -= int(n)
	return v, true
}

// numberAcross reads a number that ends in a later word.
func (r *nybbles) numberAcross() (v uint64, ok bool) {
	length := 0
	for r.ends == 0 {
		length += r.left
		v = v<<(4*uint(r.left)) | r.payload>>(64-4*uint(r.left))
		if length >= maxNybbles || !r.load() {
			return 0, false
		}
	}
	n := bits.LeadingZeros64(r.ends) + 1
	if length+n > maxNybbles {
		return 0, false
	}
	low, _ := r.number()
	return v<<(4*uint(n)) | low, true
}

// skip skips n numbers.
func (r *nybbles) skip(n uint64) bool {
	for {
		c := uint64(bits.OnesCount64(r.ends))
		if n <= c {
			break
		}
		n -= c
		if !r.load() {
			return false
		}
	}
	for range n {
		r.number()
	}
	return true
}

// head reads the counts of a list.
func (r *nybbles) head(localOnly bool) (locals, ghosts uint32, ok bool) {
	l, ok := r.number()
	g := uint64(0)
	if ok && !localOnly {
		g, ok = r.number()
	}
	return uint32(l), uint32(g), ok && l <= math.MaxUint32 && g <= math.MaxUint32 && l+g <= math.MaxUint32
}

// gaps appends n targets below end. It reads them as gaps; last is the target before them.
func (r *nybbles) gaps(dst []uint32, n, last uint64, end uint32) ([]uint32, bool) {
	for range n {
		gap, ok := r.number()
		// The sum stays below 2^33, so it cannot overflow.
		if last += gap; !ok || gap == 0 || gap > math.MaxUint32 || last >= uint64(end) {
			return nil, false
		}
		dst = append(dst, uint32(last))
	}
	return dst, true
}

// first reads the first target of a list.
func (r *nybbles) first(key uint32, local bool, end uint32) (uint64, bool) {
	v, ok := r.number()
	if !ok || v > math.MaxUint32 {
		return 0, false
	}
	if local {
		v = uint64(unzigzag(uint32(v), key))
	}
	return v, v < uint64(end)
}

// list appends the first n > 0 targets of a list.
func (r *nybbles) list(dst []uint32, n uint64, key uint32, local bool, end uint32) ([]uint32, bool) {
	first, ok := r.first(key, local, end)
	if !ok {
		return nil, false
	}
	return r.gaps(append(dst, uint32(first)), n-1, first, end)
}

type nybble struct{}

// limit returns the number of nybbles of payload.
func (nybble) limit(data []byte) (uint64, bool) {
	words := uint64(len(data)) / wordBytes
	if words == 0 {
		return 0, true
	}
	unused := uint64(data[len(data)-wordBytes+1] >> 4)
	return words*wordNybbles - unused, unused <= wordNybbles
}

func (nybble) degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool) {
	var r nybbles
	r.seek(t.data, pos)
	return r.head(t.localOnly)
}

func (nybble) skip(t *Table, pos uint64) (next uint64, ok bool) {
	var r nybbles
	r.seek(t.data, pos)
	l, g, ok := r.head(t.localOnly)
	ok = ok && r.skip(uint64(l)+uint64(g))
	return r.position(), ok
}

func (nybble) decode(t *Table, key uint32, pos uint64, locals, ghosts []uint32) (l, g []uint32, ok bool) {
	var r nybbles
	r.seek(t.data, pos)
	numLocals, numGhosts, ok := r.head(t.localOnly)
	// Each number has at least one nybble, so the counts must not exceed the data.
	if !ok || uint64(numLocals)+uint64(numGhosts) > t.limit-pos {
		return nil, nil, false
	}
	if numLocals > 0 {
		locals, ok = r.list(slices.Grow(locals, int(numLocals)), uint64(numLocals), key, true, t.n)
	}
	if ok && numGhosts > 0 {
		ghosts, ok = r.list(slices.Grow(ghosts, int(numGhosts)), uint64(numGhosts), key, false, t.ghostEnd)
	}
	return locals, ghosts, ok
}

// scan keeps the last target in s.rest.last. Before the first target it is 2^64-1.
func (nybble) scan(s *Scanner, key uint32) bool {
	r, room, out, ok := &s.rest, uint64(PieceLen), s.buf[:0], true
	if r.locals|r.ghosts == 0 {
		r.last = math.MaxUint64
		if r.locals, r.ghosts, ok = s.words.head(s.t.localOnly); !ok {
			return false
		}
	}
	locals := min(uint64(r.locals), room)
	if out, ok = s.part(out, locals, key, true, s.t.n); !ok {
		return false
	}
	r.locals -= uint32(locals)
	if locals > 0 && r.locals == 0 {
		r.last = math.MaxUint64
	}
	ghosts := min(uint64(r.ghosts), room-locals)
	if out, ok = s.part(out, ghosts, key, false, s.t.ghostEnd); !ok {
		return false
	}
	r.ghosts -= uint32(ghosts)
	s.locals, s.ghosts = out[:locals], out[locals:]
	return true
}

// part appends the next n targets of the scanner's list.
func (s *Scanner) part(dst []uint32, n uint64, key uint32, local bool, end uint32) ([]uint32, bool) {
	if n == 0 {
		return dst, true
	}
	var ok bool
	if s.rest.last == math.MaxUint64 {
		dst, ok = s.words.list(dst, n, key, local, end)
	} else {
		dst, ok = s.words.gaps(dst, n, s.rest.last, end)
	}
	if ok {
		s.rest.last = uint64(dst[len(dst)-1])
	}
	return dst, ok
}

// nybbleEncoder writes the words of Nybble.
type nybbleEncoder struct {
	index
	buf  []byte // whole words
	word uint64 // payload and ends of the current word
	used uint   // nybbles used in it
}

func (e *nybbleEncoder) begin(eachList) (none lengths) { return none }

func (e *nybbleEncoder) positions() []uint64 { return append(e.at, e.position()) }

func (e *nybbleEncoder) position() uint64 {
	return uint64(len(e.buf))/wordBytes*wordNybbles + uint64(e.used)
}

func (e *nybbleEncoder) size() uint64 { return uint64(len(e.buf)) + wordBytes }

func (e *nybbleEncoder) appendTo(dst []byte) []byte {
	dst = append(dst, e.buf...)
	if e.used > 0 {
		dst = binary.LittleEndian.AppendUint64(dst, e.word|uint64(wordNybbles-e.used)<<wordNybbles)
	}
	return dst
}

func (e *nybbleEncoder) append(key uint32, locals, ghosts []uint32) {
	e.mark(key, e.position())
	e.number(uint32(len(locals)))
	if !e.localOnly {
		e.number(uint32(len(ghosts)))
	}
	if len(locals) > 0 {
		e.number(zigzag(locals[0], key))
		e.gaps(locals)
	}
	if len(ghosts) > 0 {
		e.number(ghosts[0])
		e.gaps(ghosts)
	}
}

func (e *nybbleEncoder) gaps(list []uint32) {
	for i := 1; i < len(list); i++ {
		e.number(list[i] - list[i-1])
	}
}

func (e *nybbleEncoder) number(v uint32) {
	n := max(1, uint(bits.Len32(v)+3)/4)
	for n > wordNybbles-e.used {
		fits := wordNybbles - e.used
		n -= fits
		e.word |= uint64(v>>(4*n)) << 16
		v &= 1<<(4*n) - 1
		e.flush()
	}
	e.used += n
	e.word |= uint64(v)<<(64-4*e.used) | 1<<(wordNybbles-e.used)
	if e.used == wordNybbles {
		e.flush()
	}
}

func (e *nybbleEncoder) flush() {
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.word)
	e.word, e.used = 0, 0
}
