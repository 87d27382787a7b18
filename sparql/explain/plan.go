// Plans as trees and as text.

package explain

import (
	"fmt"
	"strings"
)

// Plan is an operator as EXPLAIN shows it: its estimates, and its counts after a run.
type Plan struct {
	Operator string // such as "index scan"
	// Detail returns its operands; nil if there are none. It is a function because most plans are
	// never read.
	Detail   func() string
	Estimate float64 // rows; negative if nothing is known
	Inputs   []*Plan

	Rows  int64 // given
	Reads int64 // rows of the store read
	Nanos int64 // within it and its inputs; 0 without [exec.Options.Nanos]

	Memory  int64 // the most bytes held at a time
	Spilled int64 // bytes written to temporary files

	// Conditions are those that the operator tests row by row.
	Conditions []Condition
	// Warning is set in a plan that came as JSON, which has no Conditions; see [Plan.Errors].
	Warning string
}

// SliceOperator is the operator of LIMIT and OFFSET in plans.
const SliceOperator = "slice"

// AddReads counts rows of the store. It may be called without a plan.
func (p *Plan) AddReads(rows int) {
	if p != nil {
		p.Reads += int64(rows)
	}
}

// TotalReads returns the number of rows of the store read by the plan and its inputs.
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
	if p.Operator == SliceOperator {
		return n
	}
	for _, in := range p.Inputs {
		n += in.EstimatedRows()
	}
	return n
}

// String returns the plan as a tree, an operator a line.
func (p *Plan) String() string { return p.Text(false) }

// detail returns the operands; "" if there are none.
func (p *Plan) detail() string {
	if p.Detail == nil {
		return ""
	}
	return p.Detail()
}

// Text returns the plan as a tree; if actual is true, with the counts of a run.
func (p *Plan) Text(actual bool) string {
	var b strings.Builder
	p.write(&b, 0, actual)
	return b.String()
}

// maxIndent keeps plans of deep queries from growing with the square of their depth.
const maxIndent = 60

func (p *Plan) write(b *strings.Builder, depth int, actual bool) {
	b.WriteString(strings.Repeat("  ", min(depth, maxIndent)))
	// 1. The operator and its estimate, if there is one.
	b.WriteString(p.Operator)
	if detail := p.detail(); detail != "" {
		b.WriteString(" " + detail)
	}
	if p.known() {
		fmt.Fprintf(b, "  (about %.0f rows)", p.Estimate)
	}
	// 2. Counts other than rows are shown only if they are not 0.
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
		if text := p.Errors(); text != "" {
			b.WriteString(", " + text)
		}
		b.WriteByte(')')
	}
	b.WriteByte('\n')
	for _, in := range p.Inputs {
		in.write(b, depth+1, actual)
	}
}
