// Package rdf has the commands for triples: match, range, count, add, delete, annotate, annotations, dump, prefixes,
// watch and generate.
package rdf

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/documents"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/triple"
)

// MatchCmd lists the matches of a pattern.
type MatchCmd struct {
	target.PatternArgs
	target.StoreFlags
	paging
}

func (c *MatchCmd) Run(e *console.Env) error {
	return c.Read(e, &c.StoreFlags, func(from target.Store, p triple.Pattern) error {
		return c.print(e, func(o target.Page) *target.Listing { return from.ListMatches(e.Ctx, p, o) }, false)
	})
}

// RangeCmd lists the triples of one order between bounds.
type RangeCmd struct {
	Order string `required:"" enum:"spo,pos,osp,gspo" help:"spo, pos, osp or gspo."`
	target.BoundsFlags
	Reverse bool `help:"From the end to the beginning."`
	target.StoreFlags
	paging
}

func (c *RangeCmd) Run(e *console.Env) error {
	b, err := c.Bounds(c.Order, c.Names(e))
	if err != nil {
		return err
	}
	return c.With(e, target.Reading, func(s target.Store) error {
		return c.print(e, func(o target.Page) *target.Listing { return s.ListRange(e.Ctx, b, o) }, c.Reverse)
	})
}

// CountCmd counts the matches of a pattern.
type CountCmd struct {
	target.PatternArgs
	target.StoreFlags
	Estimate bool `help:"Fast, from the tables' metadata; may be off."`
	JSON     bool `help:"Print JSON: {\"count\":n,\"exact\":true}."`
}

func (c *CountCmd) Run(e *console.Env) error {
	return c.Read(e, &c.StoreFlags, func(from target.Store, p triple.Pattern) error { return c.count(e, from, p) })
}

func (c *CountCmd) count(e *console.Env, from client.Counter, p triple.Pattern) error {
	count := from.Estimate
	if !c.Estimate {
		count = func(ctx context.Context, p triple.Pattern) (int64, bool, error) {
			n, err := from.Count(ctx, p)
			return n, true, err
		}
	}
	n, exact, err := count(e.Ctx, p)
	if err != nil {
		return err
	}
	if c.JSON {
		return e.PrintJSON(map[string]any{"count": n, "exact": exact})
	}
	_, err = fmt.Fprintln(e.Stdout, n)
	return err
}

// paging holds the flags of commands that list triples.
type paging struct {
	Offset console.Quantity  `placeholder:"N" help:"Skip N triples first. The cursor of a limited answer is behind them."`
	Limit  *console.Quantity `placeholder:"N" help:"Maximum of triples; the cursor of the next page goes to standard error."`
	Cursor string            `placeholder:"C" help:"Go on where a limited answer ended: its cursor, with the same other flags."`
	JSON   bool              `help:"A JSON object a line: s, p, o and g as SPARQL-JSON terms."`
}

// print writes the requested page, and the cursor of the next one to standard error.
func (p *paging) print(e *console.Env, read func(target.Page) *target.Listing, reverse bool) error {
	selected := target.Page{Cursor: p.Cursor, Offset: int64(p.Offset), Reverse: reverse}
	if p.Cursor != "" && p.Offset > 0 {
		return console.Usagef("--offset with --cursor: the cursor is behind the skipped triples already; leave --offset out")
	}
	if p.Limit != nil {
		if selected.Limit = int64(*p.Limit); selected.Limit == 0 {
			return nil
		}
	}
	list := read(selected)
	var err error
	if p.JSON {
		err = documents.WriteItems(e, list, documents.WriteJSON)
	} else {
		err = list.WriteNQuads(e.Stdout)
	}
	if err != nil {
		return err
	}
	if list.Next != "" {
		fmt.Fprintf(e.Stderr, "cursor: %s\n", list.Next)
	}
	return nil
}
