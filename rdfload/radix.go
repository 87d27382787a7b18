package rdfload

import (
	"math/bits"
	"sync"
)

// quad is a triple as numbers: in a run under construction ids of terms, in a
// sealed one their ranks in sorted order. The default graph is noGraph.
type quad [4]uint32

// noGraph is below every rank, so that the default graph sorts first, as the
// shorter key does. Ranks and ids of graphs are stored plus one.
const noGraph = 0

const (
	radixBits = 11
	radixSize = 1 << radixBits
)

// radixSort sorts from stably by the number at place, which is at most greatest,
// and returns the sorted quads and the other buffer: the two may have changed
// places. Time O(n * bits/11), on all workers.
func radixSort(from, to []quad, place int, greatest uint32, workers int) (sorted, other []quad) {
	for shift := 0; shift < bits.Len32(greatest); shift += radixBits {
		radixPass(from, to, place, shift, workers)
		from, to = to, from
	}
	return from, to
}

// radixPass scatters from into to, stably, by one digit. Each worker counts and
// scatters a share of its own; a digit's places go to the shares in order. There
// are at most maxQuads quads.
func radixPass(from, to []quad, place, shift, workers int) {
	const mask = radixSize - 1
	shares := split(len(from), workers)
	counts := make([][radixSize]uint32, len(shares))
	parallel(len(shares), func(w int) {
		count := &counts[w]
		for i := shares[w].lo; i < shares[w].hi; i++ {
			count[from[i][place]>>shift&mask]++
		}
	})
	at := uint32(0)
	for digit := range radixSize {
		for w := range counts {
			n := counts[w][digit]
			counts[w][digit] = at
			at += n
		}
	}
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

// share is a half-open range of indices.
type share struct{ lo, hi int }

// split cuts [0, n) into at most parts shares of about the same size.
func split(n, parts int) []share {
	parts = max(1, min(parts, n))
	shares := make([]share, parts)
	for i := range shares {
		shares[i] = share{n * i / parts, n * (i + 1) / parts}
	}
	return shares
}

// parallel calls f(0) to f(n-1) at the same time and waits for all.
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
