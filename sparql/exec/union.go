// UNION, and operators over each batch or each row of others.

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

// Lateral runs an operator over each batch of its input, or over each row.
type Lateral struct {
	Exec     *Execution
	Input    Operator
	Feed     *Feed
	Inner    Operator
	RowByRow bool
	Batch    *solution.Batch
	Single   *solution.Batch // the present row, with RowByRow
	at       int             // the row in Batch, with RowByRow
	running  bool
}

func (l *Lateral) Next(out *solution.Batch) error {
	for {
		if err := l.Exec.Check(); err != nil {
			return err
		}
		// 1. Start from the next batch, or from the next row of it.
		if !l.running {
			if more, err := l.start(); err != nil || !more {
				return err
			}
			l.Inner.Reset()
			l.running = true
		}
		// 2. Rows of the inner operator come from rows of the batch.
		if err := l.Inner.Next(out); err != nil {
			return err
		}
		if out.Len > 0 {
			for i, ord := range out.Origin {
				if l.RowByRow {
					ord = int32(l.at)
				}
				out.Origin[i] = l.Batch.Origin[ord]
			}
			return nil
		}
		l.running = false
	}
}

// start fills the feed. It returns false at the end of the input.
func (l *Lateral) start() (more bool, err error) {
	l.at++
	if !l.RowByRow || l.at >= l.Batch.Len {
		l.Batch.Clear()
		l.at = 0
		if err := l.Input.Next(l.Batch); err != nil || l.Batch.Len == 0 {
			return false, err
		}
	}
	l.Feed.Rows = l.Batch
	if l.RowByRow {
		l.Single.Clear()
		l.Single.Add(l.Batch.Row(l.at), 0)
		l.Feed.Rows = l.Single
	}
	return true, nil
}

func (l *Lateral) Reset() {
	l.running = false
	l.Batch.Clear()
	l.at = 0
	l.Input.Reset()
}

func (l *Lateral) Close() {
	l.Batch.Free()
	if l.Single != nil {
		l.Single.Free()
	}
	l.Input.Close()
	l.Inner.Close()
}
