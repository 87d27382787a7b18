// Steps of a join order with one subject become one operator.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// maxStar is how many patterns a star has at most.
const maxStar = 64

// star returns how many of the next steps one star joins; fewer than two: none.
func (b *patternJoin) star(steps []joinStep, in stream) int {
	if b.in.start && !b.at.lateral() && in.start || in.sorted {
		return 0
	}
	// 1. A step may join the star if it looks up the same subject and reads one range. No other
	// step of the star may bind its variables.
	subject := -1
	var bound algebra.Set // by patterns of the star
	for n := range min(len(steps), maxStar) {
		if steps[n].method != byLookup {
			return n
		}
		one := &b.list[steps[n].list[0]]
		s := one.pat.Places[triple.Subject].Slot
		if s < 0 || subject >= 0 && s != subject || !in.certain.Has(s) || one.same || one.pat.Places[triple.Predicate].Key == "" {
			return n
		}
		subject = s
		for slot := range one.vars.All {
			if bound.Has(slot) || in.possible.Has(slot) && !in.certain.Has(slot) {
				return n
			}
		}
		if a := b.starAccess(one, in); a.Prefix < 2 || len(a.Checked) > 0 || a.Spans != nil && len(a.Spans) != 1 {
			return n
		}
		// 2. If a step leaves few rows, end the star, because the next should not read for
		// dropped rows.
		if n > 0 && steps[n-1].rows < steps[max(n-2, 0)].rows/4 {
			return n // few rows are left to look up
		}
		for slot := range one.vars.All {
			if !in.certain.Has(slot) {
				bound.Add(slot)
			}
		}
	}
	return min(len(steps), maxStar)
}

// starAccess returns how a pattern is read from rows of in.
func (b *patternJoin) starAccess(one *candidate, in stream) *pattern.Access {
	row := make([]string, b.exec.Width)
	for slot := range in.certain.All {
		row[slot] = "x"
	}
	return one.pat.Access(one.pat.Mask(row))
}

// starOf joins in with patterns of one subject.
func (b *patternJoin) starOf(steps []joinStep, in stream) stream {
	q := b.exec
	rows := steps[len(steps)-1].rows // the estimate of the last step includes all before
	s := &exec.StarLookup{
		Exec: q, Alone: true, Chunk: exec.NewFirstRows(b.want.goal, rows/in.rows).Chunk, Batch: q.NewBatch(), Pick: make([]int, len(steps)),
		Finder: q.NewFinder(),
	}
	var details []func() string
	predicates := map[string]bool{}
	for i := range steps {
		in = b.terms(in, b.list[steps[i].list[0]].vars)
	}
	out := in
	// 1. If patterns have different predicates, their ranges do not overlap and are read in one
	// call. A repeated predicate must be in another group.
	for i := range steps {
		one := &b.list[steps[i].list[0]]
		s.Subject = one.pat.Places[triple.Subject].Slot
		part := exec.StarPart{Reader: q.NewReader(one.pat), Access: b.starAccess(one, in)}
		if key := one.pat.Places[triple.Predicate].Key; predicates[key] {
			part.Group = uint8(i)
		} else {
			predicates[key] = true
		}
		s.Parts = append(s.Parts, part)
		details = append(details, one.accessText(in.certain))
		for slot := range one.vars.All {
			if slot != s.Subject && in.certain.Has(slot) {
				s.Alone = false
			}
			out.bind(slot)
		}
	}
	// 2. Make the operator.
	s.Input = in.op
	out.rows = rows
	out = b.traced(out, s, "star look-up", listText(details, " . ", func(detail func() string) string { return detail() }), in.plan)
	s.Plan = out.plan
	s.SetPlan(out.plan)
	return out
}
