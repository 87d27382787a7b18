// Reading in steps, for batches of URLs. Each step does little but read memory, so that the cache
// misses of many URLs overlap.

package urls

// Pieces returns the offsets of the node and the leaf of an ordinal's URL, for Touch. If the
// ordinal is not below Len, it returns zeros.
func (t *Table) Pieces(ordinal uint32) (node, leaf uint64) {
	if ordinal >= t.n {
		return 0, 0
	}
	k := int(ordinal >> t.shift)
	of := k >> nodeShift
	return t.offsets.At(of + of<<nodeShift), t.offsets.At(k + of + 1)
}

const lineBytes = 64 // a line of the processor's cache

// Touch reads the first lines of a piece into the cache. The result has no meaning: it exists
// because the compiler must not drop the reads.
func (t *Table) Touch(piece uint64) uint64 {
	if piece >= uint64(len(t.pieces)) {
		return 0
	}
	b := t.pieces[piece:]
	last := len(b) - 1
	return uint64(b[0]) | uint64(b[min(lineBytes, last)]) | uint64(b[min(2*lineBytes, last)])
}

// Runs are the runs of ordinals with the URLs of a host.
type Runs struct{ first, last int }

// Runs returns the runs of a host, given its hash.
func (t *Table) Runs(hostHash uint64) Runs {
	first, last := t.hosts.find(hostHash)
	return Runs{first, last}
}

// First returns the first ordinal of the first run. It returns false if there is no run.
func (t *Table) First(r Runs) (ordinal uint32, ok bool) {
	if r.first >= r.last {
		return 0, false
	}
	return uint32(t.starts.At(int(t.hosts.numbers.get(r.first)))), true
}

// FindIn is FindBytes, given the runs of the URL's host.
func (t *Table) FindIn(url []byte, r Runs) (ordinal uint32, ok bool) {
	first, last := r.first, r.last
	strays := t.strays.keys.Len() > 0
	// Strays come first if there are several runs, because a failed search of these takes longer.
	if strays && last-first > 1 {
		if ordinal, ok = t.findStray(url); ok {
			return ordinal, true
		}
		strays = false
	}
	for i := first; i < min(last, first+maxCandidates); i++ {
		lo, hi := t.starts.Pair(int(t.hosts.numbers.get(i)))
		if ordinal, ok = t.findInRun(url, uint32(lo), uint32(hi)); ok {
			return ordinal, true
		}
	}
	if strays {
		return t.findStray(url)
	}
	return 0, false
}
