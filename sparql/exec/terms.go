// From numbers to terms, where an operator or the result needs terms.

package exec

import "github.com/trefoildb/trefoil/sparql/exec/solution"

// Terms replaces numbers in some slots by the encoded terms, see [solution.AppendNumber].
type Terms struct {
	Exec  *Execution
	Input Operator
	Slots []int

	decoders []solution.Decoder // by slot
}

func (t *Terms) Next(out *solution.Batch) error {
	if err := t.Input.Next(out); err != nil {
		return err
	}
	if t.decoders == nil {
		t.decoders = make([]solution.Decoder, len(t.Slots))
	}
	for i := range out.Len {
		row := out.Row(i)
		for at, slot := range t.Slots {
			if number, ok := solution.Number(row[slot]); ok {
				row[slot] = t.decoders[at].Term(t.Exec.Terms, t.Exec.Arena, number)
			}
		}
	}
	return nil
}

func (t *Terms) Reset() { t.Input.Reset() }
func (t *Terms) Close() { t.Input.Close() }
