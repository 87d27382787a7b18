// This file tells which of many links lead to some pages of a cell.

package cell

import (
	"math/bits"
	"slices"
)

const (
	wordShift  = 6 // a word of bits is of 64 ordinals
	wordMask   = 1<<wordShift - 1
	blockShift = 3 // a block is of 8 words
	blockMask  = 1<<blockShift - 1
)

// Members is some pages of a cell, each with a number, for who asks which of many links
// lead to them: ordinals are looked up without making UIDs of them. It is bits by
// ordinal, in blocks of 512 of which those without a member are left out. It does not
// change, and may be used by many goroutines at once.
//
//	Bytes: 1/128 for each page of the cell, and up to 136 for each member, as few as 8
//	where members are near to each other.
type Members struct {
	// blocks[i] is where in words the block of the ordinals from i<<9 on begins. The first
	// words are a block without a member.
	blocks  []uint32
	words   []memberWord
	numbers []uint32 // by ordinals
	ords    []uint32 // ascending
}

// memberWord is which of 64 ordinals are members, and how many are below these.
type memberWord struct {
	bits   uint64
	before uint32
}

// NewMembers returns the pages ords[i], each once, with numbers[i]. They are pages of a
// cell of that many pages. It keeps neither slice.
func NewMembers(pages int, ords, numbers []uint32) *Members {
	m := &Members{
		blocks:  make([]uint32, pages>>(wordShift+blockShift)+1),
		words:   make([]memberWord, blockMask+1, min(len(ords)+1, pages>>(wordShift+blockShift)+2)<<blockShift),
		numbers: make([]uint32, len(ords)),
		ords:    make([]uint32, len(ords)),
	}
	for _, ord := range ords {
		m.blocks[ord>>(wordShift+blockShift)] = 1
	}
	for i, used := range m.blocks {
		if used != 0 {
			m.blocks[i] = uint32(len(m.words))
			m.words = m.words[:len(m.words)+blockMask+1]
		}
	}
	for _, ord := range ords {
		m.word(ord).bits |= 1 << (ord & wordMask)
	}
	before := uint32(0)
	for i := range m.words {
		m.words[i].before = before
		before += uint32(bits.OnesCount64(m.words[i].bits))
	}
	for i, ord := range ords {
		rank := m.word(ord).rank(ord)
		m.numbers[rank], m.ords[rank] = numbers[i], ord
	}
	return m
}

func (m *Members) word(ord uint32) *memberWord {
	return &m.words[m.blocks[ord>>(wordShift+blockShift)]+ord>>wordShift&blockMask]
}

// rank returns how many members are below an ordinal.
func (w *memberWord) rank(ord uint32) uint32 {
	return w.before + uint32(bits.OnesCount64(w.bits&(1<<(ord&wordMask)-1)))
}

// All returns the ordinals, ascending, and their numbers. Both slices are only to be read.
func (m *Members) All() (ords, numbers []uint32) { return m.ords, m.numbers }

// AppendNumbers appends the numbers of those of some pages of the cell that are members,
// in their order.
func (m *Members) AppendNumbers(dst, ords []uint32) []uint32 {
	at := len(dst)
	dst = slices.Grow(dst, len(ords))
	out := dst[at : at+len(ords)]
	n := 0
	// Without a branch, which would be mistaken too often.
	for _, ord := range ords {
		out[n] = ord
		n += int(m.word(ord).bits >> (ord & wordMask) & 1)
	}
	out = out[:n]
	for i, ord := range out {
		out[i] = m.numbers[m.word(ord).rank(ord)]
	}
	return dst[:at+n]
}
