// The terms of a column whose values equal that of another term.

package columnjoin

import (
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// EqualTerms finds the keys of lists that are equal to a binding by the condition ?Of = ?Key. It reads the
// value of each key once, and keeps the keys by those of their values, see [expr.Value.AppendEqualityKey].
type EqualTerms struct {
	Exec      *exec.Execution
	Lists     *columns.Lists
	Of, Key   int  // slots of the condition
	Same      bool // the condition is sameTerm(?Of, ?Key)
	Condition []*expr.Expr
	Env       *expr.Env

	byKey map[string][]uint32
	any   []uint32     // numbers that may equal a number with any key
	kept  []equalTerms // by the last bits of the number
	view  solution.View
	row   []string
	buf   []byte
}

// equalTerms are the terms that are equal to that of a number.
type equalTerms struct {
	number uint32
	equal  []uint32
}

// equalTermBytes are counted for a key of the lists.
const equalTermBytes = 96

// equalTo returns the numbers of the terms that are equal to that of a number; if it is 0, to a binding.
func (e *EqualTerms) equalTo(number uint32, binding string) ([]uint32, error) {
	if e.byKey == nil {
		if err := e.read(); err != nil {
			return nil, err
		}
	}
	kept := &e.kept[number%exec.KeptKeys]
	if number != 0 {
		if kept.number == number {
			return kept.equal, nil
		}
		binding = e.Exec.Arena.Number(number)
	}
	equal, err := e.find(binding)
	if err == nil && number != 0 {
		*kept = equalTerms{number, equal}
	}
	return equal, err
}

// read takes the values of the keys.
func (e *EqualTerms) read() error {
	n := e.Lists.Keys()
	e.Exec.Account.Take(int64(n+exec.KeptKeys) * equalTermBytes)
	e.byKey, e.kept, e.row = make(map[string][]uint32, n), make([]equalTerms, exec.KeptKeys), make([]string, e.Exec.Width)
	for keys := e.Lists.All(); ; {
		place, ok := e.Lists.Next(&keys)
		if !ok {
			return nil
		}
		if err := e.Exec.Tick(); err != nil {
			return err
		}
		number := e.Lists.Key(place)
		switch keyed := e.key(e.Key, e.Exec.Arena.Number(number)); keyed {
		case expr.KeyEqual:
			e.byKey[string(e.buf)] = append(e.byKey[string(e.buf)], number)
		case expr.AnyEqual:
			e.any = append(e.any, number)
		}
	}
}

// key makes the key of a binding's value.
func (e *EqualTerms) key(slot int, binding string) (keyed expr.Keyed) {
	e.row[slot] = binding
	e.buf, keyed = exec.AppendKey(e.buf[:0], e.view.MoveTo(e.row, e.Exec.Terms).Value(slot), e.Same)
	return keyed
}

// find tests the terms that may equal a binding.
func (e *EqualTerms) find(binding string) (equal []uint32, err error) {
	// 1. Only the same key can be equal, unless one of both has none.
	tries := [][]uint32{e.any}
	switch e.key(e.Of, binding) {
	case expr.NoneEqual:
		return nil, nil
	case expr.KeyEqual:
		tries = append(tries, e.byKey[string(e.buf)])
	default:
		all := make([]uint32, 0, e.Lists.Keys())
		keys := e.Lists.All()
		for place, ok := e.Lists.Next(&keys); ok; place, ok = e.Lists.Next(&keys) {
			all = append(all, e.Lists.Key(place))
		}
		tries = [][]uint32{all}
	}
	// 2. Values that differ may have the same key. No plan shows the counts, because most pairs are not tested.
	counts := make([]explain.Condition, len(e.Condition))
	for _, numbers := range tries {
		for _, number := range numbers {
			if err := e.Exec.Tick(); err != nil {
				return nil, err
			}
			e.row[e.Key] = e.Exec.Arena.Number(number)
			ok, err := exec.Holds(e.Env, e.Condition, e.view.MoveTo(e.row, e.Exec.Terms), counts)
			if err != nil {
				return nil, err
			}
			if ok {
				equal = append(equal, number)
			}
		}
	}
	return equal, nil
}

func (e *EqualTerms) close() {
	if e.byKey != nil {
		e.Exec.Account.Take(-int64(e.Lists.Keys()+exec.KeptKeys) * equalTermBytes)
		e.byKey, e.any, e.kept = nil, nil, nil
	}
}
