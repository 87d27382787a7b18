// trefoil match, range and count, and the output of triples.

package cli

import (
	"bufio"
	"fmt"
	"iter"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// pattern is an argument with a triple pattern, in one word or several.
type pattern struct {
	Pattern []string `arg:"" optional:"" help:"Subject, predicate, object and maybe graph in N-Triples syntax, or with a prefix of the store: ex:age; ? matches any term. Quote it for the shell: '? <http://example.org/name> \"Ann\"'."`
}

func (p *pattern) parse(names *storeNames) (triple.Pattern, error) {
	parsed, err := names.text().Pattern(strings.Join(p.Pattern, " "))
	if err == nil {
		return parsed, nil
	}
	if len(p.Pattern) > 1 { // a shell replaces ? by the names of files with one letter
		return parsed, names.cause(usagef("pattern: %w; quote the whole pattern, because a shell may put names of files in place of ?", err))
	}
	return parsed, names.cause(usagef("pattern: %w", err))
}

// read opens the store and calls do with it and the pattern.
func (p *pattern) read(e *env, f *storeFlags, do func(from triples, p triple.Pattern) error) error {
	parsed, err := p.parse(f.names(e))
	if err != nil {
		return err
	}
	return f.with(e, reading, func(s target) error { return do(s, parsed) })
}

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

// boundsFlags are the bounds of a range in one order.
type boundsFlags struct {
	Prefix string `placeholder:"TERMS" help:"Fix the order's leading terms: '<http://example.org/size>'."`
	GE     string `name:"ge" placeholder:"TERM" help:"The next term is at least this, by value within its class: 100, 1.5, '\"2024-01-31\"^^xsd:date'."`
	GT     string `name:"gt" placeholder:"TERM" help:"The next term is greater than this."`
	LE     string `name:"le" placeholder:"TERM" help:"The next term is at most this."`
	LT     string `name:"lt" placeholder:"TERM" help:"The next term is less than this."`
	Starts string `placeholder:"TERM" help:"The next term begins with this: '<http://example.org/', '\"Mü', '\"Mü\"@de'."`
	From   string `placeholder:"TERMS" help:"From this place of the order on: one to three whole terms."`
	Until  string `placeholder:"TERMS" help:"Up to before this place of the order."`
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

// bounds parses the flags.
func (c *boundsFlags) bounds(order string, names *storeNames) (b triple.Bounds, err error) {
	// 1. Parse the order and the bounds.
	if b.Order, err = triple.ParseOrder(order); err != nil {
		return b, usageError{err}
	}
	for _, f := range []struct {
		flag, text string
		to         *[]triple.Term
	}{{"prefix", c.Prefix, &b.Prefix}, {"from", c.From, &b.From}, {"until", c.Until, &b.Until}} {
		if *f.to, err = names.text().Terms(f.text); err != nil {
			return b, names.cause(usagef("--%s %s: %w", f.flag, f.text, err))
		}
	}
	for _, f := range []struct {
		flag, text string
		to         *triple.Term
	}{{"ge", c.GE, &b.GE}, {"gt", c.GT, &b.GT}, {"le", c.LE, &b.LE}, {"lt", c.LT, &b.LT}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = names.text().Term(f.text); err != nil {
			return b, names.cause(usagef("--%s %s: %w", f.flag, f.text, err))
		}
	}
	if c.Starts != "" {
		if b.Starts, err = names.text().Starts(c.Starts); err != nil {
			return b, names.cause(usagef("--starts %s: %w", c.Starts, err))
		}
	}
	// 2. Check them together, because an error can name the flag only here.
	_, err = b.KeyRange()
	if err == nil {
		err = b.CheckPositions()
	}
	if err != nil {
		return b, usageError{fmt.Errorf("--order %s: %w", order, err)}
	}
	return b, nil
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

// page selects a part of an answer.
type page struct {
	limit   int64 // 0: all
	offset  int64 // items to skip
	cursor  string
	reverse bool
	// annotations requests the annotations of items.
	annotations bool
}

// more returns the limit of a read that shows if there is another page.
func (p page) more() int64 {
	if p.limit == 0 {
		return 0
	}
	return p.limit + 1
}

// item is one triple of an answer. It is valid until the next one.
type item interface {
	appendNQuad(dst []byte) ([]byte, error)
	triple() (triple.Triple, error)
	// annotations returns the triple's annotations, if they were requested.
	annotations() []triple.ApplicationData
}

// listing is an answer. If a limited page has a successor, next is its cursor. It is set when items
// has ended.
type listing struct {
	items iter.Seq2[item, error]
	next  string
}

// failed returns a listing with one error.
func failed(err error) *listing {
	return &listing{items: func(yield func(item, error) bool) { yield(nil, err) }}
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

// writeItems writes all items of a listing. write appends one.
func writeItems(e *env, list *listing, write func([]byte, item) ([]byte, error)) error {
	out := bufio.NewWriterSize(e.stdout, 1<<16)
	var line []byte
	for it, err := range list.items {
		if err == nil {
			line, err = write(line[:0], it)
		}
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			out.Flush() // the lines before the error are correct
			return err
		}
	}
	return out.Flush()
}

func writeNQuad(dst []byte, it item) ([]byte, error) { return it.appendNQuad(dst) }

// withAnnotations returns a write function that adds an item's annotations to its line.
func withAnnotations(write func([]byte, item) ([]byte, error)) func([]byte, item) ([]byte, error) {
	var statement []byte
	return func(dst []byte, it item) ([]byte, error) {
		annotations := it.annotations()
		if len(annotations) == 0 {
			return write(dst, it)
		}
		var err error
		if statement, err = write(statement[:0], it); err != nil {
			return dst, err
		}
		return triple.AppendAnnotated(dst, statement, annotations), nil
	}
}

func writeJSON(dst []byte, it item) ([]byte, error) {
	t, err := it.triple()
	if err != nil {
		return dst, err
	}
	return append(triple.AppendTripleJSON(dst, t), '\n'), nil
}
