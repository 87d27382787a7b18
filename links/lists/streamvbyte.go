// This file holds the codec StreamVByte, drawn in the package comment.

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
	// svbLong is the least length of a list that tells the length of its data.
	svbLong = 4096
	// The counts that the first byte of a list holds are below these.
	svbLocals, svbGhosts = 31, 7
	// slack is how many numbers more than a list has are decoded.
	slack = 3
)

// codeLen is the number of bytes of a number, by its code.
var codeLen = [4]uint8{0, 1, 2, 4}

// codeMask has the bits of a number's bytes, by its code.
var codeMask = [4]uint32{0, 0xff, 0xffff, 0xffffffff}

// codes is the code of a number, by its length in bits.
var codes = func() (c [33]uint8) {
	for i := range c {
		c[i] = uint8(min((i+7)/8, 3))
	}
	return c
}()

// group tells how the four numbers of a control byte lie in their data: the
// first two in the eight bytes from 0 on, the others from pair on.
type group struct {
	mask         [4]uint32
	shift1       uint8 // bits before number 1
	shift3       uint8 // bits from pair on before number 3
	pair, length uint8 // bytes
}

var groups = func() (g [256]group) {
	for c := range g {
		e := &g[c]
		var length [4]uint8
		for i := range 4 {
			code := c >> (2 * i) & 3
			e.mask[i], length[i] = codeMask[code], codeLen[code]
		}
		e.shift1, e.shift3 = 8*length[0], 8*length[2]
		e.pair = length[0] + length[1]
		e.length = e.pair + length[2] + length[3]
	}
	return g
}()

// unpack decodes four numbers v for each control byte and sets out to the
// running sums of last + v + 1, in 32 bits. It returns the last sum in 64 bits
// and the bytes of data used. out has room for them; ok is false where data has
// less than svbSlack bytes from a group on.
func unpack(out []uint32, control, data []byte, last uint64) (sum uint64, used int, ok bool) {
	whole := len(data)
	for _, c := range control {
		if len(data) < svbSlack || len(out) < 4 {
			return 0, 0, false
		}
		e := &groups[c]
		x := binary.LittleEndian.Uint64(data)
		y := binary.LittleEndian.Uint64(data[e.pair&15:])
		v1 := last + uint64(uint32(x)&e.mask[0]) + 1
		v2 := v1 + uint64(uint32(x>>(e.shift1&63))&e.mask[1]) + 1
		v3 := v2 + uint64(uint32(y)&e.mask[2]) + 1
		last = v3 + uint64(uint32(y>>(e.shift3&63))&e.mask[3]) + 1
		out[0], out[1], out[2], out[3] = uint32(v1), uint32(v2), uint32(v3), uint32(last)
		out = out[4:]
		data = data[e.length:]
	}
	return last, whole - len(data), true
}

// settle ends the decoding of numbers that unpack wrote to out: locals, then
// ghosts, then padding. It turns the ghosts into indexes, and returns what unpack
// needs to go on after them. It is false where a number is out of range: sum, of
// 64 bits, differs from what the last targets say where any sum took more than 32.
func settle(t *Table, out []uint32, locals, ghosts int, sum uint64) (last uint64, ok bool) {
	base, want := uint32(0), uint64(len(out)-locals-ghosts)
	if locals > 0 {
		end := out[locals-1]
		if end >= t.n {
			return 0, false
		}
		last = uint64(end)
		want += last
		base = end + 1
	}
	if ghosts > 0 {
		g := out[locals : locals+ghosts]
		if locals > 0 {
			for i := range g {
				g[i] -= base
			}
			want++
		}
		end := g[len(g)-1]
		if end >= t.ghostEnd {
			return 0, false
		}
		last = uint64(end)
		want += last
	}
	return last, sum == want
}

// svbList is the head of a list.
//
// Invariant: control+ceil((locals+ghosts)/4) <= data <= limit of the table.
type svbList struct {
	locals, ghosts uint32
	control, data  uint64 // where they begin
	length         uint64 // of the data where locals+ghosts >= svbLong
}

// parse reads the head of the list at pos, which is below limit.
func (l *svbList) parse(data []byte, pos, limit uint64) bool {
	b := data[pos]
	l.locals, l.ghosts = uint32(b&svbLocals), uint32(b>>5)
	if l.locals == svbLocals || l.ghosts == svbGhosts {
		return l.parseLong(data, pos+1, limit)
	}
	l.control = pos + 1
	l.data = l.control + uint64(l.locals+l.ghosts+3)>>2
	return l.data <= limit
}

// parseLong reads what follows the first byte where a count did not fit it.
func (l *svbList) parseLong(data []byte, pos, limit uint64) bool {
	var ok bool
	if l.control, ok = l.counts(data, pos, limit); !ok {
		return false
	}
	l.data = l.control + (uint64(l.locals)+uint64(l.ghosts)+3)>>2
	return l.data <= limit && l.length <= limit-l.data
}

// counts reads what follows the first byte, whose counts l has, and returns
// where that ends.
func (l *svbList) counts(data []byte, pos, limit uint64) (next uint64, ok bool) {
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
	if locals == svbLocals {
		locals += read()
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

// start returns what unpack starts with so that the first sum is the first target.
func (l *svbList) start(data []byte, key uint32) uint64 {
	if l.locals == 0 {
		return math.MaxUint64
	}
	first := binary.LittleEndian.Uint32(data[l.data:]) & codeMask[data[l.control]&3]
	return uint64(unzigzag(first, key)) - uint64(first) - 1
}

// body decodes the list into out, whose length is that of the list, rounded up
// to a multiple of four, and returns where it ends.
func (l *svbList) body(t *Table, out []uint32, key uint32) (end uint64, ok bool) {
	if len(out) == 0 {
		return l.data, true
	}
	sum, used, ok := unpack(out, t.data[l.control:l.control+uint64(len(out)>>2)], t.data[l.data:], l.start(t.data, key))
	if !ok {
		return 0, false
	}
	_, ok = settle(t, out, int(l.locals), int(l.ghosts), sum)
	return l.data + uint64(used), ok
}

type streamVByte struct{}

func (streamVByte) encoder(bool) encoder { return new(svbEncoder) }

func (streamVByte) limit(data []byte) (uint64, bool) {
	return uint64(len(data)) - svbSlack, len(data) >= svbSlack
}

func (streamVByte) degrees(t *Table, pos uint64) (locals, ghosts uint32, ok bool) {
	var l svbList
	ok = l.parse(t.data, pos, t.limit)
	return l.locals, l.ghosts, ok
}

func (streamVByte) skip(t *Table, pos uint64) (next uint64, ok bool) {
	var l svbList
	if !l.parse(t.data, pos, t.limit) {
		return 0, false
	}
	n := l.locals + l.ghosts
	if n >= svbLong {
		return l.data + l.length, true
	}
	next = l.data
	for _, c := range t.data[l.control : l.control+uint64(n+3)>>2] {
		next += uint64(groups[c].length)
	}
	return next, next <= t.limit
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
	end, ok := h.body(t, out, key)
	if !ok || n >= svbLong && end != h.data+h.length {
		return nil, nil, false
	}
	ghosts = append(ghosts, out[h.locals:n]...)
	return locals[:at+int(h.locals)], ghosts, true
}

func (c streamVByte) scan(s *Scanner, key uint32) bool {
	t := s.t
	var h svbList
	if s.pos >= t.limit || !h.parse(t.data, s.pos, t.limit) {
		return false
	}
	n := uint64(h.locals) + uint64(h.ghosts)
	if n > PieceLen {
		s.rest = rest{locals: h.locals, ghosts: h.ghosts, control: h.control, data: h.data, last: h.start(t.data, key)}
		s.pos = h.data + h.length
		return c.more(s, key)
	}
	groups := (n + slack) >> 2
	out := s.buf[:4*groups]
	var ok bool
	s.pos, ok = h.body(t, out, key)
	s.locals, s.ghosts = out[:h.locals], out[h.locals:n]
	return ok
}

func (streamVByte) more(s *Scanner, _ uint32) bool {
	t, r := s.t, &s.rest
	n := min(uint64(r.locals)+uint64(r.ghosts), PieceLen)
	locals := min(uint64(r.locals), n)
	ghosts := n - locals
	groups := (n + slack) >> 2
	out := s.buf[:4*groups]
	sum, used, ok := unpack(out, t.data[r.control:r.control+groups], t.data[r.data:], r.last)
	if !ok {
		return false
	}
	if r.last, ok = settle(t, out, int(locals), int(ghosts), sum); !ok {
		return false
	}
	r.locals -= uint32(locals)
	r.ghosts -= uint32(ghosts)
	if r.locals == 0 && ghosts == 0 {
		r.last = math.MaxUint64
	}
	r.control += groups
	r.data += uint64(used)
	s.locals, s.ghosts = out[:locals], out[locals:n]
	return r.locals|r.ghosts != 0 || r.data == s.pos
}

// svbEncoder makes the lists of StreamVByte.
type svbEncoder struct {
	buf     []byte
	numbers []uint32 // of one list
}

func (e *svbEncoder) position() uint64 { return uint64(len(e.buf)) }
func (e *svbEncoder) size() uint64     { return uint64(len(e.buf)) }

func (e *svbEncoder) appendTo(dst []byte) []byte {
	return append(append(dst, e.buf...), make([]byte, svbSlack)...)
}

func (e *svbEncoder) append(key uint32, locals, ghosts []uint32) {
	e.numbers = appendNumbers(e.numbers[:0], key, locals, ghosts)
	e.buf = packSVB(appendCounts(e.buf, e.numbers, len(locals), len(ghosts)), e.numbers)
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

// appendGaps appends the gaps of an ascending list, minus 1.
func appendGaps(dst, list []uint32) []uint32 {
	last := list[0]
	for _, v := range list[1:] {
		dst = append(dst, v-last-1)
		last = v
	}
	return dst
}

// packSVB appends the control bytes and the data of numbers.
func packSVB(dst []byte, numbers []uint32) []byte {
	for len(numbers)%4 != 0 {
		numbers = append(numbers, 0)
	}
	n := len(numbers)
	control := len(dst)
	dst = slices.Grow(dst, n/4+4*n+4)
	buf := dst[:cap(dst)]
	p := control + n/4
	for ; len(numbers) >= 4; numbers = numbers[4:] {
		c0, c1 := codes[bits.Len32(numbers[0])], codes[bits.Len32(numbers[1])]
		c2, c3 := codes[bits.Len32(numbers[2])], codes[bits.Len32(numbers[3])]
		buf[control] = c0 | c1<<2 | c2<<4 | c3<<6
		control++
		binary.LittleEndian.PutUint32(buf[p:], numbers[0])
		p += int(codeLen[c0&3])
		binary.LittleEndian.PutUint32(buf[p:], numbers[1])
		p += int(codeLen[c1&3])
		binary.LittleEndian.PutUint32(buf[p:], numbers[2])
		p += int(codeLen[c2&3])
		binary.LittleEndian.PutUint32(buf[p:], numbers[3])
		p += int(codeLen[c3&3])
	}
	return dst[:p]
}
