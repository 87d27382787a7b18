// Links of ordinals in memory, from a pass over the store until cells are made of them.

package build

import (
	"math/bits"

	"github.com/trefoildb/trefoil/links/cell"
)

// spanLinks is the links of the pages of a span. Forward links are in no order. Backward links
// to one page come together, because the store's rows do.
type spanLinks struct {
	Forward  edgeList
	Backward runList
	labels   []labelled
	bytes    int64 // of both lists, even if they are dropped
}

// labelled is a link with a label.
type labelled struct {
	edge  uint64
	label cell.Label
}

// edgeList is a list of edges in pieces, so that growth copies nothing. An edge is the ordinals
// of its source and its target, in the upper and the lower half of a word.
type edgeList struct {
	Pieces [][]uint64 // all but the last one
	last   []uint64
}

const (
	// firstPiece is the length of the first piece in bytes, mostPiece the greatest length. Each
	// piece is twice as long as the one before.
	firstPiece = 4 << 10
	mostPiece  = 512 << 10
	EdgeBytes  = 8
	WordLen    = 4 // bytes of a word of runs
)

// pieceBytes returns the length of the next piece.
func pieceBytes(before int) int { return min(firstPiece<<min(before, 16), mostPiece) }

func (l *edgeList) add(edge uint64) {
	if len(l.last) == cap(l.last) {
		l.endPiece()
		l.last = make([]uint64, 0, pieceBytes(len(l.Pieces))/EdgeBytes)
	}
	l.last = append(l.last, edge)
}

// endPiece appends the last piece to the others.
func (l *edgeList) endPiece() {
	if len(l.last) > 0 {
		l.Pieces = append(l.Pieces, l.last)
	}
	l.last = nil
}

// runList is links by their targets, in pieces of runs. A run is a target, the number of its
// sources, and the sources. If a piece or a part ends within a target, it has several runs.
type runList struct {
	Pieces [][]uint32
	count  int // index of the last run's count in the last piece; 0 if there is none
}

// runHead is the number of words of a run before its sources.
const runHead = 2

// add adds links to a target and returns the number of words that they take.
func (l *runList) add(dst uint32, srcs []uint32) (words int) {
	for len(srcs) > 0 {
		last := len(l.Pieces) - 1
		goesOn := l.count > 0 && l.Pieces[last][l.count-1] == dst
		if last < 0 || cap(l.Pieces[last])-len(l.Pieces[last]) < 1+runHead && !(goesOn && len(l.Pieces[last]) < cap(l.Pieces[last])) {
			l.Pieces = append(l.Pieces, make([]uint32, 0, pieceBytes(last+1)/WordLen))
			last++
			goesOn = false
		}
		piece := l.Pieces[last]
		if !goesOn {
			l.count = len(piece) + 1
			piece = append(piece, dst, 0)
			words += runHead
		}
		n := min(len(srcs), cap(piece)-len(piece))
		piece = append(piece, srcs[:n]...)
		piece[l.count] += uint32(n)
		words += n
		srcs, l.Pieces[last] = srcs[n:], piece
	}
	return words
}

// EachRun calls do for the runs of a piece, with the index of each.
func EachRun(piece []uint32, do func(at int, dst uint32, srcs []uint32)) {
	for at := 0; at < len(piece); {
		dst, n := piece[at], int(piece[at+1])
		do(at, dst, piece[at+runHead:at+runHead+n])
		at += runHead + n
	}
}

// take moves the links of other to l. other must not be used any more.
func (l *spanLinks) take(other *spanLinks) {
	other.Forward.endPiece()
	l.Forward.Pieces = append(l.Forward.Pieces, other.Forward.Pieces...)
	l.Backward = runList{Pieces: append(l.Backward.Pieces, other.Backward.Pieces...)}
	l.labels = append(l.labels, other.labels...)
	l.bytes += other.bytes
}

// drop frees the links, but keeps the count of their bytes.
func (l *spanLinks) drop() { *l = spanLinks{bytes: l.bytes} }

// ordinalSet is a set of ordinals, and the index of each among them.
type ordinalSet []ordinalWord

type ordinalWord struct {
	bits   uint64
	before uint32 // number of ordinals in the words before; set by number
}

// newOrdinalSet returns a set for ordinals below n.
func newOrdinalSet(n int) ordinalSet { return make(ordinalSet, n/64+1) }

func (s ordinalSet) add(o uint32) { s[o/64].bits |= 1 << (o % 64) }

// number assigns indexes to the ordinals, and returns their count.
func (s ordinalSet) number() (n uint32) {
	for i := range s {
		s[i].before = n
		n += uint32(bits.OnesCount64(s[i].bits))
	}
	return n
}

// place returns the index of an ordinal of the set. number must have been called.
func (s ordinalSet) place(o uint32) uint32 {
	w := &s[o/64]
	return w.before + uint32(bits.OnesCount64(w.bits&(1<<(o%64)-1)))
}

// each calls do for the ordinals of the set in ascending order.
func (s ordinalSet) each(do func(o uint32)) {
	for i := range s {
		for w := s[i].bits; w != 0; w &= w - 1 {
			do(uint32(64*i + bits.TrailingZeros64(w)))
		}
	}
}
