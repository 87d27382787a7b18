// Steps of a join order with one subject become one operator.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/scan"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// maxStar is how many patterns a star has at most.
const maxStar = 64

// star returns how many of the next steps one star joins; fewer than two: none.
func (b *patternJoin) star(steps []order.Step, in Stream) int {
	if b.in.Start && !b.At.Lateral() && in.Start || in.Sorted {
		return 0
	}
	// 1. A step may join the star if it looks up the same subject and reads one range. No other
	// step of the star may bind its variables.
	subject := -1
	var bound algebra.Set // by patterns of the star
	for n := range min(len(steps), maxStar) {
		if steps[n].Method != order.ByLookup {
			return n
		}
		one := &b.list[steps[n].List[0]]
		s := one.Pat.Places[triple.Subject].Slot
		if s < 0 || subject >= 0 && s != subject || !in.Certain.Has(s) || one.Same || one.Pat.Places[triple.Predicate].Key == "" {
			return n
		}
		subject = s
		for slot := range one.Vars.All {
			if bound.Has(slot) || in.Possible.Has(slot) && !in.Certain.Has(slot) {
				return n
			}
		}
		if a := b.starAccess(one, in); a.Prefix < 2 || len(a.Checked) > 0 || a.Spans != nil && len(a.Spans) != 1 {
			return n
		}
		// 2. If a step leaves few rows, end the star, because the next should not read for
		// dropped rows.
		if n > 0 && steps[n-1].Rows < steps[max(n-2, 0)].Rows/4 {
			return n // few rows are left to look up
		}
		for slot := range one.Vars.All {
			if !in.Certain.Has(slot) {
				bound.Add(slot)
			}
		}
	}
	return min(len(steps), maxStar)
}

// starAccess returns how a pattern is read from rows of in.
func (b *patternJoin) starAccess(one *cost.Candidate, in Stream) *pattern.Access {
	row := make([]string, b.Exec.Width)
	for slot := range in.Certain.All {
		row[slot] = "x"
	}
	return one.Pat.Access(one.Pat.Mask(row))
}

// starOf joins in with patterns of one subject.
func (b *patternJoin) starOf(steps []order.Step, in Stream) Stream {
	q := b.Exec
	rows := steps[len(steps)-1].Rows // the estimate of the last step includes all before
	s := &scan.Star{
		Exec: q, Alone: true, Chunk: scan.NewFirstRows(b.Want.Goal, rows/in.Rows).Chunk, Batch: q.NewBatch(), Pick: make([]int, len(steps)),
		Finder: scan.NewFinder(q),
	}
	var details []func() string
	predicates := map[string]bool{}
	for i := range steps {
		in = b.Terms(in, b.list[steps[i].List[0]].Vars)
	}
	out := in
	// 1. If patterns have different predicates, their ranges do not overlap and are read in one
	// call. A repeated predicate must be in another group.
	for i := range steps {
		one := &b.list[steps[i].List[0]]
		s.Subject = one.Pat.Places[triple.Subject].Slot
		part := scan.StarPart{Reader: q.NewReader(one.Pat), Access: b.starAccess(one, in)}
		if key := one.Pat.Places[triple.Predicate].Key; predicates[key] {
			part.Group = uint8(i)
		} else {
			predicates[key] = true
		}
		s.Parts = append(s.Parts, part)
		details = append(details, one.AccessText(in.Certain))
		for slot := range one.Vars.All {
			if slot != s.Subject && in.Certain.Has(slot) {
				s.Alone = false
			}
			out.Bind(slot)
		}
	}
	// 2. Make the operator.
	s.Input = in.Op
	out.Rows = rows
	out = b.Traced(out, s, "star look-up", ListText(details, " . ", func(detail func() string) string { return detail() }), in.Plan)
	s.Plan = out.Plan
	s.SetPlan(out.Plan)
	return out
}
