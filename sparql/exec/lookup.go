package exec

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// lookup joins its input with a pattern: for a chunk of input rows at a time, it
// looks up their ranges in the order of keys, each once, and gives what it found
// in the order of the input. A single row is scanned, as its matches need not be
// held.
type lookup struct {
	q       *query
	in      operator
	pat     *pattern
	reader  reader
	plan    *Plan
	reverse bool
	access  [16]*access

	input *batch
	at    int // the next row of input
	chunk int // how many rows to look up next
	soft  int // how many rows a scan gives at a time: few at first, as none may want more

	found   [][4]string
	entries []entry
	refs    []ref // of the rows of the chunk, in their order
	ref     int   // the one to give next, and what of it
	give    int

	rows   Rows // of a scan
	ranges []triple.Range
	row    int
	scan   *access
}

// entry is one range and what it holds: found[from:to].
type entry struct {
	r        triple.Range
	from, to int
}

// ref says that an input row asks for an entry.
type ref struct {
	row, entry int
	access     *access
	lo         []byte
	hi         []byte
}

const (
	firstChunkRows = 16
	maxFound       = 32 << 10
)

var errOverflow = errors.New("more matches than are held")

func newLookup(q *query, in operator, pat *pattern, plan *Plan) *lookup {
	l := &lookup{q: q, in: in, pat: pat, plan: plan, chunk: firstChunkRows, soft: firstChunkRows, input: newBatch(q.width)}
	l.reader = reader{q: q, pat: pat}
	return l
}

func (l *lookup) next(out *batch) error {
	for {
		if err := l.q.check(); err != nil {
			return err
		}
		switch {
		case l.scan != nil:
			if err := l.scanRows(out); err != nil {
				return err
			}
		case l.ref < len(l.refs):
			l.emit(out)
		case l.at < l.input.n:
			if err := l.begin(); err != nil {
				return err
			}
		default:
			l.input.clear()
			l.at = 0
			if err := l.in.next(l.input); err != nil {
				return err
			}
			if l.input.n == 0 {
				return nil
			}
		}
		if out.full() || out.n > 0 && l.ref >= len(l.refs) {
			return nil
		}
	}
}

func (l *lookup) accessOf(row []string) *access {
	mask := l.pat.mask(row)
	if l.access[mask] == nil {
		l.access[mask] = l.pat.access(mask)
	}
	return l.access[mask]
}

// begin looks up the next chunk of input rows, or begins a scan.
func (l *lookup) begin() error {
	for {
		n := min(l.chunk, l.input.n-l.at)
		if n == 1 {
			if a := l.accessOf(l.input.row(l.at)); a.prefix < 3 {
				l.scan, l.row = a, l.at
				l.ranges = l.pat.ranges(l.ranges[:0], a, l.input.row(l.at))
				if l.reverse {
					slices.Reverse(l.ranges)
				}
				l.reader.spo = l.reader.spo[:0]
				l.at++
				if l.chunk < batchRows {
					l.chunk *= 2
				}
				return nil
			}
		}
		err := l.lookUp(n)
		if errors.Is(err, errOverflow) {
			l.chunk = max(1, n/4)
			continue
		}
		if err != nil {
			return err
		}
		l.at += n
		if len(l.found) < maxFound/4 && l.chunk < 4*batchRows {
			l.chunk *= 2
		}
		return nil
	}
}

// lookUp looks up n rows of the input.
func (l *lookup) lookUp(n int) error {
	l.refs, l.found, l.entries = l.refs[:0], l.found[:0], l.entries[:0]
	l.ref, l.give = 0, 0
	var masks [16]bool
	var ranges []triple.Range
	for i := l.at; i < l.at+n; i++ {
		row := l.input.row(i)
		a := l.accessOf(row)
		masks[a.mask] = true
		ranges = l.pat.ranges(ranges[:0], a, row)
		for _, r := range ranges {
			l.refs = append(l.refs, ref{row: i, access: a, lo: r.Lo, hi: r.Hi})
		}
	}
	for mask, some := range masks {
		if some {
			if err := l.lookUpMask(uint8(mask), n); err != nil {
				l.refs = l.refs[:0]
				return err
			}
		}
	}
	return nil
}

func (l *lookup) lookUpMask(mask uint8, n int) error {
	var order []int
	for i := range l.refs {
		if l.refs[i].access.mask == mask {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := bytes.Compare(l.refs[a].lo, l.refs[b].lo); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	first := len(l.entries)
	var ranges []triple.Range
	for _, i := range order {
		r := triple.Range{Lo: l.refs[i].lo, Hi: l.refs[i].hi}
		if len(ranges) == 0 || !bytes.Equal(ranges[len(ranges)-1].Lo, r.Lo) {
			ranges = append(ranges, r)
			l.entries = append(l.entries, entry{r: r})
		}
		l.refs[i].entry = len(l.entries) - 1
	}
	a := l.access[mask]
	l.reader.spo = l.reader.spo[:0]
	last, reads := -1, 0
	err := l.q.src.Lookup(l.q.ctx, ranges, func(i int, key, value []byte) error {
		if reads++; reads%batchRows == 0 {
			if err := l.q.check(); err != nil {
				return err
			}
		}
		found, ok, err := l.reader.read(a, key, value)
		if err != nil || !ok {
			return err
		}
		if n > 1 && len(l.found) >= maxFound {
			return errOverflow
		}
		e := &l.entries[first+i]
		if i != last {
			last, e.from = i, len(l.found)
		}
		l.found = append(l.found, found)
		e.to = len(l.found)
		return nil
	})
	l.plan.read(reads)
	return err
}

// emit gives what was found for the chunk.
func (l *lookup) emit(out *batch) {
	for l.ref < len(l.refs) {
		ref := &l.refs[l.ref]
		e := &l.entries[ref.entry]
		row, ord := l.input.row(ref.row), l.input.ord[ref.row]
		for e.from+l.give < e.to {
			if out.full() {
				return
			}
			l.reader.extend(ref.access, out, row, ord, &l.found[e.from+l.give])
			l.give++
		}
		l.ref++
		l.give = 0
	}
}

// scanRows gives the matches of one input row.
func (l *lookup) scanRows(out *batch) error {
	row, ord := l.input.row(l.row), l.input.ord[l.row]
	most := out.n + l.soft
	l.soft = min(2*l.soft, batchRows)
	for !out.full() && out.n < most {
		if l.rows == nil {
			if len(l.ranges) == 0 {
				l.scan = nil
				return nil
			}
			rows, err := l.q.src.Scan(l.q.ctx, l.ranges[0], l.reverse)
			if err != nil {
				return err
			}
			l.rows, l.ranges = rows, l.ranges[1:]
		}
		reads := 0
		for !out.full() && out.n < most {
			if !l.rows.Next() {
				err := l.rows.Err()
				if e := l.rows.Close(); err == nil {
					err = e
				}
				l.rows = nil
				if err != nil {
					return err
				}
				break
			}
			if reads++; reads%batchRows == 0 {
				if err := l.q.check(); err != nil {
					return err
				}
			}
			found, ok, err := l.reader.read(l.scan, l.rows.Key(), l.rows.Value())
			if err != nil {
				return err
			}
			if ok {
				l.reader.extend(l.scan, out, row, ord, &found)
			}
		}
		l.plan.read(reads)
	}
	return nil
}

func (l *lookup) stop() {
	if l.rows != nil {
		_ = l.rows.Close() // what ends here is not read any more
		l.rows = nil
	}
	l.scan, l.ranges = nil, nil
	l.refs, l.ref, l.give = l.refs[:0], 0, 0
}

func (l *lookup) reset() {
	l.stop()
	l.input.clear()
	l.at, l.chunk, l.soft = 0, firstChunkRows, firstChunkRows
	l.in.reset()
}

func (l *lookup) close() {
	l.stop()
	l.in.close()
}
