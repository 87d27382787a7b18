// VALUES: rows in the query itself.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Values joins its input with rows of the query itself.
type Values struct {
	Exec  *Execution
	Input Operator
	Slots []int
	Rows  [][]string // as long as slots
	memory.Holder
	Batch *solution.Batch
	at    int
	try   int // the row to try next with the input's row at
}

func (v *Values) Next(out *solution.Batch) error {
	// 1. Count the rows of the query's text, when they are first needed.
	if err := v.hold(); err != nil {
		return err
	}
	// 2. Join each row of the input with each of VALUES. A full batch may interrupt this.
	for tries := 0; ; {
		if v.at >= v.Batch.Len {
			if out.Len > 0 {
				return nil
			}
			v.Batch.Clear()
			v.at, v.try = 0, 0
			if err := v.Input.Next(v.Batch); err != nil || v.Batch.Len == 0 {
				return err
			}
		}
		for ; v.try < len(v.Rows); v.try++ {
			if out.Full() {
				return nil
			}
			if tries++; tries%solution.BatchRows == 0 {
				if err := v.Exec.Check(); err != nil {
					return err
				}
			}
			v.join(out, v.Rows[v.try])
		}
		v.at++
		v.try = 0
	}
}

// hold counts the rows, once.
func (v *Values) hold() error {
	if v.Account != nil {
		return nil
	}
	v.Account, v.Name = v.Exec.Account, "values"
	bytes := 0
	for _, row := range v.Rows {
		bytes += 24
		for _, cell := range row {
			bytes += 16 + len(cell)
		}
	}
	return v.Grow(bytes)
}

func (v *Values) join(out *solution.Batch, cells []string) {
	row := v.Batch.Row(v.at)
	for i, slot := range v.Slots {
		if cells[i] != "" && row[slot] != "" && cells[i] != row[slot] {
			return
		}
	}
	next := out.Add(row, v.Batch.Origin[v.at])
	for i, slot := range v.Slots {
		if cells[i] != "" {
			next[slot] = cells[i]
		}
	}
}

func (v *Values) Reset() { v.Batch.Clear(); v.at, v.try = 0, 0; v.Input.Reset() }
func (v *Values) Close() {
	if v.Account != nil {
		v.Free()
		v.Account = nil
	}
	v.Input.Close()
}
