// Queries: prepared once, explained or run any number of times.

package sparql

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/plan"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of queries; test with [errors.Is].
var (
	// ErrMemory: the query needs more than its memory. The message names the
	// operator and the limit.
	ErrMemory = memory.ErrMemory
	// ErrTooDeep: patterns nest deeper than operators may.
	ErrTooDeep = plan.ErrTooDeep
	// ErrService: a SERVICE without SILENT.
	ErrService = exec.ErrService
)

// Orders are kept join orders; see Options.
type Orders = order.Kept

// Options are the settings of queries. The zero value is usable.
type Options struct {
	// Parser has the settings of the parser.
	Parser parser.Options
	exec.Options
	// Orders keeps the join orders of a prepared query for its next runs over the same columns; nil
	// keeps none. It must be of one query.
	Orders order.Keeper
	// UpdateMemory is how many bytes the changes of an update request may take; 0
	// means [update.DefaultMemory].
	UpdateMemory int64
	// Keep, if set, is a graph that CLEAR and DROP of ALL or NAMED leave as it is.
	Keep triple.Term
}

// Validate returns nil if the options can be used.
func (o Options) Validate() error {
	if err := o.Parser.Validate(); err != nil {
		return err
	}
	if o.UpdateMemory < 0 {
		return fmt.Errorf("the memory of an update is %d bytes", o.UpdateMemory)
	}
	return o.Options.Validate()
}

// Prepared is a query parsed and translated. It may be run any number of
// times, and from several goroutines, because it never changes.
type Prepared struct {
	query    *algebra.Query
	prologue ast.Prologue
	opts     Options
}

// Prepare parses and translates a query. An error of the text is a
// *[triple.SyntaxError].
func Prepare(text string, opts Options) (*Prepared, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	q, err := parser.ParseQuery(text, opts.Parser)
	if err != nil {
		return nil, err
	}
	return PrepareTree(q, opts)
}

// PrepareTree translates a syntax tree. The tree stays as it is.
func PrepareTree(q *ast.Query, opts Options) (*Prepared, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	query := algebra.Translate(q)
	if query.Form == ast.Ask { // one solution suffices
		query.Body.Root = &algebra.Slice{Input: query.Body.Root, Limit: 1}
	}
	query.Body = query.Body.Simplify()
	return &Prepared{query: query, prologue: q.Prologue, opts: opts}, nil
}

// With returns the same query with other options. The text was parsed with the old ones.
func (p *Prepared) With(opts Options) (*Prepared, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Prepared{query: p.query, prologue: p.prologue, opts: opts}, nil
}

// Form returns the form of the query.
func (p *Prepared) Form() ast.Form { return p.query.Form }

// Prologue returns the base and the prefixes declared by the query. The caller must not change them.
func (p *Prepared) Prologue() ast.Prologue { return p.prologue }

// Query prepares a query and runs it.
func Query(ctx context.Context, src Source, text string, opts Options) (*Result, error) {
	p, err := Prepare(text, opts)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, src)
}

// Explain returns the plan of the query over a source. It does not run the query. The plan is nil only if there is an error.
func (p *Prepared) Explain(ctx context.Context, src Source) (*explain.Plan, error) {
	run, err := p.start(ctx, src)
	if err != nil {
		return nil, err
	}
	run.Close()
	return run.Plan, nil
}

// Run begins to execute the query over a source. The result must be closed; it
// ends with the context.
func (p *Prepared) Run(ctx context.Context, src Source) (*Result, error) {
	run, err := p.start(ctx, src)
	if err != nil {
		return nil, err
	}
	r := &Result{Form: p.query.Form, ctx: ctx, src: src, query: p.query, run: run}
	if r.Form == ast.Select {
		for _, column := range p.query.Columns {
			r.Vars = append(r.Vars, column.Name)
		}
	}
	return r, nil
}

func (p *Prepared) start(ctx context.Context, src Source) (*exec.Run, error) {
	opts := p.opts.Options
	dataset := plan.Dataset{Default: opts.DefaultGraphs, Named: opts.NamedGraphs}
	if len(dataset.Default) == 0 && len(dataset.Named) == 0 {
		for _, clause := range p.query.Dataset {
			if clause.Named {
				dataset.Named = append(dataset.Named, clause.IRI)
			} else {
				dataset.Default = append(dataset.Default, clause.IRI)
			}
		}
	}
	return plan.Start(ctx, src, &p.query.Body, dataset, opts, p.opts.Orders)
}
