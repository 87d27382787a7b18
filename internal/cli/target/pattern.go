// Patterns and bounds of triples in arguments.

package target

import (
	"fmt"
	"strings"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/triple"
)

// PatternArgs is an argument with a triple pattern, in one word or several.
type PatternArgs struct {
	Pattern []string `arg:"" optional:"" help:"Subject, predicate, object and maybe graph in N-Triples syntax, or with a prefix of the store: ex:age; ? matches any term. Quote it for the shell: '? <http://example.org/name> \"Ann\"'."`
}

// Parse returns the pattern. names may have prefixes of the store.
func (p *PatternArgs) Parse(names *Names) (triple.Pattern, error) {
	parsed, err := names.Text().Pattern(strings.Join(p.Pattern, " "))
	if err == nil {
		return parsed, nil
	}
	if len(p.Pattern) > 1 { // a shell replaces ? by the names of files with one letter
		return parsed, names.Cause(console.Usagef("pattern: %w; quote the whole pattern, because a shell may put names of files in place of ?", err))
	}
	return parsed, names.Cause(console.Usagef("pattern: %w", err))
}

// Triple returns the pattern of the arguments as one triple.
func (p *PatternArgs) Triple(names *Names) (t triple.Triple, err error) {
	parsed, err := p.Parse(names)
	if err != nil {
		return t, err
	}
	t = triple.Triple{Subject: parsed.Subject, Predicate: parsed.Predicate, Object: parsed.Object, Graph: parsed.Graph}
	if t.Subject.IsZero() || t.Predicate.IsZero() || t.Object.IsZero() {
		return t, console.Usagef("name one triple: its subject, predicate and object, and its graph if it is in one")
	}
	if err := t.Check(); err != nil {
		return t, console.Usagef("%w", err)
	}
	return t, nil
}

// BoundsFlags are the bounds of a range in one order.
type BoundsFlags struct {
	Prefix string `placeholder:"TERMS" help:"Fix the order's leading terms: '<http://example.org/size>'."`
	GE     string `name:"ge" placeholder:"TERM" help:"The next term is at least this, by value within its class: 100, 1.5, '\"2024-01-31\"^^xsd:date'."`
	GT     string `name:"gt" placeholder:"TERM" help:"The next term is greater than this."`
	LE     string `name:"le" placeholder:"TERM" help:"The next term is at most this."`
	LT     string `name:"lt" placeholder:"TERM" help:"The next term is less than this."`
	Starts string `placeholder:"TERM" help:"The next term begins with this: '<http://example.org/', '\"Mü', '\"Mü\"@de'."`
	From   string `placeholder:"TERMS" help:"From this place of the order on: one to three whole terms."`
	Until  string `placeholder:"TERMS" help:"Up to before this place of the order."`
}

// Bounds parses the flags.
func (c *BoundsFlags) Bounds(order string, names *Names) (b triple.Bounds, err error) {
	// 1. Parse the order and the bounds.
	if b.Order, err = triple.ParseOrder(order); err != nil {
		return b, console.Usage(err)
	}
	for _, f := range []struct {
		flag, text string
		to         *[]triple.Term
	}{{"prefix", c.Prefix, &b.Prefix}, {"from", c.From, &b.From}, {"until", c.Until, &b.Until}} {
		if *f.to, err = names.Text().Terms(f.text); err != nil {
			return b, names.Cause(console.Usagef("--%s %s: %w", f.flag, f.text, err))
		}
	}
	for _, f := range []struct {
		flag, text string
		to         *triple.Term
	}{{"ge", c.GE, &b.GE}, {"gt", c.GT, &b.GT}, {"le", c.LE, &b.LE}, {"lt", c.LT, &b.LT}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = names.Text().Term(f.text); err != nil {
			return b, names.Cause(console.Usagef("--%s %s: %w", f.flag, f.text, err))
		}
	}
	if c.Starts != "" {
		if b.Starts, err = names.Text().Starts(c.Starts); err != nil {
			return b, names.Cause(console.Usagef("--starts %s: %w", c.Starts, err))
		}
	}
	// 2. Check them together, because an error can name the flag only here.
	_, err = b.KeyRange()
	if err == nil {
		err = b.CheckPositions()
	}
	if err != nil {
		return b, console.Usage(fmt.Errorf("--order %s: %w", order, err))
	}
	return b, nil
}

// Read opens the store and calls do with it and the pattern.
func (p *PatternArgs) Read(e *console.Env, f *StoreFlags, do func(from Store, p triple.Pattern) error) error {
	parsed, err := p.Parse(f.Names(e))
	if err != nil {
		return err
	}
	return f.With(e, Reading, func(s Store) error { return do(s, parsed) })
}
