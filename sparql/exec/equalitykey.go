// Operators of equalities: keys of values for hash joins, and copies of bindings.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// EqualityKey binds the slot Key to the key of the value in the slot Of, see
// [expr.Value.AppendEqualityKey]. It drops a row if no value equals its value, unless it must keep
// Outer ones, and leaves Key unbound if any may.
type EqualityKey struct {
	Exec    *Execution
	Input   Operator
	Of, Key int
	Outer   bool
	Same    bool // the keys are those of sameTerm, see [expr.Value.AppendSameKey]
	view    solution.View
	buf     []byte
	kept    []numberKey // by the last bits of the number
}

// numberKey is the key of a number's value.
type numberKey struct {
	number uint32
	keyed  expr.Keyed
	key    string
}

// KeptKeys is how many keys of numbers are kept.
const KeptKeys = 1 << 9

// key returns the key of a row's value.
func (k *EqualityKey) key(row []string) (string, expr.Keyed) {
	number, ok := solution.Number(row[k.Of])
	if !ok {
		buf, keyed := AppendKey(k.buf[:0], k.view.MoveTo(row, k.Exec.Terms).Value(k.Of), k.Same)
		k.buf = buf
		return k.Exec.Arena.Copy(buf), keyed
	}
	if k.kept == nil {
		k.kept = make([]numberKey, KeptKeys)
	}
	kept := &k.kept[number%KeptKeys]
	if kept.number != number {
		buf, keyed := AppendKey(k.buf[:0], k.view.MoveTo(row, k.Exec.Terms).Value(k.Of), k.Same)
		k.buf = buf
		*kept = numberKey{number, keyed, k.Exec.Arena.Copy(buf)}
	}
	return kept.key, kept.keyed
}

// AppendKey appends the key of a value: for sameTerm, or for the operator =.
func AppendKey(dst []byte, v expr.Value, same bool) ([]byte, expr.Keyed) {
	if same {
		return v.AppendSameKey(dst)
	}
	return v.AppendEqualityKey(dst)
}

func (k *EqualityKey) Next(out *solution.Batch) error {
	for {
		if err := k.Exec.Check(); err != nil {
			return err
		}
		if err := k.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		// Rows move to the front of the batch, because a copy to another one costs more.
		n := 0
		for i := range out.Len {
			row := out.Row(i)
			key, keyed := k.key(row)
			switch keyed {
			case expr.NoneEqual:
				if !k.Outer {
					continue
				}
				row[k.Key] = noKey
			case expr.KeyEqual:
				row[k.Key] = key
			default:
				row[k.Key] = ""
			}
			if n < i {
				copy(out.Row(n), row)
				out.Origin[n] = out.Origin[i]
			}
			n++
		}
		k.view.Forget(out.Weight)
		if out.Truncate(n); n > 0 {
			return nil
		}
	}
}

// noKey is the key of no value.
const noKey = "\xff"

func (k *EqualityKey) Reset() { k.Input.Reset() }
func (k *EqualityKey) Close() { k.Input.Close() }

// Constant binds a slot to one binding.
type Constant struct {
	Input   Operator
	Slot    int
	Binding string
}

func (c *Constant) Next(out *solution.Batch) error {
	if err := c.Input.Next(out); err != nil {
		return err
	}
	for i := range out.Len {
		out.Row(i)[c.Slot] = c.Binding
	}
	return nil
}

func (c *Constant) Reset() { c.Input.Reset() }
func (c *Constant) Close() { c.Input.Close() }

// Copy binds the slot To to the binding of the slot From.
type Copy struct {
	Input    Operator
	From, To int
}

func (c *Copy) Next(out *solution.Batch) error {
	if err := c.Input.Next(out); err != nil {
		return err
	}
	for i := range out.Len {
		row := out.Row(i)
		row[c.To] = row[c.From]
	}
	return nil
}

func (c *Copy) Reset() { c.Input.Reset() }
func (c *Copy) Close() { c.Input.Close() }
