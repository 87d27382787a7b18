// Counts of conditions, and warnings if a condition is always an error.

package explain

import (
	"fmt"
	"strings"
)

// Condition counts the rows that a condition met. A row reaches a condition only if those before it hold.
type Condition struct {
	Rows   int64
	Errors int64  // the rows whose value is an error, such as a comparison of a number with a string
	Reason string // of the first error
}

// WithConditions gives the plan counts of n conditions and returns it.
func (p *Plan) WithConditions(n int) *Plan {
	p.Conditions = make([]Condition, n)
	return p
}

// Errors returns a text if a condition was an error in every row that it met, because such a filter is
// hardly what its author meant; else it returns "". Rows outside of a range that a scan reads meet none.
func (p *Plan) Errors() string {
	for i, c := range p.Conditions {
		if c.Errors == 0 || c.Errors < c.Rows {
			continue
		}
		which := ""
		if len(p.Conditions) > 1 {
			which = fmt.Sprintf("condition %d is ", i+1)
		}
		rows := "the only row"
		if c.Rows > 1 {
			rows = fmt.Sprintf("all %d rows", c.Rows)
		}
		return fmt.Sprintf("%san error for %s: %s", which, rows, c.Reason)
	}
	return p.Warning
}

// Warnings returns the operators of the plan and its inputs whose conditions are errors throughout, with
// [Plan.Errors] of each; "" if there is none. It may be long.
func (p *Plan) Warnings() string {
	var texts []string
	p.warnings(&texts)
	return strings.Join(texts, "; ")
}

func (p *Plan) warnings(texts *[]string) {
	if text := p.Errors(); text != "" {
		*texts = append(*texts, fmt.Sprintf("%s %s: %s", p.Operator, p.detail(), text))
	}
	for _, in := range p.Inputs {
		in.warnings(texts)
	}
}
