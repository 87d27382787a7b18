// The radix sort of quads, and helpers for parallel work.

package rdfload

import (
	"math/bits"
	"sync"
)

// quad is a triple as four numbers. In the current run they are ids of terms; in a sealed run they
// are their ranks in sorted order. The default graph is noGraph.
type quad [4]uint32

// noGraph is below every rank: the default graph must sort first, because its key is shorter. Ranks
// and ids of graphs are stored plus one.
const noGraph = 0

const (
	radixBits = 11
	radixSize = 1 << radixBits
)

// radixSort sorts from stably by the number at place. That number must be at most greatest, and to
// must be as long as from. It returns the sorted quads and the other buffer, because the two may
// have been exchanged. Time O(n * bits/11), on all workers.
func radixSort(from, to []quad, place int, greatest uint32, workers int) (sorted, other []quad) {
	for shift := 0; shift < bits.Len32(greatest); shift += radixBits {
		radixPass(from, to, place, shift, workers)
		from, to = to, from
	}
	return from, to
}

// radixPass scatters from into to, stably, by one digit. Each worker counts and scatters its own
// share. It is stable because the places of a digit go to the shares in order. There must be at
// most maxQuads quads, because counts have 32 bits.
func radixPass(from, to []quad, place, shift, workers int) {
	const mask = radixSize - 1
	// 1. Count the digits of each share.
	shares := split(len(from), workers)
	counts := make([][radixSize]uint32, len(shares))
	parallel(len(shares), func(w int) {
		count := &counts[w]
		for i := shares[w].lo; i < shares[w].hi; i++ {
			count[from[i][place]>>shift&mask]++
		}
	})
	// 2. Turn counts into first places: by digit, then by share.
	at := uint32(0)
	for digit := range radixSize {
		for w := range counts {
			n := counts[w][digit]
			counts[w][digit] = at
			at += n
		}
	}
	// 3. Scatter. Workers need no lock, because their places are disjoint.
	parallel(len(shares), func(w int) {
		next := &counts[w]
		for i := shares[w].lo; i < shares[w].hi; i++ {
			q := from[i]
			digit := q[place] >> shift & mask
			to[next[digit]] = q
			next[digit]++
		}
	})
}

// share is a half-open range of indices: [lo, hi).
type share struct{ lo, hi int }

// split cuts [0, n) into at most parts shares of about the same size. It returns at least one,
// which may be empty.
func split(n, parts int) []share {
	parts = max(1, min(parts, n))
	shares := make([]share, parts)
	for i := range shares {
		shares[i] = share{n * i / parts, n * (i + 1) / parts}
	}
	return shares
}

// parallel calls f(0) to f(n-1) concurrently and waits for all. If n is 1, it calls f on this
// goroutine.
func parallel(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}
