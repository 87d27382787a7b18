package exec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Limits of a sample of a pattern.
const (
	samplePlaces = 5   // where it is looked at
	sampleRun    = 10  // rows that are read there of one object
	sampleFound  = 50  // rows of the subjects that were met
	sampleLeast  = 200 // rows of a pattern that is not worth a sample
)

// sample looks at a few places of a pattern that is all rows of a predicate, for
// how many rows an object has, and a subject. It reads fewer than 200 rows.
func (c *compiler) sample(one *candidate) error {
	pat := one.pat
	if one.rows < sampleLeast || pat.place[triple.Predicate].key == "" || one.same ||
		pat.place[triple.Subject].slot < 0 || pat.place[triple.Object].slot < 0 || pat.graphs.mode == oneGraph {
		return nil
	}
	s := sampler{c: c, one: one, prefix: append(append([]byte{byte(triple.POS)}, pat.place[triple.Predicate].key...), 0, 1)}
	a := *pat
	a.order = triple.POS
	ranges, _ := a.ranges(nil, nil, a.access(1<<triple.Predicate), nil)
	for i, r := range ranges {
		if i == 2 { // of many ranges, the first ones
			break
		}
		if err := s.objects(r, samplePlaces/min(len(ranges), 2)); err != nil {
			return err
		}
	}
	if s.runs > 0 {
		one.distinct[triple.Object] = max(1, one.rows/max(1, s.rows/s.runs))
	}
	return s.subjectRows()
}

// sampler looks at places of the rows of one predicate.
type sampler struct {
	c          *compiler
	one        *candidate
	prefix     []byte
	runs, rows float64 // objects that were met, and their rows
	subjects   [][]byte
}

// objects looks at places of a range.
func (s *sampler) objects(r triple.Range, places int) error {
	q := s.c.query
	last, err := q.src.Scan(q.ctx, r, true)
	if err != nil {
		return err
	}
	var end []byte
	if last.Next() {
		end = bytes.Clone(last.Key())
	}
	if err := errors.Join(last.Err(), last.Close()); err != nil || end == nil {
		return err
	}
	rows, err := q.src.Scan(q.ctx, r, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return rows.Err()
	}
	begin := bytes.Clone(rows.Key())
	for i := range places {
		if i > 0 && !rows.SeekGE(between(begin, end, i, places)) {
			break
		}
		if err := s.run(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// run counts the rows of the object that rows is at.
func (s *sampler) run(rows Rows) error {
	_, terms, err := triple.SplitKey(rows.Key())
	if err != nil {
		return err
	}
	object := append(append(append([]byte{}, s.prefix...), terms[triple.Object]...), 0, 1)
	s.subjects = append(s.subjects, bytes.Clone(terms[triple.Subject]))
	n := 1
	for n < sampleRun && rows.Next() && bytes.HasPrefix(rows.Key(), object) {
		n++
	}
	s.runs++
	if n < sampleRun {
		s.rows += float64(n)
		return nil
	}
	hi := bytes.Clone(object)
	hi[len(hi)-1] = 2
	q := s.c.query
	many, _, err := q.src.Estimate(q.ctx, triple.Range{Lo: object, Hi: hi})
	s.rows += float64(many)
	return err
}

// between returns the key that is i n-ths of the way between two keys.
func between(lo, hi []byte, i, n int) []byte {
	same := 0
	for same < len(lo) && same < len(hi) && lo[same] == hi[same] {
		same++
	}
	number := func(b []byte) uint64 {
		var eight [8]byte
		copy(eight[:], b)
		return binary.BigEndian.Uint64(eight[:])
	}
	a, b := number(lo[same:]), number(hi[same:])
	key := bytes.Clone(lo[:same])
	return binary.BigEndian.AppendUint64(key, a+(b-a)/uint64(n)*uint64(i))
}

var errEnough = errors.New("enough rows")

// subjectRows looks up the subjects that were met. They were met by their rows, so
// that those of many are among them more often: the mean is the harmonic one.
func (s *sampler) subjectRows() error {
	q := s.c.query
	var ranges []triple.Range
	predicate := s.one.pat.place[triple.Predicate].key
	for _, subject := range s.subjects {
		lo := append(append(append([]byte{byte(triple.SPO)}, subject...), 0, 1), predicate...)
		hi := append(bytes.Clone(lo), 0, 2)
		ranges = append(ranges, triple.Range{Lo: append(lo, 0, 1), Hi: hi})
	}
	ranges = sortedRanges(ranges)
	counts := make([]float64, len(ranges))
	found := 0
	err := q.src.Lookup(q.ctx, ranges, func(i int, _, _ []byte) error {
		counts[i]++
		if found++; found == sampleFound {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	n, inverse := 0.0, 0.0
	for _, count := range counts {
		if count > 0 {
			n++
			inverse += 1 / count
		}
	}
	if n > 0 {
		s.one.distinct[triple.Subject] = max(1, s.one.rows*inverse/n)
	}
	return nil
}

// sortedRanges sorts ranges that are equal or apart, and leaves each once.
func sortedRanges(ranges []triple.Range) []triple.Range {
	compare := func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) }
	slices.SortFunc(ranges, compare)
	return slices.CompactFunc(ranges, func(a, b triple.Range) bool { return compare(a, b) == 0 })
}
