// The join with patterns over columns: numbers are compared, and terms decoded at the end.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// ColumnJoin joins its input with patterns over columns, one step for each pattern. For each row of
// the input it searches the steps depth first: a step binds numbers, and the next one continues from
// them. So nothing is held but one place in each step, and the first rows come early. Rows keep the
// order of the input.
type ColumnJoin struct {
	Exec  *Execution
	Input Operator
	Terms *columns.Dictionary
	Steps []ColumnStep
	Bound []int // slots of the input that the steps use
	Give  []int // slots bound by the steps that the operators above need
	Plan  *explain.Plan

	input   *solution.Batch
	at      int      // the next row of the input
	row     []string // the row of the input that is joined now
	origin  int32
	numbers []uint32 // by slot
	places  []columnPlace
	depth   int // the step to continue; negative: the next row of the input is needed
	soft    softLimit
	reads   int
	known   []knownTerm // of the input, by slot: the last term
	decoder columnDecoder
}

// ColumnStep is a pattern over one column.
type ColumnStep struct {
	Lists *columns.Lists
	// Key and Value are the ends of the pattern as Lists has them. If Key is free, so is Value.
	Key, Value ColumnEnd
	// Spans restrict the numbers of the keys, if Key is free: from Spans[i][0] up to Spans[i][1], in
	// ascending order. nil means all.
	Spans [][2]uint32
}

// ColumnEnd is a term, or a variable.
type ColumnEnd struct {
	Slot   int    // negative for a term
	Number uint32 // of the term; 0 if no column has it
	Free   bool   // the step binds the variable
}

// columnPlace is where a step is.
type columnPlace struct {
	span       int // the next span of keys
	key, keys  int // the key, and the place behind the last one of the span
	value, end int // the next value, and the place behind the last one
	near       int // of the last search
}

// knownTerm is a binding with its number; 0 if no column has it.
type knownTerm struct {
	binding string
	number  uint32
}

// NewColumnJoin returns the join of input with steps.
func NewColumnJoin(q *Execution, input Operator, terms *columns.Dictionary, steps []ColumnStep, bound, give []int) *ColumnJoin {
	j := &ColumnJoin{Exec: q, Input: input, Terms: terms, Steps: steps, Bound: bound, Give: give, depth: -1, input: q.NewBatch()}
	j.numbers = make([]uint32, q.Width)
	j.known = make([]knownTerm, q.Width)
	j.places = make([]columnPlace, len(steps))
	j.decoder = columnDecoder{terms: terms, arena: q.Arena, last: make([]knownTerm, q.Width)}
	return j
}

func (j *ColumnJoin) Next(out *solution.Batch) error {
	most := j.soft.next()
	for out.Len < most && !out.Full() {
		if j.depth < 0 {
			if ok, err := j.begin(); err != nil || !ok {
				return err
			}
		}
		if err := j.search(out, most); err != nil {
			return err
		}
	}
	j.Plan.AddReads(j.reads)
	j.reads = 0
	return nil
}

// begin takes the next row of the input. ok is false at the end.
func (j *ColumnJoin) begin() (ok bool, err error) {
rows:
	for {
		if j.at == j.input.Len {
			j.at = 0
			j.input.Clear()
			if err := j.Exec.Check(); err != nil {
				return false, err
			}
			if err := j.Input.Next(j.input); err != nil || j.input.Len == 0 {
				return false, err
			}
		}
		j.row, j.origin = j.input.Row(j.at), j.input.Origin[j.at]
		j.at++
		for _, slot := range j.Bound {
			if j.numbers[slot] = j.number(slot); j.numbers[slot] == 0 {
				continue rows
			}
		}
		j.depth = 0
		j.enter(0)
		return true, nil
	}
}

// number returns the number of a binding of the input; 0 if no column has it. Neighbours often have
// the same.
func (j *ColumnJoin) number(slot int) uint32 {
	known := &j.known[slot]
	if binding := j.row[slot]; known.binding != binding {
		known.binding = binding
		known.number = j.Terms.Number(solution.BytesOf(binding))
	}
	return known.number
}

// search gives the next rows of the present row of the input. It returns when out has most rows, is
// full, or nothing is left.
func (j *ColumnJoin) search(out *solution.Batch, most int) error {
	last := len(j.Steps) - 1
	for j.depth >= 0 {
		if j.reads++; j.reads >= solution.BatchRows {
			j.Plan.AddReads(j.reads)
			j.reads = 0
			if err := j.Exec.Check(); err != nil {
				return err
			}
		}
		switch {
		case !j.step(j.depth):
			j.depth--
		case j.depth < last:
			j.depth++
			j.enter(j.depth)
		default:
			j.emit(out)
			if out.Len >= most || out.Full() {
				return nil
			}
		}
	}
	return nil
}

// enter moves a step before its first match with the numbers of the steps before.
func (j *ColumnJoin) enter(depth int) {
	s, at := &j.Steps[depth], &j.places[depth]
	at.value, at.end = 0, 0
	// 1. A step without a bound key goes through all keys.
	if s.Key.Free {
		at.span, at.key, at.keys = 0, -1, 0
		return
	}
	// 2. All others have the values of one key.
	key, ok := s.Lists.Find(j.of(&s.Key), at.near)
	at.near = key
	if !ok {
		return
	}
	at.value, at.end = s.Lists.Bounds(key)
	// 3. If the value is bound, it is the only one.
	if !s.Value.Free {
		j.check(s, at)
	}
}

// check keeps the bound value of a step only.
func (j *ColumnJoin) check(s *ColumnStep, at *columnPlace) {
	value := j.of(&s.Value)
	at.value = s.Lists.FindValue(at.value, at.end, value)
	if at.value < at.end && s.Lists.Value(at.value) == value {
		at.end = at.value + 1
	} else {
		at.end = at.value
	}
}

// of returns the number of a bound end.
func (j *ColumnJoin) of(e *ColumnEnd) uint32 {
	if e.Slot < 0 {
		return e.Number
	}
	return j.numbers[e.Slot]
}

// step moves a step to its next match. It returns false if there is none.
func (j *ColumnJoin) step(depth int) bool {
	s, at := &j.Steps[depth], &j.places[depth]
	for at.value == at.end {
		if !s.Key.Free || !j.nextKey(s, at) {
			return false
		}
	}
	if s.Value.Free {
		j.numbers[s.Value.Slot] = s.Lists.Value(at.value)
	}
	at.value++
	return true
}

// nextKey moves a step without a bound key to the next key.
func (j *ColumnJoin) nextKey(s *ColumnStep, at *columnPlace) bool {
	at.key++
	for at.key >= at.keys {
		if s.Spans == nil {
			if at.span > 0 {
				return false
			}
			at.key, at.keys = 0, s.Lists.Keys()
		} else {
			if at.span == len(s.Spans) {
				return false
			}
			at.key, at.keys = s.Lists.LowerBound(s.Spans[at.span][0]), s.Lists.LowerBound(s.Spans[at.span][1])
		}
		at.span++
	}
	j.numbers[s.Key.Slot] = s.Lists.Key(at.key)
	at.value, at.end = s.Lists.Bounds(at.key)
	return true
}

// emit appends the present match.
func (j *ColumnJoin) emit(out *solution.Batch) {
	row := out.Add(j.row, j.origin)
	for _, slot := range j.Give {
		row[slot] = j.decoder.binding(slot, j.numbers[slot])
	}
}

func (j *ColumnJoin) Reset() {
	j.input.Clear()
	j.at, j.depth, j.soft = 0, -1, 0
	j.Input.Reset()
}

func (j *ColumnJoin) Close() {
	j.input.Free()
	j.Input.Close()
}

// columnDecoder makes bindings of numbers.
type columnDecoder struct {
	terms *columns.Dictionary
	arena *solution.Arena
	last  []knownTerm // by slot
	text  []byte
}

// binding returns the binding of a number for a slot. Neighbours often have the same.
func (d *columnDecoder) binding(slot int, number uint32) string {
	last := &d.last[slot]
	if last.number != number {
		d.text = d.terms.Append(d.text[:0], number)
		*last = knownTerm{d.arena.Copy(d.text), number}
	}
	return last.binding
}
