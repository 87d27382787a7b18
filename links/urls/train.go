// Training of the symbols: pairs of frequent neighbours become symbols, round by round, as in
// byte pair encoding and FSST. (P. Gage, "A new algorithm for data compression", 1994; P. Boncz,
// T. Neumann, V. Leis, "FSST: fast random access string compression", 2020.)

package urls

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/links/ef"
)

const (
	// trainBytes is the approximate size of the sample of suffixes.
	trainBytes = 1 << 20
	// leastUses is the minimum number of uses of a symbol in the sample.
	leastUses = 3
	// trainSymbols is the maximum number of symbols, because their texts must fit the first
	// cache.
	trainSymbols = 1 << 12
)

// trainLimits are the maximum numbers of symbols after each pass over the sample. A pass keeps or
// adds the symbols with the largest gain. A few passes with one limit make the choice stable.
var trainLimits = [...]int{512, 512, 512, 1024, 1024, 1024, 2048, 2048, 2048, trainSymbols, trainSymbols, trainSymbols}

// symbol is up to 8 bytes, the first one lowest.
type symbol struct {
	text uint64
	size int
}

// sample is consecutive byte sequences.
type sample struct {
	text []byte
	ends []int
}

// train returns symbols for the suffixes of a table without symbols. It tries lists of growing
// size and returns the one with the smallest table.
func train(plain *Table) symbols {
	s, scale := takeSample(plain)
	list := make([]symbol, 256, trainSymbols)
	for c := range list {
		list[c] = symbol{uint64(c), 1}
	}
	// improve counts the codes of the list it gets, so the size for a list is known only after
	// the next pass. Therefore there must be one pass more than limits.
	var best []symbol
	least := 0.0
	for round := range len(trainLimits) + 1 {
		limit := 0
		if round < len(trainLimits) {
			limit = trainLimits[round]
		}
		next, codes := improve(list, s, limit)
		size := float64(codes)*scale*float64(codeWidth(list))/8 + float64(len(list))*(symbolBytes+1)
		if best == nil || size < least {
			best, least = list, size
		}
		list = next
	}
	out := symbols{width: codeWidth(best)}
	for _, v := range best {
		out.lens = append(out.lens, byte(v.size))
		out.text = binary.LittleEndian.AppendUint64(out.text, v.text)
	}
	return out
}

// codeWidth returns the bits of the codes of a list.
func codeWidth(list []symbol) uint { return uint(max(8, bits.Len(uint(len(list)-1)))) }

// takeSample returns suffixes from all over the table. scale is the size of the whole over the
// size of the sample.
func takeSample(plain *Table) (s sample, scale float64) {
	step := max(1, len(plain.pieces)/trainBytes)
	for k := 0; k < plain.blocks(); k += step {
		p := plain.leaf(k)
		s.addPiece(&p)
		if k/step&(nodeLen-1) == 0 {
			p = plain.node(k)
			s.addPiece(&p)
		}
		if len(s.text) > 2*trainBytes {
			break
		}
	}
	return s, float64(len(plain.pieces)) / float64(max(1, len(s.text)))
}

// addPiece adds the suffixes of a piece.
func (s *sample) addPiece(p *piece) {
	h := headers{b: p.headers}
	at := p.payload
	for {
		_, size, ok := h.next()
		if !ok {
			return
		}
		s.text = append(s.text, p.body[at:at+min(size, trainBytes)]...)
		s.ends = append(s.ends, len(s.text))
		at += size
	}
}

// improve writes the sample in the symbols of list. It returns the number of codes for this, and
// a better list of up to limit symbols. The better list has the single bytes and the symbols with
// the largest gain in single bytes. Candidates are the symbols of list and pairs of neighbours.
// If limit is 0, it returns no list.
func improve(list []symbol, s sample, limit int) (next []symbol, codes int) {
	m := newMatcher(list)
	// 1. Write the sample, and count uses and pairs of neighbours.
	uses := make([]int, len(list))
	pairs := map[uint32]int{}
	start := 0
	for _, end := range s.ends {
		before := -1
		for at := start; at < end; {
			code, size := m.longest(s.text[at:end])
			uses[code]++
			codes++
			if before >= 0 && limit > 0 && list[before].size+size <= symbolBytes {
				pairs[uint32(before)<<16|uint32(code)]++
			}
			before = code
			at += size
		}
		start = end
	}
	if limit == 0 {
		return nil, codes
	}
	// 2. Add them up by their bytes, because different pairs may have the same bytes.
	count := map[symbol]int{}
	for pair, n := range pairs {
		a, b := list[pair>>16], list[pair&(1<<16-1)]
		count[symbol{a.text | b.text<<(8*a.size), a.size + b.size}] += n
	}
	for code, v := range list[256:] {
		count[v] += uses[256+code]
	}
	// 3. Sort by gain. Ties are broken by bytes, because equal URLs must give equal tables.
	type candidate struct {
		symbol
		gain int
	}
	var found []candidate
	for v, n := range count {
		if n >= leastUses {
			found = append(found, candidate{v, n * (v.size - 1)})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.text, b.text), cmp.Compare(a.size, b.size))
	})
	// 4. Keep the single bytes and the best candidates.
	next = append(make([]symbol, 0, limit), list[:256]...)
	for _, c := range found[:min(len(found), limit-256)] {
		next = append(next, c.symbol)
	}
	return next, codes
}

// matcher finds the longest symbol at the front of bytes.
type matcher struct {
	// sizes has, for each pair of first bytes, bit n-2 set if a symbol of n bytes begins with the
	// pair.
	sizes [1 << 16]uint8
	// slots is an open hash table of the symbols of 2 bytes or more. It is at most half full. A
	// slot is free if its size is 0.
	slots []slot
	shift uint
}

type slot struct {
	text uint64
	code uint32
	size int32
}

// newMatcher returns a matcher of list. The list must begin with the single bytes.
func newMatcher(list []symbol) *matcher {
	width := bits.Len(uint(2*len(list) - 1))
	m := &matcher{slots: make([]slot, 1<<width), shift: uint(64 - width)}
	for code, v := range list {
		if v.size < 2 {
			continue
		}
		m.sizes[v.text&(1<<16-1)] |= 1 << (v.size - 2)
		i := m.place(v.text, v.size)
		for m.slots[i].size != 0 {
			i = (i + 1) & (len(m.slots) - 1)
		}
		m.slots[i] = slot{v.text, uint32(code), int32(v.size)}
	}
	return m
}

func (m *matcher) place(text uint64, size int) int {
	return int((text + uint64(size)) * 0x9e3779b97f4a7c15 >> m.shift)
}

// longest returns the code and the size of the longest symbol at the front of text. text must not
// be empty.
func (m *matcher) longest(text []byte) (code, size int) {
	word := load(text)
	most := min(len(text), symbolBytes)
	sizes := m.sizes[word&(1<<16-1)] & (1<<(most-1) - 1)
	for sizes != 0 {
		n := bits.Len8(sizes) + 1
		want := word & (^uint64(0) >> (64 - 8*n))
		for i := m.place(want, n); m.slots[i].size != 0; i = (i + 1) & (len(m.slots) - 1) {
			if m.slots[i].text == want && int(m.slots[i].size) == n {
				return int(m.slots[i].code), n
			}
		}
		sizes &^= 1 << (n - 2)
	}
	return int(word & 0xff), 1
}

// codeWriter appends codes of one width to bytes, the lowest bit first.
type codeWriter struct {
	m       *matcher
	width   uint
	out     []byte
	pending uint64
	filled  uint
}

// add writes text and returns the number of its codes.
func (w *codeWriter) add(text []byte) (units int) {
	for len(text) > 0 {
		code, size := w.m.longest(text)
		text = text[size:]
		w.pending |= uint64(code) << w.filled
		w.filled += w.width
		for w.filled >= 8 {
			w.out = append(w.out, byte(w.pending))
			w.pending >>= 8
			w.filled -= 8
		}
		units++
	}
	return units
}

// take fills up the last byte and returns the bytes written since the last take. They are valid
// until the next add.
func (w *codeWriter) take() []byte {
	if w.filled > 0 {
		w.out = append(w.out, byte(w.pending))
	}
	w.pending, w.filled = 0, 0
	out := w.out
	w.out = w.out[:0]
	return out
}

// encode writes the pieces of a table without symbols in the codes of symbols. It returns the
// pieces and their offsets.
func encode(plain *Table, codes symbols) (pieces []byte, offsets *ef.Builder) {
	list := make([]symbol, len(codes.lens))
	for i := range list {
		list[i] = symbol{binary.LittleEndian.Uint64(codes.text[i*symbolBytes:]), int(codes.lens[i])}
	}
	w := codeWriter{m: newMatcher(list), width: codes.width}
	out := pieceWriter{out: make([]byte, 0, len(plain.pieces)/2)}
	var rest frontCoded
	blocks := plain.blocks()
	for k := 0; k < blocks; k += nodeLen {
		for leaf := k; leaf < min(k+nodeLen, blocks); leaf++ {
			p := plain.leaf(leaf)
			w.recode(&rest, &p)
			out.leaves = rest.appendTo(out.leaves)
			out.endLeaf()
		}
		p := plain.node(k)
		out.node = binary.AppendUvarint(out.node, uint64(len(p.first)))
		out.node = append(out.node, p.first...)
		w.recode(&rest, &p)
		out.endNode(&rest)
	}
	return out.finish()
}

// recode writes the URLs of a piece, except the first one, as codes into f.
func (w *codeWriter) recode(f *frontCoded, p *piece) {
	h := headers{b: p.headers}
	at := p.payload
	for {
		shared, size, ok := h.next()
		if !ok {
			break
		}
		f.headers = appendHeader(f.headers, shared, w.add(p.body[at:at+size]))
		at += size
	}
	f.payload = append(f.payload, w.take()...)
}
