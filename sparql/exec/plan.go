package exec

import (
	"fmt"
	"strings"
)

// Plan is an operator as EXPLAIN shows it: what was expected of it, and after a
// run what it did.
type Plan struct {
	Operator string  // such as "index scan"
	Detail   string  // what it works on
	Estimate float64 // rows; negative where nothing is known
	Inputs   []*Plan

	Rows  int64 // given
	Reads int64 // rows of the store that were read
	Nanos int64 // within it and its inputs; 0 without [Options.Nanos]

	Memory  int64 // the most bytes that it held at a time
	Spilled int64 // bytes that it wrote to temporary files
}

// sliceOperator is the operator of LIMIT and OFFSET in plans.
const sliceOperator = "slice"

func (p *Plan) read(rows int) {
	if p != nil {
		p.Reads += int64(rows)
	}
}

// TotalReads returns the rows of the store that the plan read, inputs and all.
func (p *Plan) TotalReads() int64 {
	n := p.Reads
	for _, in := range p.Inputs {
		n += in.TotalReads()
	}
	return n
}

// EstimatedRows returns how many rows the operators are estimated to give, all together.
// Those below a slice are not counted, because it may end them early.
func (p *Plan) EstimatedRows() float64 {
	n := max(p.Estimate, 0)
	if p.Operator == sliceOperator {
		return n
	}
	for _, in := range p.Inputs {
		n += in.EstimatedRows()
	}
	return n
}

// String returns the plan as a tree, an operator a line.
func (p *Plan) String() string { return p.Text(false) }

// Text returns the plan as a tree; with actual also what a run did.
func (p *Plan) Text(actual bool) string {
	var b strings.Builder
	p.write(&b, 0, actual)
	return b.String()
}

// maxIndent keeps plans of deep queries from growing with the square of their depth.
const maxIndent = 60

func (p *Plan) write(b *strings.Builder, depth int, actual bool) {
	b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	b.WriteString(p.Operator)
	if p.Detail != "" {
		b.WriteString(" " + p.Detail)
	}
	if p.known() {
		fmt.Fprintf(b, "  (about %.0f rows)", p.Estimate)
	}
	if actual {
		fmt.Fprintf(b, "  (rows %d", p.Rows)
		if p.Reads > 0 {
			fmt.Fprintf(b, ", read %d", p.Reads)
		}
		if p.Memory > 0 {
			fmt.Fprintf(b, ", %d KiB", (p.Memory+1023)/1024)
		}
		if p.Spilled > 0 {
			fmt.Fprintf(b, ", %d KiB spilled", (p.Spilled+1023)/1024)
		}
		if p.Nanos > 0 {
			fmt.Fprintf(b, ", %.3f ms", float64(p.Nanos)/1e6)
		}
		b.WriteByte(')')
	}
	b.WriteByte('\n')
	for _, in := range p.Inputs {
		in.write(b, depth+1, actual)
	}
}

// traced counts what an operator gives.
type traced struct {
	op    operator
	plan  *Plan
	nanos func() int64
}

func (t *traced) next(out *batch) error {
	if t.nanos == nil {
		err := t.op.next(out)
		t.plan.Rows += int64(out.n)
		return err
	}
	start := t.nanos()
	err := t.op.next(out)
	t.plan.Nanos += t.nanos() - start
	t.plan.Rows += int64(out.n)
	return err
}

func (t *traced) reset() { t.op.reset() }
func (t *traced) close() { t.op.close() }
