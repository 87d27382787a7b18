// Members: the members of a page set among many link targets.

package cell

import (
	"math/bits"
	"slices"
)

const (
	wordShift  = 6 // a word of bits covers 64 ordinals
	wordMask   = 1<<wordShift - 1
	blockShift = 3 // a block has 8 words
	blockMask  = 1<<blockShift - 1
)

// Members is a set of pages of a cell, each with a number. It finds the links to them by
// ordinals, without making UIDs. It is a bitmap by ordinal in blocks of 512; a block is left out
// if it has no member. It is immutable and safe for concurrent use.
//
// It takes 1/128 byte for each page of the cell, 96 bytes for each block with members, and 8 for
// each member.
type Members struct {
	// blocks[i] is the index in bits of the block of the ordinals from i<<9 on. The first words
	// of bits are an empty block, shared by all blocks without a member.
	blocks  []uint32
	bits    []uint64
	before  []uint32 // members below those of each word of bits
	numbers []uint32 // by ordinals
	ords    []uint32 // ascending
}

// NewMembers returns the set of pages ords[i] with numbers[i]. Each ordinal must occur once and
// be below pages, the cell's number of pages. It keeps neither slice.
func NewMembers(pages int, ords, numbers []uint32) *Members {
	m := &Members{
		blocks:  make([]uint32, pages>>(wordShift+blockShift)+1),
		numbers: make([]uint32, len(ords)),
		ords:    make([]uint32, len(ords)),
	}
	for _, ord := range ords {
		m.blocks[ord>>(wordShift+blockShift)] = 1
	}
	// 1. Give words to blocks with members only. The first block stays empty, because all others
	// share it.
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
	// 2. Count the members before each word, because rank must not add up words.
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

// word returns the index in bits of an ordinal's word.
func (m *Members) word(ord uint32) uint32 {
	return m.blocks[ord>>(wordShift+blockShift)] + ord>>wordShift&blockMask
}

// rank returns the number of members below an ordinal.
func (m *Members) rank(ord uint32) uint32 {
	word := m.word(ord)
	return m.before[word] + uint32(bits.OnesCount64(m.bits[word]&(1<<(ord&wordMask)-1)))
}

// All returns the ordinals, ascending, and their numbers. The caller must not change the slices.
func (m *Members) All() (ords, numbers []uint32) { return m.ords, m.numbers }

// AppendNumbers appends the numbers of the members among ords, in the order of ords. Each must
// be an ordinal of the cell.
func (m *Members) AppendNumbers(dst, ords []uint32) []uint32 {
	at := len(dst)
	dst = slices.Grow(dst, len(ords))
	out := dst[at : at+len(ords)]
	// The loop has no branch, because one would be mispredicted too often.
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
