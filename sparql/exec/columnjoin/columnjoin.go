// The join with patterns over columns: it reads and gives numbers in place of terms.

package columnjoin

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// Join joins its input with patterns over columns, one step for each pattern. For each row of
// the input it searches the steps depth first: a step binds numbers, and the next one continues from
// them. So nothing is held but one place in each step, and the first rows come early. Rows keep the
// order of the input. The variables that it binds are numbers, see [solution.AppendNumber], unless their
// terms may be long.
type Join struct {
	Exec  *exec.Execution
	Input exec.Operator
	Steps []Step
	Plan  *explain.Plan

	input   *solution.Batch
	at      int      // the next row of the input
	row     []string // the row of the input that is joined now
	origin  int32
	slots   []int        // of the variables of the steps, by place
	numbers []uint32     // of these variables
	bound   []columnTerm // variables of the input that the steps use
	give    []columnTerm // variables bound by the steps that the operators above need
	places  []columnPlace
	depth   int // the step to continue; negative: the next row of the input is needed
	soft    exec.SoftLimit
	reads   int
	buf     []byte
}

// StepKind is how a step joins.
type StepKind uint8

// The kinds of steps. All but InnerStep have a bound key.
const (
	InnerStep     StepKind = iota
	OptionalStep           // without a match, its variable stays unbound
	ExistsStep             // passes once if there is a match, and binds nothing
	NotExistsStep          // passes once if there is none
)

// Step is a pattern over one column.
type Step struct {
	Kind  StepKind
	Lists *columns.Lists
	// Key and Value are the ends of the pattern as Lists has them. If Key is free, so is Value.
	Key, Value End
	// Spans restrict the numbers of the keys, if Key is free: from Spans[i][0] up to Spans[i][1], in
	// ascending order. nil means all.
	Spans [][2]uint32
	// Equal is nil, or the step is no pattern: Value is bound to each key of Lists that equals Key.
	Equal *EqualTerms
	// Triple is nil, or the step is no pattern: it passes once if Key, which is bound, is a triple term of these terms.
	Triple *TripleTest
}

// End is a term, or a variable.
type End struct {
	Slot   int    // negative for a term
	Number uint32 // of the term; 0 if no column has it
	Free   bool   // the step binds the variable
	// Long is the order whose rows have the whole terms of the variable, see [columns.Column]; 0 if
	// none is long. Then the variable is bound to encoded terms.
	Long  triple.Order
	place int // of the variable in the numbers
}

// columnPlace is where a step is.
type columnPlace struct {
	span       int              // the next span of keys
	keys       columns.KeyRange // the next keys of the span
	value, end int              // the next value, and the place behind the last one
	near       int              // of the last search
	equal      []uint32         // the values, if the step is not of a pattern
	passed     bool
}

// columnTerm is a variable with its last binding, because neighbours often have the same.
type columnTerm struct {
	slot, place int
	long        triple.Order
	must        bool // a row is dropped if no column has the term, or no row has a long one any more
	binding     string
	number      uint32 // 0 if no column has the term, or a step has no match
}

// New returns the join of input with steps, which it takes over. bound are the slots of the
// input that the steps use, give those bound by the steps that the operators above need.
func New(q *exec.Execution, input exec.Operator, steps []Step, bound, give []int) *Join {
	j := &Join{Exec: q, Input: input, Steps: steps, depth: -1, input: q.NewBatch()}
	for i := range steps {
		j.place(&steps[i], bound, give)
	}
	return j
}

// Append adds a step behind the others. Its bound variables are of the input or of earlier steps. give
// says that the operators above need the variable that it binds.
func (j *Join) Append(step Step, give bool) {
	var bound, given []int
	for _, end := range []*End{&step.Key, &step.Value} {
		switch {
		case end.Slot < 0 || j.placeOf(end.Slot) >= 0:
		case !end.Free:
			bound = append(bound, end.Slot)
		case give:
			given = append(given, end.Slot)
		}
	}
	j.place(&step, bound, given)
	j.Steps = append(j.Steps, step)
}

// OptionalStep returns the step of an OPTIONAL that may bind a variable; negative if there is none.
func (j *Join) OptionalStep(slot int) int {
	return slices.IndexFunc(j.Steps, func(s Step) bool { return s.Kind == OptionalStep && s.Value.Free && s.Value.Slot == slot })
}

// Binds reports whether a step of the join binds a variable in each of its rows.
func (j *Join) Binds(slot int) bool {
	return slices.ContainsFunc(j.Steps, func(s Step) bool {
		return s.Kind == InnerStep && (s.Key.Free && s.Key.Slot == slot || s.Value.Free && s.Value.Slot == slot)
	})
}

// placeOf returns the place of a variable in the numbers; negative if it has none.
func (j *Join) placeOf(slot int) int { return slices.Index(j.slots, slot) }

// place gives the variables of a step places. They are not slots, because a query of many joins may have
// far wider rows.
func (j *Join) place(step *Step, bound, give []int) {
	for _, end := range []*End{&step.Key, &step.Value} {
		// The free variable of a test is its own: a later step may have one of the same slot.
		if end.Slot < 0 || end.Free && (step.Kind == ExistsStep || step.Kind == NotExistsStep) {
			continue
		}
		end.place = j.placeOf(end.Slot)
		if end.place >= 0 {
			continue
		}
		end.place = len(j.slots)
		j.slots, j.numbers = append(j.slots, end.Slot), append(j.numbers, 0)
		v := columnTerm{slot: end.Slot, place: end.place, long: end.Long, must: step.Equal == nil && (step.Kind == InnerStep || step.Kind == ExistsStep)}
		if slices.Contains(bound, end.Slot) {
			j.bound = append(j.bound, v)
		}
		if slices.Contains(give, end.Slot) {
			j.give = append(j.give, v)
		}
	}
	j.places = append(j.places, columnPlace{})
}

func (j *Join) Next(out *solution.Batch) error {
	defer j.countReads()
	most := j.soft.Next()
	for out.Len < most && !out.Full() {
		if j.depth < 0 {
			if ok, err := j.begin(out); err != nil || !ok {
				return err
			}
		}
		if err := j.search(out, most); err != nil {
			return err
		}
	}
	return nil
}

func (j *Join) countReads() {
	j.Plan.AddReads(j.reads)
	j.reads = 0
}

// begin takes the next row of the input. ok is false at the end, and if out must be given first. It must
// not hold rows of two batches of the input, because each may be full of large terms.
func (j *Join) begin(out *solution.Batch) (ok bool, err error) {
rows:
	for {
		// 1. Read the next batch, unless the one before still has rows in out.
		if j.at == j.input.Len {
			if out.Len > 0 {
				return false, nil
			}
			j.at = 0
			j.input.Clear()
			if err := j.Exec.Check(); err != nil {
				return false, err
			}
			if err := j.Input.Next(j.input); err != nil || j.input.Len == 0 {
				return false, err
			}
		}
		// 2. Pass over rows with a term that no column has.
		j.row, j.origin = j.input.Row(j.at), j.input.Origin[j.at]
		j.at++
		for i := range j.bound {
			number := j.number(&j.bound[i])
			if number == 0 && j.bound[i].must {
				continue rows
			}
			j.numbers[j.bound[i].place] = number
		}
		j.depth = 0
		return true, j.enter(0)
	}
}

// number returns the number of a variable of the input; 0 if no column has its term.
func (j *Join) number(v *columnTerm) uint32 {
	binding := j.row[v.slot]
	if number, ok := solution.Number(binding); ok {
		return number
	}
	if v.binding != binding {
		v.binding = binding
		j.buf = solution.AppendKeyForm(j.buf[:0], binding)
		v.number = j.Exec.Terms.NumberNear(j.buf, v.number)
	}
	return v.number
}

// search gives the next rows of the present row of the input. It returns when out has most rows, is
// full, or nothing is left.
func (j *Join) search(out *solution.Batch, most int) error {
	last := len(j.Steps) - 1
	for j.depth >= 0 {
		if j.reads++; j.reads >= solution.BatchRows {
			j.countReads()
			if err := j.Exec.Check(); err != nil {
				return err
			}
		}
		// A step without another match continues the one before, the last one gives the match.
		switch {
		case !j.step(j.depth):
			j.depth--
		case j.depth < last:
			j.depth++
			if err := j.enter(j.depth); err != nil {
				return err
			}
		default:
			if err := j.emit(out); err != nil {
				return err
			}
			if out.Len >= most || out.Full() {
				return nil
			}
		}
	}
	return nil
}

// enter moves a step before its first match with the numbers of the steps before.
func (j *Join) enter(depth int) (err error) {
	s, at := &j.Steps[depth], &j.places[depth]
	at.value, at.end, at.passed = 0, 0, false
	// 1. A step without a bound key goes through all keys.
	if s.Key.Free {
		at.span, at.keys = 0, columns.KeyRange{}
		return nil
	}
	// 2. All others have the values of one key, or the terms equal to it.
	if s.Equal != nil {
		at.equal, err = s.Equal.equalTo(j.endNumber(&s.Key), j.row[s.Key.Slot])
		at.end = len(at.equal)
		return err
	}
	if s.Triple != nil {
		if s.Triple.passes(j.Exec, j.endNumber(&s.Key)) {
			at.end = 1
		}
		return nil
	}
	key, ok := s.Lists.Find(j.endNumber(&s.Key), at.near)
	at.near = key
	if !ok {
		return nil
	}
	at.value, at.end = s.Lists.Bounds(key)
	// 3. If the value is bound, it is the only one.
	if !s.Value.Free {
		j.check(s, at)
	}
	return nil
}

// take binds the value of a step to its next one.
func (j *Join) take(s *Step, at *columnPlace) {
	if s.Equal != nil {
		j.numbers[s.Value.place] = at.equal[at.value]
	} else {
		j.numbers[s.Value.place] = s.Lists.Value(at.value)
	}
	at.value++
}

// check keeps the bound value of a step only.
func (j *Join) check(s *Step, at *columnPlace) {
	value := j.endNumber(&s.Value)
	at.value = s.Lists.FindValue(at.value, at.end, value)
	if at.value < at.end && s.Lists.Value(at.value) == value {
		at.end = at.value + 1
	} else {
		at.end = at.value
	}
}

// endNumber returns the number of a bound end.
func (j *Join) endNumber(e *End) uint32 {
	if e.Slot < 0 {
		return e.Number
	}
	return j.numbers[e.place]
}

// step moves a step to its next match. It returns false if there is none.
func (j *Join) step(depth int) bool {
	s, at := &j.Steps[depth], &j.places[depth]
	if s.Kind != InnerStep && (s.Kind != OptionalStep || at.value == at.end) {
		return j.pass(s, at)
	}
	for at.value == at.end {
		if !s.Key.Free || !j.nextKey(s, at) {
			return false
		}
	}
	if s.Value.Free {
		j.take(s, at)
	} else {
		at.value++
	}
	at.passed = true
	return true
}

// pass passes a step without a match to take, once: one of OptionalStep that had none, or a test.
func (j *Join) pass(s *Step, at *columnPlace) bool {
	if at.passed || s.Kind != OptionalStep && (s.Kind == ExistsStep) != (at.value < at.end) {
		return false
	}
	at.passed = true
	if s.Kind == OptionalStep && s.Value.Free {
		j.numbers[s.Value.place] = 0
	}
	return true
}

// nextKey moves a step without a bound key to the next key.
func (j *Join) nextKey(s *Step, at *columnPlace) bool {
	key, ok := s.Lists.Next(&at.keys)
	for ; !ok; key, ok = s.Lists.Next(&at.keys) {
		switch {
		case s.Spans == nil && at.span == 0:
			at.keys = s.Lists.All()
		case at.span < len(s.Spans):
			at.keys = s.Lists.KeysBetween(s.Spans[at.span][0], s.Spans[at.span][1])
		default:
			return false
		}
		at.span++
	}
	j.numbers[s.Key.place] = s.Lists.Key(key)
	at.value, at.end = s.Lists.Bounds(key)
	return true
}

// emit appends the present match, unless a row that has a long term of it was deleted.
func (j *Join) emit(out *solution.Batch) error {
	row := out.Add(j.row, j.origin)
	for i := range j.give {
		v := &j.give[i]
		number := j.numbers[v.place]
		if v.number != number {
			if err := j.bind(v, number); err != nil {
				return err
			}
		}
		if v.binding == "" && v.must {
			out.DropLast()
			return nil
		}
		row[v.slot] = v.binding
		if v.long != 0 {
			out.AddWeight(v.binding)
		}
	}
	return nil
}

// bind sets the binding of a variable.
func (j *Join) bind(v *columnTerm, number uint32) (err error) {
	v.number = number
	switch {
	case number == 0:
		v.binding = ""
		return nil
	case v.long == 0:
		v.binding = j.Exec.Arena.Number(number)
		return nil
	}
	if j.buf, err = j.Exec.AppendWholeTerm(j.buf[:0], v.long, number); err != nil {
		return err
	}
	v.binding = j.Exec.Arena.Copy(j.buf)
	if cap(j.buf) > 4*solution.LargeBinding {
		j.buf = nil // of a large term
	}
	return nil
}

func (j *Join) Reset() {
	j.input.Clear()
	j.at, j.depth, j.soft = 0, -1, 0
	j.Input.Reset()
}

func (j *Join) Close() {
	for i := range j.Steps {
		if e := j.Steps[i].Equal; e != nil {
			e.close()
		}
	}
	j.input.Free()
	j.Input.Close()
}
