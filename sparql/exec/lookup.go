package exec

import (
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
	more  *batch // of [fill]
	at    int    // the next row of input
	chunk int    // how many rows to look up next
	soft  int    // how many rows a scan gives at a time: few at first, as none may want more

	finder
	refs []ref // of the rows of the chunk, in their order
	ref  int   // the one to give next, and what of it
	give int

	rows   Rows // of a scan
	ranges []triple.Range
	keys   []byte // of ranges
	row    int
	scan   *access
}

// ref says that an input row asks for a range of a [finder].
type ref struct {
	row    int32
	entry  int32
	access *access
}

const (
	firstChunkRows = 16
	lastChunkRows  = 4 * batchRows
)

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
			l.at = 0
			if err := fill(l.in, l.input, &l.more, l.chunk); err != nil {
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
				l.ranges, l.keys = l.pat.ranges(l.ranges[:0], l.keys[:0], a, l.input.row(l.at))
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
		if len(l.found) < maxFound/4 && l.chunk < lastChunkRows {
			l.chunk *= 2
		}
		return nil
	}
}

// lookUp looks up n rows of the input.
func (l *lookup) lookUp(n int) error {
	l.refs, l.ref, l.give = l.refs[:0], 0, 0
	l.finder.expect(n)
	l.finder.clear()
	for i := l.at; i < l.at+n; i++ {
		row := l.input.row(i)
		a := l.accessOf(row)
		first := len(l.asked)
		l.ask(&l.reader, a, row, a.mask)
		for e := first; e < len(l.asked); e++ {
			entry := int32(e)
			if e == first && e+1 == len(l.asked) && l.repeats() {
				l.asked = l.asked[:first]
				entry--
			}
			l.refs = append(l.refs, ref{row: int32(i), entry: entry, access: a})
		}
	}
	err := l.find(l.q, l.plan, n > 1)
	if err != nil {
		l.refs = l.refs[:0]
	}
	return err
}

// emit gives what was found for the chunk.
func (l *lookup) emit(out *batch) {
	for l.ref < len(l.refs) {
		ref := &l.refs[l.ref]
		found := l.of(int(ref.entry))
		row, ord := l.input.row(int(ref.row)), l.input.ord[ref.row]
		for ; l.give < len(found); l.give++ {
			if out.full() {
				return
			}
			l.reader.extend(ref.access, out, row, ord, &found[l.give])
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
	l.at, l.soft = 0, firstChunkRows // a chunk that fitted fits again
	l.in.reset()
}

func (l *lookup) close() {
	l.stop()
	l.in.close()
}
