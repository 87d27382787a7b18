// Distinct terms of patterns, estimated from samples.

package cost

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// Limits of a sample of a pattern.
const (
	SamplePlaces = 5  // number of sampled places
	sampleFound  = 50 // rows of the subjects met
)

// sampled reports whether a pattern should be sampled at a few places. It must match all rows
// of a predicate. Samples of POS show the rows of an object, and of a subject.
func (one *Candidate) sampled() bool {
	place := &one.Pat.Places
	return place[triple.Predicate].Key != "" && place[triple.Subject].Slot >= 0 && place[triple.Object].Slot >= 0 &&
		place[triple.Subject].Slot != place[triple.Object].Slot && one.Pat.Graphs.Mode != pattern.OneGraph
}

// Samples sets how many distinct terms patterns have, by samples of their rows:
// fewer than 200 rows of each are read.
func (e *Estimator) Samples(list []Candidate) error {
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
			one.Distinct[triple.Object] = max(1, one.Rows/max(1, rows/objects))
		}
	}
	return e.lookAtSubjects(list, subjects)
}

// subjectRange is the rows of a subject with the predicate of a candidate.
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

// lookAtSubjects looks up the subjects met. They were met by their rows,
// so those of many are among them more often: the mean is the harmonic one.
func (e *Estimator) lookAtSubjects(list []Candidate, subjects []subjectRange) error {
	if len(subjects) == 0 {
		return nil
	}
	// 1. Look up each subject once, in the order of keys.
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
	err := e.Exec.Source.Lookup(e.Exec.Ctx, ranges, func(i int, _, _ []byte) error {
		counts[i]++
		if found++; found == sampleFound*len(list) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	// 2. Add up the inverse counts of each candidate.
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
	// 3. The rows divided by the harmonic mean are the subjects.
	for i := range list {
		if n[i] > 0 {
			list[i].Distinct[triple.Subject] = max(1, list[i].Rows*inverse[i]/n[i])
		}
	}
	return nil
}
