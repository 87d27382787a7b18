// Candidates of an index in place of all objects of a predicate.

package cost

import (
	"bytes"
	"fmt"
	"maps"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// candidateRows is how many rows can be read and filtered in the time for a candidate: it is found in the index, and
	// its rows are looked up.
	candidateRows = 32
	// maxCandidates bounds the candidates of a pattern.
	maxCandidates = 1 << 16
	// candidateBytes is about the size of a candidate beside its key.
	candidateBytes = 100
)

// candidates are the literals of a predicate that may pass a filter.
type candidates struct {
	spans []pattern.Span
	n     int
	ok    bool
}

// WithCandidates returns the restrictions of a pattern whose object must contain some texts: with the candidates of the
// index, if these cost less than all rows. An index that does not know them changes nothing.
func (e *Estimator) WithCandidates(p *algebra.TriplePattern, g pattern.Graphs, certain algebra.Set, spans map[int]pattern.Restriction) (map[int]pattern.Restriction, error) {
	// 1. The predicate must be known, and the subject and the object must not.
	index := e.Exec.Options.Literals
	if index == nil || p.Predicate.IsVar() || !p.Subject.IsVar() || !p.Object.IsVar() || certain.Has(p.Subject.Slot) || certain.Has(p.Object.Slot) || e.Exec.Source == nil {
		return spans, nil
	}
	slot, predicate := p.Object.Slot, p.Predicate.Term
	old := spans[slot]
	if old.Contains == nil || predicate.Kind() != triple.IRI || !index.Indexed(predicate.Value()) || e.Changed(predicate.Value()) {
		return spans, nil
	}
	// 2. Each request is sent once. A narrower range may hold fewer rows than there are candidates.
	key := fmt.Sprintf("%s\x00%t\x00%q\x00%d\x00%d", predicate.Value(), old.Contains.Any, old.Contains.Texts, slot, g.Mode)
	found, known := e.candidates[key]
	if !known {
		var err error
		if found, err = e.findCandidates(p, g, spans); err != nil {
			return spans, err
		}
		if e.candidates == nil {
			e.candidates = map[string]candidates{}
		}
		e.candidates[key] = found
	}
	if !found.ok {
		return spans, nil
	}
	with := maps.Clone(spans)
	text := fmt.Sprintf("trigrams of %s: %d candidates", predicate, found.n)
	if found.n == 1 {
		text = fmt.Sprintf("trigrams of %s: 1 candidate", predicate)
	}
	with[slot] = pattern.Restriction{Spans: found.spans, Candidates: text}
	return with, nil
}

// findCandidates requests the candidates for the object of a pattern.
func (e *Estimator) findCandidates(p *algebra.TriplePattern, g pattern.Graphs, spans map[int]pattern.Restriction) (found candidates, err error) {
	// 1. The rows that are read without candidates, and those that are read in any case.
	slot := p.Object.Slot
	need := spans[slot].Contains
	list := []Candidate{{Pat: NewPattern(p.Subject, p.Predicate, p.Object, g, spans)}}
	other := otherThanText()
	if need.Any {
		list = append(list, Candidate{Pat: NewPattern(p.Subject, p.Predicate, p.Object, g, map[int]pattern.Restriction{slot: {Spans: other}})})
	}
	if err := e.Survey(list, 0); err != nil {
		return found, err
	}
	rows := list[0].Rows
	if need.Any {
		rows -= list[1].Rows
	}
	most := min(int(rows/candidateRows), maxCandidates)
	if most < 1 {
		return found, nil
	}
	// 2. The candidates. If there is no room for them, rows are read.
	keys, err := e.Exec.Options.Literals.Candidates(e.Exec.Ctx, exec.LiteralRequest{Predicate: p.Predicate.Term.Value(), Texts: need.Texts, Most: most})
	if err != nil {
		return found, e.Exec.Check()
	}
	size := 0
	for _, key := range keys {
		size += 2*len(key) + candidateBytes
	}
	if holder := e.Exec.Account.NewHolder("candidates"); holder.Grow(size) != nil {
		return found, e.Exec.Check()
	}
	// 3. Each is a range of keys.
	found.ok, found.n, found.spans = true, len(keys), []pattern.Span{}
	if need.Any {
		found.spans = append(found.spans, other...)
	}
	for _, key := range keys {
		found.spans = append(found.spans, pattern.Span{Lo: key, Hi: append(bytes.Clone(key), 0, 2)})
	}
	return found, nil
}

// otherThanText returns the ranges of the terms that have a text and are no texts: IRIs, numbers, booleans and dates.
func otherThanText() []pattern.Span {
	lo, _ := triple.NodeSpan()
	hi, _ := triple.TextSpan()
	return []pattern.Span{{Lo: lo, Hi: hi}}
}
