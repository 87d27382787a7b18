package exec

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Limits of a sample of a pattern.
const (
	samplePlaces = 5  // where it is looked at
	sampleFound  = 50 // rows of the subjects that were met
)

// sampled reports whether a pattern that is all rows of a predicate is worth a
// look at a few places, for how many rows an object has, and a subject: its
// samples are of POS.
func (one *candidate) sampled() bool {
	place := &one.pat.place
	return place[triple.Predicate].key != "" && place[triple.Subject].slot >= 0 && place[triple.Object].slot >= 0 &&
		place[triple.Subject].slot != place[triple.Object].slot && one.pat.graphs.mode != oneGraph
}

// samples sets how many distinct terms patterns have, by samples of their rows:
// fewer than 200 rows of each are read.
func (c *compiler) samples(list []candidate) error {
	var subjects []subjectRange
	for i := range list {
		one := &list[i]
		objects, rows := 0.0, 0.0
		for _, s := range one.met {
			_, terms, err := triple.SplitKey(s.Key)
			if err != nil {
				return err
			}
			objects++
			rows += float64(s.Rows)
			subjects = append(subjects, subjectRange{i, subjectRows(terms[triple.Subject], terms[triple.Predicate])})
		}
		if objects > 0 {
			one.distinct[triple.Object] = max(1, one.rows/max(1, rows/objects))
		}
	}
	return c.lookAtSubjects(list, subjects)
}

// subjectRange is the rows that a subject has of the predicate of a candidate.
type subjectRange struct {
	candidate int
	triple.Range
}

func subjectRows(subject, predicate []byte) triple.Range {
	lo := append(append(append([]byte{byte(triple.SPO)}, subject...), 0, 1), predicate...)
	hi := append(bytes.Clone(lo), 0, 2)
	return triple.Range{Lo: append(lo, 0, 1), Hi: hi}
}

var errEnough = errors.New("enough rows")

// lookAtSubjects looks up the subjects that were met. They were met by their rows,
// so that those of many are among them more often: the mean is the harmonic one.
func (c *compiler) lookAtSubjects(list []candidate, subjects []subjectRange) error {
	if len(subjects) == 0 {
		return nil
	}
	slices.SortStableFunc(subjects, func(a, b subjectRange) int { return bytes.Compare(a.Lo, b.Lo) })
	var ranges []triple.Range
	place := make([]int, len(subjects)) // in ranges
	for i, s := range subjects {
		if i == 0 || !bytes.Equal(s.Lo, subjects[i-1].Lo) {
			ranges = append(ranges, s.Range)
		}
		place[i] = len(ranges) - 1
	}
	counts := make([]float64, len(ranges))
	found := 0
	err := c.query.src.Lookup(c.query.ctx, ranges, func(i int, _, _ []byte) error {
		counts[i]++
		if found++; found == sampleFound*len(list) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	n, inverse := make([]float64, len(list)), make([]float64, len(list))
	last := map[int]int{} // of a candidate: each range counts once
	for i, s := range subjects {
		count := counts[place[i]]
		if before, ok := last[s.candidate]; count == 0 || ok && before == place[i] {
			continue
		}
		last[s.candidate] = place[i]
		n[s.candidate]++
		inverse[s.candidate] += 1 / count
	}
	for i := range list {
		if n[i] > 0 {
			list[i].distinct[triple.Subject] = max(1, list[i].rows*inverse[i]/n[i])
		}
	}
	return nil
}
