package cli

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// rangeCmd lists the triples of one order between bounds.
type rangeCmd struct {
	Order   string `required:"" enum:"spo,pos,osp,gspo" help:"spo, pos, osp or gspo."`
	Prefix  string `placeholder:"TERMS" help:"Fix the order's leading terms: '<http://example.org/size>'."`
	GE      string `name:"ge" placeholder:"TERM" help:"The next term is at least this, by value within its class: 100, 1.5, '\"2024-01-31\"^^xsd:date'."`
	GT      string `name:"gt" placeholder:"TERM" help:"The next term is greater than this."`
	LE      string `name:"le" placeholder:"TERM" help:"The next term is at most this."`
	LT      string `name:"lt" placeholder:"TERM" help:"The next term is less than this."`
	Starts  string `placeholder:"TERM" help:"The next term begins with this: '<http://example.org/', '\"Mü', '\"Mü\"@de'."`
	From    string `placeholder:"TERMS" help:"From this place of the order on: one to three whole terms."`
	Until   string `placeholder:"TERMS" help:"Up to before this place of the order."`
	Reverse bool   `help:"From the end to the beginning."`
	door
	paging
}

func (c *rangeCmd) Run(e *env) (err error) {
	b, err := c.bounds()
	if err != nil {
		return err
	}
	r, err := c.door.open(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return c.print(e, r.bounded(e.ctx, b, page{limit: int64(c.Limit), cursor: c.Cursor, reverse: c.Reverse}))
}

// bounds reads the flags.
func (c *rangeCmd) bounds() (b triple.Bounds, err error) {
	if b.Order, err = triple.ParseOrder(c.Order); err != nil {
		return b, usageError{err}
	}
	for _, f := range []struct {
		flag, text string
		to         *[]triple.Term
	}{{"prefix", c.Prefix, &b.Prefix}, {"from", c.From, &b.From}, {"until", c.Until, &b.Until}} {
		if *f.to, err = triple.ParseTerms(f.text); err != nil {
			return b, usagef("--%s %s: %w", f.flag, f.text, err)
		}
	}
	for _, f := range []struct {
		flag, text string
		to         *triple.Term
	}{{"ge", c.GE, &b.GE}, {"gt", c.GT, &b.GT}, {"le", c.LE, &b.LE}, {"lt", c.LT, &b.LT}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = triple.ParseTerm(f.text); err != nil {
			return b, usagef("--%s %s: %w", f.flag, f.text, err)
		}
	}
	if c.Starts != "" {
		if b.Starts, err = triple.ParseStarts(c.Starts); err != nil {
			return b, usagef("--starts %s: %w", c.Starts, err)
		}
	}
	if _, err := b.KeyRange(); err != nil {
		return b, usageError{fmt.Errorf("--order %s: %w", c.Order, err)}
	}
	return b, nil
}
