// The join with one pattern: by look-ups, or by a scan for a single row.

package scan

import (
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Lookup joins its input with a pattern: for a chunk of input rows at a time, it looks up their
// ranges in the order of keys, each once, and gives the matches in the order of the input. A
// single row is scanned, because its matches need not be held.
type Lookup struct {
	q       *exec.Execution
	in      exec.Operator
	pat     *pattern.Pattern
	reader  pattern.Reader
	Plan    *explain.Plan
	Reverse bool
	access  [16]*pattern.Access

	input *solution.Batch
	more  *solution.Batch // of [fill]
	at    int             // the next row of input
	Chunk int             // how many rows to look up next
	soft  int             // how many rows a scan gives at a time: first.Rows at first
	first FirstRows

	Finder
	refs []ref // of the rows of the chunk, in their order
	ref  int   // the next one to give, and its next match
	give int

	rest   []triple.Range // of a row with many ranges: those that are not looked up yet
	rows   source.Rows    // of a scan
	ranges []triple.Range
	keys   []byte // of ranges
	row    int
	scan   *pattern.Access
}

// ref connects an input row with a range of a [Finder].
type ref struct {
	row    int32
	entry  int32
	access *pattern.Access
}

// FirstRows says how few rows a join gives at first, because the caller may need no more. The
// numbers double from there.
type FirstRows struct {
	Rows  int // rows of a scan
	Chunk int // rows of the input whose matches are looked up
}

// NewFirstRows returns the first rows of a join if a row of its input has about fan matches. goal
// is how many rows the query probably needs; 0 if that is not known. A chunk has about as many
// matches as rows are wanted.
func NewFirstRows(goal int64, fan float64) FirstRows {
	wanted := exec.FirstChunkRows
	if goal > 0 {
		wanted = int(min(goal, exec.FirstChunkRows))
	}
	f := FirstRows{Rows: wanted, Chunk: exec.FirstChunkRows}
	if chunk := float64(wanted) / fan; chunk < exec.FirstChunkRows {
		f.Chunk = max(1, int(chunk))
	}
	return f
}

// NewLookup returns the join of an operator's rows with a pattern. The reads are counted in the
// plan.
func NewLookup(q *exec.Execution, in exec.Operator, pat *pattern.Pattern, plan *explain.Plan, first FirstRows) *Lookup {
	l := &Lookup{q: q, in: in, pat: pat, Plan: plan, Finder: NewFinder(q), first: first, Chunk: first.Chunk, soft: first.Rows, input: q.NewBatch()}
	l.reader = q.NewReader(pat)
	return l
}

func (l *Lookup) Next(out *solution.Batch) error {
	for {
		if err := l.q.Check(); err != nil {
			return err
		}
		// A scan goes on first, then the matches of the chunk, then the next chunk, then more
		// input, because rows must keep the order of the input.
		switch {
		case l.scan != nil:
			if err := l.scanRows(out); err != nil {
				return err
			}
		case l.ref < len(l.refs):
			l.emit(out)
		case len(l.rest) > 0:
			if err := l.lookUpRest(); err != nil {
				return err
			}
		case l.at < l.input.Len:
			if err := l.begin(); err != nil {
				return err
			}
		default:
			l.at = 0
			if err := fill(l.in, l.input, &l.more, l.Chunk); err != nil {
				return err
			}
			if l.input.Len == 0 {
				return nil
			}
		}
		// Return after each chunk, because a LIMIT above may want no more.
		if out.Full() || out.Len > 0 && l.ref >= len(l.refs) {
			return nil
		}
	}
}

func (l *Lookup) accessOf(row []string) *pattern.Access {
	mask := l.pat.Mask(row)
	if l.access[mask] == nil {
		l.access[mask] = l.pat.Access(mask)
	}
	return l.access[mask]
}

// begin looks up the next chunk of input rows, or begins a scan.
func (l *Lookup) begin() error {
	for {
		// 1. A single row is scanned, because its matches may be many and need not be held. If it has many ranges, it is one
		// unless those of two rows can be looked up together.
		n := min(l.Chunk, l.input.Len-l.at)
		a := l.accessOf(l.input.Row(l.at))
		many := a.IsMany() && !l.Reverse
		if many {
			n = min(n, max(exec.LastChunkRows/len(a.Spans), 1))
		}
		if n == 1 && a.Prefix < 3 {
			l.scan, l.row = a, l.at
			l.ranges, l.keys = l.pat.Ranges(l.ranges[:0], l.keys[:0], a, l.input.Row(l.at))
			if l.Reverse {
				slices.Reverse(l.ranges)
			}
			if many {
				l.scan, l.rest, l.ranges = nil, l.ranges, nil
			}
			l.reader.BeginRange()
			l.at++
			if l.Chunk < solution.BatchRows {
				l.Chunk *= 2
			}
			return nil
		}
		// 2. Look up a chunk of rows. If it has too many matches, a smaller one is tried.
		err := l.lookUp(n)
		if errors.Is(err, errOverflow) {
			l.drop()
			l.Chunk = max(1, n/4)
			continue
		}
		if err != nil {
			return err
		}
		// 3. Chunks grow while they find little.
		l.at += n
		if len(l.found) < maxFound/4 && l.Chunk < exec.LastChunkRows {
			l.Chunk *= 2
		}
		return nil
	}
}

// lookUpRest looks up the next ranges of a row with many, all in one call, because each scan by itself may be a message
// to another machine.
func (l *Lookup) lookUpRest() error {
	a := l.accessOf(l.input.Row(l.row))
	for n := min(l.Chunk, len(l.rest)); ; n = max(1, n/4) {
		// 1. Look up some ranges, each once.
		l.refs, l.ref, l.give = l.refs[:0], 0, 0
		l.Finder.clear()
		for i, r := range l.rest[:n] {
			l.requests = append(l.requests, request{r: r, reader: &l.reader, access: a, group: a.Mask})
			l.refs = append(l.refs, ref{row: int32(l.row), entry: int32(i), access: a})
		}
		err := l.find(l.q, l.Plan, true)
		switch {
		case errors.Is(err, errOverflow):
			// 2. With too many matches fewer are tried, and at last one is scanned.
			l.refs = l.refs[:0]
			l.drop()
			if l.Chunk = max(1, n/4); n > 1 {
				continue
			}
			l.scan, l.ranges, l.rest = a, append(l.ranges[:0:0], l.rest[0]), l.rest[1:]
			l.reader.BeginRange()
			return nil
		case err != nil:
			l.refs = l.refs[:0]
			return err
		}
		// 3. Chunks grow while they find little.
		l.rest = l.rest[n:]
		if len(l.found) < maxFound/4 && l.Chunk < exec.LastChunkRows {
			l.Chunk *= 2
		}
		return nil
	}
}

// lookUp looks up n rows of the input.
func (l *Lookup) lookUp(n int) error {
	l.refs, l.ref, l.give = l.refs[:0], 0, 0
	l.Finder.expect(n)
	l.Finder.clear()
	for i := l.at; i < l.at+n; i++ {
		row := l.input.Row(i)
		a := l.accessOf(row)
		first := len(l.requests)
		l.request(&l.reader, a, row, a.Mask)
		for e := first; e < len(l.requests); e++ {
			entry := int32(e)
			if e == first && e+1 == len(l.requests) && l.repeats() {
				l.requests = l.requests[:first]
				entry--
			}
			l.refs = append(l.refs, ref{row: int32(i), entry: entry, access: a})
		}
	}
	err := l.find(l.q, l.Plan, n > 1)
	if err != nil {
		l.refs = l.refs[:0]
	}
	return err
}

// emit gives the matches of the chunk.
func (l *Lookup) emit(out *solution.Batch) {
	for l.ref < len(l.refs) {
		ref := &l.refs[l.ref]
		found := l.matches(int(ref.entry))
		row, ord := l.input.Row(int(ref.row)), l.input.Origin[ref.row]
		for ; l.give < len(found); l.give++ {
			if out.Full() {
				return
			}
			l.reader.Extend(ref.access, out, row, ord, &found[l.give])
		}
		l.ref++
		l.give = 0
	}
}

// scanRows gives the matches of one input row.
func (l *Lookup) scanRows(out *solution.Batch) error {
	row, ord := l.input.Row(l.row), l.input.Origin[l.row]
	// 1. Give few rows at first, because the caller may need no more.
	most := out.Len + l.soft
	l.soft = min(2*l.soft, solution.BatchRows)
	for !out.Full() && out.Len < most {
		// 2. Open the next range.
		if l.rows == nil {
			if len(l.ranges) == 0 {
				l.scan = nil
				return nil
			}
			rows, err := l.q.Source.Scan(l.q.Ctx, l.ranges[0], l.Reverse)
			if err != nil {
				return err
			}
			l.rows, l.ranges = rows, l.ranges[1:]
		}
		// 3. Read it until the batch is full. An error of Close counts if Err has none.
		reads := 0
		for !out.Full() && out.Len < most {
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
			if reads++; reads%solution.BatchRows == 0 {
				if err := l.q.Check(); err != nil {
					return err
				}
			}
			key, value := l.rows.Row()
			found, ok, err := l.reader.Read(l.scan, key, value)
			if err != nil {
				return err
			}
			if ok {
				l.reader.Extend(l.scan, out, row, ord, &found)
			}
		}
		l.Plan.AddReads(reads)
	}
	return nil
}

func (l *Lookup) stop() {
	if l.rows != nil {
		_ = l.rows.Close() // a finished scan is never read again
		l.rows = nil
	}
	l.scan, l.ranges, l.rest = nil, nil, nil
	l.refs, l.ref, l.give = l.refs[:0], 0, 0
}

func (l *Lookup) Reset() {
	l.stop()
	l.input.Clear()
	l.at, l.soft = 0, l.first.Rows // the chunk fitted, so it will again
	l.in.Reset()
}

func (l *Lookup) Close() {
	l.stop()
	l.drop()
	l.input.Free()
	if l.more != nil {
		l.more.Free()
	}
	l.in.Close()
}
