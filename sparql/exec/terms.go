// From numbers to terms, where an operator or the result needs terms.

package exec

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

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

// AppendWholeTerm appends the whole encoded term of a number. If it is long, a row of order has it,
// which must begin with the term. It appends nothing if that row was deleted since the columns were of the
// state of the source, which is an error if its rows are of one moment.
func (q *Execution) AppendWholeTerm(dst []byte, order triple.Order, number uint32) ([]byte, error) {
	start := len(dst)
	dst = q.Terms.Append(dst, number)
	if !triple.IsLongTerm(dst[start:]) {
		return dst, nil
	}
	prefix := append([]byte{byte(order)}, dst[start:]...)
	r := triple.Range{Lo: append(bytes.Clone(prefix), 0, 1), Hi: append(prefix, 0, 2)}
	err := q.Source.Lookup(q.Ctx, []triple.Range{r}, func(_ int, key, value []byte) error {
		_, terms, err := triple.SplitKey(key)
		if err == nil {
			terms, err = triple.WholeTerms(terms, value)
		}
		if err != nil {
			return err
		}
		dst = append(dst[:start], terms[order.Positions()[0]]...)
		return errFound
	})
	if errors.Is(err, errFound) {
		return dst, nil
	}
	if err == nil && !q.MovingRows {
		err = fmt.Errorf("no row has long term %d of the columns", number)
	}
	return dst[:start], err
}

func (t *Terms) Reset() { t.Input.Reset() }
func (t *Terms) Close() { t.Input.Close() }
