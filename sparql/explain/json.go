// Plans as JSON.

package explain

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// MarshalJSON encodes the plan as an object:
//
//	operator, detail  texts; detail only if there is one
//	estimate          rows, rounded; null if nothing is known
//	rows, reads       counts of a run: 0 before it
//	nanos             within the operator and its inputs; 0 without a clock
//	memory, spilled   bytes: the most it held, and written to temporary files;
//	                  only if it held any
//	warning           a text, see [Plan.Errors]; only if there is one
//	inputs            a list of such objects
//
// Operators that stand deeper than 4,000 in others are left out, with a warning at the one around.
func (p *Plan) MarshalJSON() ([]byte, error) { return p.appendJSON(nil, maxJSONDepth) }

// maxJSONDepth keeps the text readable: Go's decoder takes 10,000 levels, and an operator is two.
const maxJSONDepth = 4000

// appendJSON writes the tree at once: a MarshalJSON for each operator would copy
// the ones deep down again and again. levels is how many levels of operators it may write.
func (p *Plan) appendJSON(dst []byte, levels int) ([]byte, error) {
	// 1. Texts and the estimate. JSON has no infinity, so an estimate without a number is
	// null.
	dst, err := appendField(append(dst, '{'), "operator", p.Operator)
	if detail := p.detail(); err == nil && detail != "" {
		dst, err = appendField(append(dst, ','), "detail", detail)
	}
	if err != nil {
		return nil, err
	}
	dst = append(dst, `,"estimate":`...)
	if p.known() && p.Estimate < math.MaxInt64 {
		dst = strconv.AppendInt(dst, int64(math.Round(p.Estimate)), 10)
	} else {
		dst = append(dst, "null"...)
	}
	for _, n := range []struct {
		name   string
		value  int64
		always bool
	}{
		{"rows", p.Rows, true}, {"reads", p.Reads, true}, {"nanos", p.Nanos, true},
		{"memory", p.Memory, false}, {"spilled", p.Spilled, false},
	} {
		if n.always || n.value != 0 {
			dst = strconv.AppendInt(append(append(append(dst, `,"`...), n.name...), `":`...), n.value, 10)
		}
	}
	text, inputs := p.Errors(), p.Inputs
	if levels == 1 && len(inputs) > 0 {
		text, inputs = strings.TrimPrefix(text+"; operators below are left out: the plan as text has them", "; "), nil
	}
	if text != "" {
		if dst, err = appendField(append(dst, ','), "warning", text); err != nil {
			return nil, err
		}
	}
	// 2. The inputs are written in place.
	dst = append(dst, `,"inputs":[`...)
	for i, in := range inputs {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = in.appendJSON(dst, levels-1); err != nil {
			return nil, err
		}
	}
	return append(dst, "]}"...), nil
}

func appendField(dst []byte, name, value string) ([]byte, error) {
	text, err := json.Marshal(value)
	return append(append(append(append(dst, '"'), name...), `":`...), text...), err
}

// UnmarshalJSON decodes the result of MarshalJSON. It decodes the tree at once, for the same reason.
func (p *Plan) UnmarshalJSON(text []byte) error {
	var wire wirePlan
	if err := json.Unmarshal(text, &wire); err != nil {
		return err
	}
	*p = *wire.plan()
	return nil
}

// wirePlan is a plan as JSON.
type wirePlan struct {
	Operator, Detail   string
	Estimate           *float64 // null if it is unknown
	Rows, Reads, Nanos int64
	Memory, Spilled    int64
	Warning            string
	Inputs             []*wirePlan
}

func (w *wirePlan) plan() *Plan {
	p := &Plan{Operator: w.Operator, Detail: func() string { return w.Detail }, Estimate: -1, Rows: w.Rows, Reads: w.Reads, Nanos: w.Nanos,
		Memory: w.Memory, Spilled: w.Spilled, Warning: w.Warning}
	if w.Estimate != nil {
		p.Estimate = *w.Estimate
	}
	for _, in := range w.Inputs {
		if in != nil {
			p.Inputs = append(p.Inputs, in.plan())
		}
	}
	return p
}

// known reports whether there is an estimate.
func (p *Plan) known() bool {
	return p.Estimate >= 0 && !math.IsInf(p.Estimate, 0) && !math.IsNaN(p.Estimate)
}
