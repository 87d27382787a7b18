package exec

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/triple"
)

// star joins its input with patterns of one subject: what they ask of a subject
// lies close together, and is read in one go. Each row is multiplied with what its
// subject has.
type star struct {
	q       *query
	in      operator
	plan    *Plan
	subject int // slot
	parts   []starPart
	alone   bool // no variable of the patterns but the subject is bound before
	holder

	input *batch
	more  *batch // of [fill]
	at    int    // the next row of input to look up
	chunk int
	finder
	refs []int32 // of the rows of the chunk: the first range asked for
	row  int     // of the input, to be given next
	ref  int
	pick []int
	busy bool // row is not given to its end
}

type starPart struct {
	reader reader
	access *access
	group  uint8
}

func (s *star) next(out *batch) error {
	for {
		if err := s.q.check(); err != nil {
			return err
		}
		switch {
		case s.ref < len(s.refs):
			s.emit(out)
		case s.at < s.input.n:
			if err := s.lookUp(); err != nil {
				return err
			}
		default:
			s.at = 0
			if err := fill(s.in, s.input, &s.more, s.chunk); err != nil || s.input.n == 0 {
				return err
			}
		}
		if out.full() || out.n > 0 && s.ref >= len(s.refs) {
			return nil
		}
	}
}

// lookUp looks up the next chunk of the input.
func (s *star) lookUp() error {
	n := min(s.chunk, s.input.n-s.at)
	for {
		s.finder.clear()
		s.free()
		s.refs, s.ref, s.row = s.refs[:0], 0, s.at
		for i := s.at; i < s.at+n; i++ {
			row := s.input.row(i)
			if s.alone && i > s.at && row[s.subject] == s.input.row(i - 1)[s.subject] {
				s.refs = append(s.refs, s.refs[len(s.refs)-1])
				continue
			}
			s.refs = append(s.refs, int32(len(s.asked)))
			for k := range s.parts {
				part := &s.parts[k]
				s.ask(&part.reader, part.access, row, part.group)
			}
		}
		err := s.find(s.q, s.plan, n > 1)
		if errors.Is(err, errOverflow) {
			n = max(1, n/4)
			s.chunk = n
			continue
		}
		if err == nil && len(s.found) > maxFound {
			err = s.hold()
		}
		if err != nil {
			s.refs = s.refs[:0]
			return err
		}
		s.at += n
		if len(s.found) < maxFound/4 && s.chunk < lastChunkRows {
			s.chunk *= 2
		}
		return nil
	}
}

// hold accounts for what a single row has, which nothing else bounds.
func (s *star) hold() error {
	for i := range s.found {
		if err := s.grow(groupRow(&s.found[i])); err != nil {
			return err
		}
	}
	return nil
}

// emit gives the rows of the chunk, until out is full.
func (s *star) emit(out *batch) {
	for s.ref < len(s.refs) {
		if !s.busy && !s.begin() {
			s.row++
			s.ref++
			continue
		}
		for s.busy {
			if out.full() {
				return
			}
			s.multiply(out)
		}
		s.row++
		s.ref++
	}
}

// begin reports whether every pattern has something for the row.
func (s *star) begin() bool {
	first := int(s.refs[s.ref])
	for k := range s.parts {
		if len(s.of(first+k)) == 0 {
			return false
		}
	}
	clear(s.pick)
	s.busy = true
	return true
}

// multiply gives one row, and moves on to the next.
func (s *star) multiply(out *batch) {
	first := int(s.refs[s.ref])
	row := out.add(s.input.row(s.row), s.input.ord[s.row])
	for k := range s.parts {
		part := &s.parts[k]
		found := &s.of(first + k)[s.pick[k]]
		for _, position := range part.access.free {
			row[part.reader.pat.place[position].slot] = found[position]
			out.weigh(found[position])
		}
	}
	for k := len(s.parts) - 1; k >= 0; k-- {
		if s.pick[k]++; s.pick[k] < len(s.of(first+k)) {
			return
		}
		s.pick[k] = 0
	}
	s.busy = false
}

func (s *star) reset() {
	s.refs, s.ref, s.at, s.busy = s.refs[:0], 0, 0, false
	s.input.clear()
	s.free()
	s.in.reset()
}

func (s *star) close() { s.free(); s.in.close() }

// maxStar is how many patterns a star has at most.
const maxStar = 64

// star returns how many of the next steps one star joins; fewer than two: none.
func (p *planner) star(steps []joinStep, in stream) int {
	if p.in.start && p.c.feed == nil && in.start || p.c.want != nil && p.c.want.got {
		return 0
	}
	subject := -1
	var bound algebra.Set // by patterns of the star
	for n := range min(len(steps), maxStar) {
		if steps[n].method != byLookup {
			return n
		}
		one := &p.list[steps[n].list[0]]
		s := one.pat.place[triple.Subject].slot
		if s < 0 || subject >= 0 && s != subject || !in.certain.Has(s) || one.same || one.pat.place[triple.Predicate].key == "" {
			return n
		}
		subject = s
		for _, slot := range one.vars.Slots() {
			if bound.Has(slot) || in.possible.Has(slot) && !in.certain.Has(slot) {
				return n
			}
		}
		if a := p.starAccess(one, in); a.prefix < 2 || len(a.later) > 0 || a.spans != nil && len(a.spans) != 1 {
			return n
		}
		if n > 0 && steps[n-1].rows < steps[max(n-2, 0)].rows/4 {
			return n // few rows are left to look up
		}
		for _, slot := range one.vars.Slots() {
			if !in.certain.Has(slot) {
				bound.Add(slot)
			}
		}
	}
	return min(len(steps), maxStar)
}

// starAccess returns how a pattern is read from rows of in.
func (p *planner) starAccess(one *candidate, in stream) *access {
	row := make([]string, p.c.query.width)
	for _, slot := range in.certain.Slots() {
		row[slot] = "x"
	}
	return one.pat.access(one.pat.mask(row))
}

// starOf joins in with patterns of one subject.
func (p *planner) starOf(steps []joinStep, in stream) stream {
	q := p.c.query
	s := &star{
		q: q, in: in.op, alone: true, chunk: firstChunkRows, input: newBatch(q.width), pick: make([]int, len(steps)),
		holder: holder{account: &q.account, name: "star look-up"},
	}
	detail := ""
	predicates := map[string]bool{}
	out := in
	for i := range steps {
		one := &p.list[steps[i].list[0]]
		s.subject = one.pat.place[triple.Subject].slot
		part := starPart{reader: reader{q: q, pat: one.pat}, access: p.starAccess(one, in)}
		if key := one.pat.place[triple.Predicate].key; predicates[key] {
			part.group = uint8(i)
		} else {
			predicates[key] = true
		}
		s.parts = append(s.parts, part)
		if i > 0 {
			detail += " . "
		}
		detail += p.c.accessText(one, in.certain)
		for _, slot := range one.vars.Slots() {
			if slot != s.subject && in.certain.Has(slot) {
				s.alone = false
			}
			out.bind(slot)
		}
	}
	out.rows = steps[len(steps)-1].rows
	out = p.c.traced(out, s, "star look-up", detail, in.plan)
	s.plan = out.plan
	s.setPlan(out.plan)
	return out
}
