// Making the symbols of a table: pairs of frequent neighbours become symbols,
// round by round, as in byte pair encoding and FSST. (P. Gage, "A new algorithm
// for data compression", 1994; P. Boncz, T. Neumann, V. Leis, "FSST: fast
// random access string compression", 2020.)

package urls

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/trefoildb/trefoil/links/ef"
)

const (
	// trainBytes is about the size of the sample of suffixes.
	trainBytes = 1 << 20
	// leastUses is how often a symbol must be of use in the sample.
	leastUses = 3
	// trainSymbols is the most symbols: their texts fit the first cache.
	trainSymbols = 1 << 12
)

// trainLimits are the most symbols after each reading of the sample. Those that
// pay most in it stay or come: a few rounds settle which these are.
var trainLimits = [...]int{512, 512, 512, 1024, 1024, 1024, 2048, 2048, 2048, trainSymbols, trainSymbols, trainSymbols}

// symbol is up to 8 bytes, the first one lowest.
type symbol struct {
	text uint64
	size int
}

// sample is byte sequences one after another.
type sample struct {
	text []byte
	ends []int
}

// train returns symbols for the suffixes of a table without symbols: of all
// the lists on the way to the largest, the one that takes the least memory.
func train(plain *Table) symbols {
	s, scale := takeSample(plain)
	list := make([]symbol, 256, trainSymbols)
	for c := range list {
		list[c] = symbol{uint64(c), 1}
	}
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

// takeSample returns suffixes from all over the table, and how
// many times the whole is as large.
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

// improve writes the sample in the symbols of list. It returns the number of
// codes that this takes, and a better list of up to limit symbols: the single
// bytes, and those of the list's symbols and of the pairs of neighbours that
// save most single bytes.
func improve(list []symbol, s sample, limit int) (next []symbol, codes int) {
	m := newMatcher(list)
	// Uses of symbols and of pairs are counted under the bytes that they are:
	// different pairs may be the same bytes.
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
	count := map[symbol]int{}
	for pair, n := range pairs {
		a, b := list[pair>>16], list[pair&(1<<16-1)]
		count[symbol{a.text | b.text<<(8*a.size), a.size + b.size}] += n
	}
	for code, v := range list[256:] {
		count[v] += uses[256+code]
	}
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
	next = append(make([]symbol, 0, limit), list[:256]...)
	for _, c := range found[:min(len(found), limit-256)] {
		next = append(next, c.symbol)
	}
	return next, codes
}

// matcher finds the longest symbol that bytes begin with.
type matcher struct {
	// sizes has bit n-2 set for each pair of first bytes that a symbol of n
	// bytes begins with.
	sizes [1 << 16]uint8
	// slots is an open hash table, at most half full, of symbols of 2 bytes or
	// more; size 0 is a free slot.
	slots []slot
	shift uint
}

type slot struct {
	text uint64
	code uint32
	size int32
}

// newMatcher returns a matcher of list, which begins with the single bytes.
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

// longest returns the code and the size of the longest symbol at the front of
// text, which is not empty.
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

// take fills the last byte up and returns what was written since the last take.
// It is valid until the next add.
func (w *codeWriter) take() []byte {
	if w.filled > 0 {
		w.out = append(w.out, byte(w.pending))
	}
	w.pending, w.filled = 0, 0
	out := w.out
	w.out = w.out[:0]
	return out
}

// encode returns the pieces of a table without symbols, written in the codes of
// symbols, and their offsets.
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

// recode writes the URLs of a piece but for the first one as codes into f.
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
