// The shared state of one execution's operators.

package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Execution is the shared state of the operators of one execution.
type Execution struct {
	Ctx     context.Context
	Source  source.Source
	Options Options
	Width   int
	Account *memory.Account
	Scratch spill.Scratch
	ticks   uint
	Arena   *solution.Arena
	Blanks  *blanks
	// MovingRows says that the rows of the source are not of one moment, see [columns.View].
	MovingRows bool
	Terms      *solution.Terms // of numbers, see [solution.AppendNumber]; nil without columns
	Closers    []Operator      // of EXISTS
}

// Check is a checkpoint: it reserves the bytes taken since the last one, and returns an error
// if the query must end.
func (q *Execution) Check() error {
	if err := q.Account.ReserveOwed(); err != nil {
		return err
	}
	if q.Options.Check != nil {
		return q.Options.Check()
	}
	return q.Ctx.Err()
}

// Tick is Check, now and then. It must be called for each row before expressions, because with
// large terms these may take milliseconds.
func (q *Execution) Tick() error {
	if q.ticks++; q.ticks%16 == 0 {
		return q.Check()
	}
	return nil
}

// Spills reports whether operators may go on in temporary files.
func (q *Execution) Spills() bool { return q.Scratch.Enabled() }

// planned is an operator with a count of its reads or its memory in its plan.
type planned interface{ SetPlan(p *explain.Plan) }

// MemorySharer is an operator with a share of the memory, because it may go on in temporary files.
type MemorySharer interface{ Sharer() *memory.Holder }

// Attach gives an operator its plan, and a share of the memory if it can go on without more.
func (q *Execution) Attach(op Operator, p *explain.Plan) {
	if x, ok := op.(planned); ok {
		x.SetPlan(p)
	}
	if x, ok := op.(MemorySharer); ok && q.Spills() {
		x.Sharer().TakeShare()
	}
}

// blanks makes blank nodes unknown to any graph.
type blanks struct {
	prefix string
	n      uint64
}

// NewExecution returns the state of an execution over a source, for rows of a width.
func NewExecution(ctx context.Context, src source.Source, width int, opts Options) *Execution {
	if opts.Memory == 0 {
		opts.Memory = memory.DefaultMemory
	}
	q := &Execution{Ctx: ctx, Source: src, Options: opts, Width: width, Account: memory.NewAccount(opts.Memory, opts.Reserve, solution.BatchCells), Arena: &solution.Arena{}}
	q.Account.Cells = opts.Cells
	q.Scratch = spill.NewScratch(opts.Spill, opts.SpillBytes, opts.Memory, q.Account, q.Check)
	q.Blanks = &blanks{prefix: "q"}
	if opts.Uint64 != nil {
		q.Blanks.prefix = fmt.Sprintf("q%016xx", opts.Uint64())
	}
	return q
}

func (b *blanks) Next() triple.Term {
	b.n++
	return triple.NewBlank(fmt.Sprintf("%s%d", b.prefix, b.n))
}

// NewBatch returns an empty batch for rows of the query.
func (q *Execution) NewBatch() *solution.Batch { return solution.NewBatch(q.Account, q.Width) }

// NewReader returns a reader of a pattern's rows. It makes bindings of them.
func (q *Execution) NewReader(p *pattern.Pattern) pattern.Reader {
	return pattern.Reader{Arena: q.Arena, Pattern: p}
}

// NewEnv returns an environment for expressions, without EXISTS.
func (q *Execution) NewEnv() *expr.Env {
	return &expr.Env{Now: q.Options.Now, Uint64: q.Options.Uint64, NewBlank: q.Blanks.Next}
}

var errFound = errors.New("found")

// HasGraph reports whether the store has a named graph; name is its key form.
func (q *Execution) HasGraph(name string) (bool, error) {
	lo := append([]byte{byte(triple.GSPO)}, name...)
	r := triple.Range{Lo: append(bytes.Clone(lo), 0, 1), Hi: append(lo, 0, 2)}
	return q.HasRow(r, nil)
}

// HasRow reports whether accept accepts a row of a range.
func (q *Execution) HasRow(r triple.Range, accept func(triple.KeyTerms) bool) (bool, error) {
	err := q.Source.Lookup(q.Ctx, []triple.Range{r}, func(_ int, key, _ []byte) error {
		if accept != nil {
			_, terms, err := triple.SplitKey(key)
			if err != nil {
				return err
			}
			if !accept(terms) {
				return nil
			}
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}
