// Reading in steps, for who reads many URLs at once: each step does little but to read
// memory, so that the processor waits for that of many URLs together.

package urls

// Pieces returns where the node and the leaf begin that an ordinal's URL is read from, for
// Touch; zeros for one that is not below Len.
func (t *Table) Pieces(ordinal uint32) (node, leaf uint64) {
	if ordinal >= t.n {
		return 0, 0
	}
	k := int(ordinal >> t.shift)
	of := k >> nodeShift
	return t.offsets.At(of + of<<nodeShift), t.offsets.At(k + of + 1)
}

const lineBytes = 64 // of the processor's cache

// Touch reads the first lines of a piece. What it returns is of no use but that the
// processor must read for it.
func (t *Table) Touch(piece uint64) uint64 {
	if piece >= uint64(len(t.pieces)) {
		return 0
	}
	b := t.pieces[piece:]
	last := len(b) - 1
	return uint64(b[0]) | uint64(b[min(lineBytes, last)]) | uint64(b[min(2*lineBytes, last)])
}

// Runs are the runs of ordinals in which the URLs of a host may be.
type Runs struct{ first, last int }

// Runs returns those of a host, given its hash.
func (t *Table) Runs(hostHash uint64) Runs {
	first, last := t.hosts.find(hostHash)
	return Runs{first, last}
}

// First returns the first ordinal of the first run; false where there is none.
func (t *Table) First(r Runs) (ordinal uint32, ok bool) {
	if r.first >= r.last {
		return 0, false
	}
	return uint32(t.starts.At(int(t.hosts.numbers.At(r.first)))), true
}

// FindIn is FindBytes, given the runs of the URL's host.
func (t *Table) FindIn(url []byte, r Runs) (ordinal uint32, ok bool) {
	first, last := r.first, r.last
	strays := t.strays.keys.Len() > 0
	// To search several runs in vain takes longer than the list of strays does.
	if strays && last-first > 1 {
		if ordinal, ok = t.findStray(url); ok {
			return ordinal, true
		}
		strays = false
	}
	for i := first; i < min(last, first+maxCandidates); i++ {
		lo, hi := t.starts.Two(int(t.hosts.numbers.At(i)))
		if ordinal, ok = t.findInRun(url, uint32(lo), uint32(hi)); ok {
			return ordinal, true
		}
	}
	if strays {
		return t.findStray(url)
	}
	return 0, false
}
