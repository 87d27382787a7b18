// UNION: inputs one after the other, or for each batch of rows.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// Concat gives the rows of its inputs one after the other.
type Concat struct {
	Inputs []Operator
	at     int
}

func (c *Concat) Next(out *solution.Batch) error {
	for ; c.at < len(c.Inputs); c.at++ {
		if err := c.Inputs[c.at].Next(out); err != nil || out.Len > 0 {
			return err
		}
	}
	return nil
}

func (c *Concat) Reset() {
	c.at = 0
	for _, in := range c.Inputs {
		in.Reset()
	}
}

func (c *Concat) Close() {
	for _, in := range c.Inputs {
		in.Close()
	}
}

// LateralUnion runs its branches over each batch of its input.
type LateralUnion struct {
	Exec     *Execution
	Input    Operator
	Feed     *Feed
	Branches *Concat
	Batch    *solution.Batch
	running  bool
}

func (u *LateralUnion) Next(out *solution.Batch) error {
	for {
		if err := u.Exec.Check(); err != nil {
			return err
		}
		if !u.running {
			u.Batch.Clear()
			if err := u.Input.Next(u.Batch); err != nil || u.Batch.Len == 0 {
				return err
			}
			u.Feed.Rows = u.Batch
			u.Branches.Reset()
			u.running = true
		}
		if err := u.Branches.Next(out); err != nil {
			return err
		}
		if out.Len > 0 {
			for i, ord := range out.Origin {
				out.Origin[i] = u.Batch.Origin[ord]
			}
			return nil
		}
		u.running = false
	}
}

func (u *LateralUnion) Reset() { u.running = false; u.Input.Reset() }
func (u *LateralUnion) Close() {
	u.Batch.Free()
	u.Input.Close()
	u.Branches.Close()
}
