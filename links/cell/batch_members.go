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
// It takes 1/128 byte for each page of the cell, 96 for each block with members, and 8 for
// each member.
type Members struct {
	// blocks[i] is where in bits the block of the ordinals from i<<9 on begins. The first
	// words of bits are a block without a member.
	blocks  []uint32
	bits    []uint64
	before  []uint32 // how many members are below those of each word of bits
	numbers []uint32 // by ordinals
	ords    []uint32 // ascending
}

// NewMembers returns the pages ords[i], each once, with numbers[i]. They are pages of a
// cell of that many pages. It keeps neither slice.
func NewMembers(pages int, ords, numbers []uint32) *Members {
	m := &Members{
		blocks:  make([]uint32, pages>>(wordShift+blockShift)+1),
		numbers: make([]uint32, len(ords)),
		ords:    make([]uint32, len(ords)),
	}
	for _, ord := range ords {
		m.blocks[ord>>(wordShift+blockShift)] = 1
	}
	words := uint32(blockMask + 1)
	for i, used := range m.blocks {
		if used != 0 {
			m.blocks[i] = words
			words += blockMask + 1
		}
	}
	m.bits, m.before = make([]uint64, words), make([]uint32, words)
	for _, ord := range ords {
		m.bits[m.word(ord)] |= 1 << (ord & wordMask)
	}
	before := uint32(0)
	for i, word := range m.bits {
		m.before[i] = before
		before += uint32(bits.OnesCount64(word))
	}
	for i, ord := range ords {
		rank := m.rank(ord)
		m.numbers[rank], m.ords[rank] = numbers[i], ord
	}
	return m
}

// word returns in which word of bits an ordinal is.
func (m *Members) word(ord uint32) uint32 {
	return m.blocks[ord>>(wordShift+blockShift)] + ord>>wordShift&blockMask
}

// rank returns how many members are below an ordinal.
func (m *Members) rank(ord uint32) uint32 {
	word := m.word(ord)
	return m.before[word] + uint32(bits.OnesCount64(m.bits[word]&(1<<(ord&wordMask)-1)))
}

// All returns the ordinals, ascending, and their numbers. Both slices are only to be read.
func (m *Members) All() (ords, numbers []uint32) { return m.ords, m.numbers }

// AppendNumbers appends the numbers of those of some pages of the cell that are members,
// in their order.
func (m *Members) AppendNumbers(dst, ords []uint32) []uint32 {
	at := len(dst)
	dst = slices.Grow(dst, len(ords))
	out := dst[at : at+len(ords)]
	// Without a branch, which would be mistaken too often.
	blocks, words, n := m.blocks, m.bits, 0
	for _, ord := range ords {
		out[n] = ord
		n += int(words[blocks[ord>>(wordShift+blockShift)]+ord>>wordShift&blockMask] >> (ord & wordMask) & 1)
	}
	out = out[:n]
	for i, ord := range out {
		out[i] = m.numbers[m.rank(ord)]
	}
	return dst[:at+n]
}
