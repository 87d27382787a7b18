// trefoil match, range and count, and the output of triples.

package cli

import (
	"fmt"

	"github.com/trefoildb/trefoil/triple"
)

// matchCmd lists the matches of a pattern.
type matchCmd struct {
	pattern
	storeFlags
	paging
}

func (c *matchCmd) Run(e *env) error {
	return c.read(e, &c.storeFlags, func(from triples, p triple.Pattern) error {
		return c.print(e, func(o page) *listing { return from.match(e.ctx, p, o) }, false)
	})
}

// rangeCmd lists the triples of one order between bounds.
type rangeCmd struct {
	Order string `required:"" enum:"spo,pos,osp,gspo" help:"spo, pos, osp or gspo."`
	boundsFlags
	Reverse bool `help:"From the end to the beginning."`
	storeFlags
	paging
}

func (c *rangeCmd) Run(e *env) error {
	b, err := c.bounds(c.Order, c.names(e))
	if err != nil {
		return err
	}
	return c.with(e, reading, func(s target) error {
		return c.print(e, func(o page) *listing { return s.bounded(e.ctx, b, o) }, c.Reverse)
	})
}

// countCmd counts the matches of a pattern.
type countCmd struct {
	pattern
	storeFlags
	Estimate bool `help:"Fast, from the tables' metadata; may be off."`
	JSON     bool `help:"Print JSON: {\"count\":n,\"exact\":true}."`
}

func (c *countCmd) Run(e *env) error {
	return c.read(e, &c.storeFlags, func(from triples, p triple.Pattern) error { return c.count(e, from, p) })
}

func (c *countCmd) count(e *env, from triples, p triple.Pattern) error {
	n, exact, err := from.count(e.ctx, p, c.Estimate)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.printJSON(struct {
			Count int64 `json:"count"`
			Exact bool  `json:"exact"`
		}{n, exact})
	}
	_, err = fmt.Fprintln(e.stdout, n)
	return err
}

// paging holds the flags of commands that list triples.
type paging struct {
	Offset quantity  `placeholder:"N" help:"Skip N triples first. The cursor of a limited answer is behind them."`
	Limit  *quantity `placeholder:"N" help:"Maximum of triples; the cursor of the next page goes to standard error."`
	Cursor string    `placeholder:"C" help:"Go on where a limited answer ended: its cursor, with the same other flags."`
	JSON   bool      `help:"A JSON object a line: s, p, o and g as SPARQL-JSON terms."`
}

// print writes the requested page, and the cursor of the next one to standard error.
func (p *paging) print(e *env, read func(page) *listing, reverse bool) error {
	selected := page{cursor: p.Cursor, offset: int64(p.Offset), reverse: reverse}
	if p.Cursor != "" && p.Offset > 0 {
		return usagef("--offset with --cursor: the cursor is behind the skipped triples already; leave --offset out")
	}
	if p.Limit != nil {
		if selected.limit = int64(*p.Limit); selected.limit == 0 {
			return nil
		}
	}
	list := read(selected)
	write := writeNQuad
	if p.JSON {
		write = writeJSON
	}
	if err := writeItems(e, list, write); err != nil {
		return err
	}
	if list.next != "" {
		fmt.Fprintf(e.stderr, "cursor: %s\n", list.next)
	}
	return nil
}
