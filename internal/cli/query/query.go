// Package query has trefoil query, update and queries.
package query

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/results"
	"github.com/trefoildb/trefoil/triple"
)

// Cmd runs a SPARQL query.
type Cmd struct {
	target.StoreFlags
	sparqlText
	Format            string           `placeholder:"F" help:"table, json, csv, tsv or xml of a SELECT or ASK: table on a terminal, tsv elsewhere. ttl, nt, nq, trig, xml or jsonld of a CONSTRUCT or DESCRIBE: ttl on a terminal, nt elsewhere. text or json of --explain."`
	Explain           explainFlag      `placeholder:"run" help:"Show the plan with estimates and run nothing; --explain=run runs the query and shows what each step did."`
	DefaultGraph      []string         `sep:"none" placeholder:"IRI" help:"A graph of the default graph, in place of FROM; repeatable."`
	NamedGraph        []string         `sep:"none" placeholder:"IRI" help:"A named graph, in place of FROM NAMED; repeatable."`
	QueryMemory       console.ByteSize `placeholder:"SIZE" help:"Memory before a query uses temporary files; 256MiB by default. With --data."`
	UnionDefaultGraph bool             `help:"The default graph is the merge of all graphs. With --data."`
}

// explainFlag is a flag with or without a value.
type explainFlag string

const (
	explainPlan explainFlag = "plan"
	explainRun  explainFlag = "run"
)

// IsBool lets the flag stand without a value.
func (explainFlag) IsBool() bool { return true }

// Decode reads the value, if there is one.
func (f *explainFlag) Decode(ctx *kong.DecodeContext) error {
	*f = explainPlan
	next := ctx.Scan.Peek()
	if next.Type != kong.FlagValueToken && next.Value != "run" && next.Value != "plan" {
		return nil
	}
	value := fmt.Sprint(ctx.Scan.Pop().Value)
	switch value {
	case "plan", "true":
	case "run":
		*f = explainRun
	default:
		return fmt.Errorf("%q is neither run nor plan", value)
	}
	return nil
}

// question is a query.
type question struct {
	env  *console.Env
	text string
	opts client.QueryOptions
	// declared are the prefixes of the text, for the output.
	declared prefixes.Names
}

func (c *Cmd) Run(e *console.Env) error {
	// 1. Read and parse the text here, because a mistake then costs no request.
	text, name, err := c.read(e)
	if err != nil {
		return err
	}
	q := question{env: e, text: text, opts: client.QueryOptions{DefaultGraphs: c.DefaultGraph, NamedGraphs: c.NamedGraph, Timeout: c.Timeout}}
	if err := checkGraphs("--default-graph", c.DefaultGraph); err != nil {
		return err
	}
	if err := checkGraphs("--named-graph", c.NamedGraph); err != nil {
		return err
	}
	names := c.Names(e)
	tree, err := parser.ParseQuery(text, parser.Options{Undeclared: names.Lookup})
	if err != nil {
		if names.Err != nil {
			return names.Err
		}
		err = shown(err, name, text)
		if update, e := parser.ParseUpdate(text, parser.Options{}); e == nil && len(update.Operations) > 0 {
			err = advised(err, "It is an update: trefoil update carries it out.")
		}
		return err
	}
	q.text, q.declared = names.Declared(text), target.Prologue(tree.Prologue.Prefixes)
	// 2. Set the variables of --bind.
	if len(c.Bind) > 0 {
		values, err := c.values(names)
		if err != nil {
			return err
		}
		if err := tree.Bind(values); err != nil {
			return console.Usagef("--bind: %w", err)
		}
		q.text = tree.String()
	}
	// 3. Run it and write the answer.
	out, err := c.output(e, tree)
	if err != nil {
		return err
	}
	how := target.Reading
	how.QueryMemory, how.UnionDefaultGraph = int64(c.QueryMemory), c.UnionDefaultGraph
	if local, err := c.Local(); err == nil && !local && (c.QueryMemory != 0 || c.UnionDefaultGraph) {
		return console.Usagef("--query-memory and --union-default-graph go with --data; a server has its own (trefoil serve)")
	}
	return c.With(e, how, func(s target.Store) error { return shown(out(s, q), name, text) })
}

func checkGraphs(flag string, graphs []string) error {
	for _, graph := range graphs {
		if err := triple.CheckIRI(graph); err != nil {
			return console.Usagef("%s: not an absolute IRI: %w", flag, err)
		}
	}
	return nil
}

// output returns the function that runs the query and writes its answer.
func (c *Cmd) output(e *console.Env, tree *ast.Query) (func(target.Store, question) error, error) {
	// 1. Choose the format by flag, or by the kind of output.
	terminal := e.Width > 0
	choose := func(onTerminal, elsewhere string) string {
		switch {
		case c.Format != "":
			return c.Format
		case terminal:
			return onTerminal
		}
		return elsewhere
	}
	// 2. A plan, or triples.
	switch {
	case c.Explain != "":
		switch f := choose("text", "text"); f {
		case "text", "json":
			return func(s target.Store, q question) error { return writePlan(s, q, c.Explain == explainRun, f) }, nil
		}
		return nil, console.Usagef("--format %s: a plan is text or json", c.Format)
	case tree.Form == ast.Construct || tree.Form == ast.Describe:
		to, err := syntax.ByName(choose("ttl", "nt"))
		if err != nil {
			return nil, console.Usagef("--format %s: the triples of %s are written as ttl, nt, nq, trig, xml or jsonld", c.Format, tree.Form)
		}
		return func(s target.Store, q question) error { return writeTriples(s, q, to) }, nil
	}
	// 3. Solutions, or a boolean.
	f, err := results.ParseFormat(choose("table", "tsv"))
	if err != nil {
		return nil, console.Usagef("--format %s: the result of %s is written as table, json, csv, tsv or xml", c.Format, tree.Form)
	}
	if tree.Form == ast.Ask {
		return func(s target.Store, q question) error {
			value, err := s.Ask(e.Ctx, q.text, q.opts)
			if err != nil {
				return err
			}
			return results.WriteBoolean(e.Stdout, f, value)
		}, nil
	}
	vars := tree.Projected()
	return func(s target.Store, q question) error { return writeSolutions(s, q, f, vars) }, nil
}

// writeSolutions writes the solutions of a query. A table on a terminal is as wide as the terminal, has
// prefixed names, and ends with the number of rows and the time.
func writeSolutions(s target.Store, q question, f results.Format, vars []string) error {
	if f == results.Table && q.env.Width > 0 {
		return writeTable(s, q, vars)
	}
	return writeRows(s, q, results.NewWriter(q.env.Stdout, f, vars), vars)
}

func writeTable(s target.Store, q question, vars []string) error {
	begun := time.Now()
	kept, err := target.KeptPrefixes(q.env.Ctx, s.Prefixes)
	if err != nil {
		return err
	}
	w := results.NewTable(q.env.Stdout, vars, results.TableOptions{Width: q.env.Width, Shorten: kept.All().With(q.declared).Shortener()})
	if err := writeRows(s, q, w, vars); err != nil {
		return err
	}
	_, err = fmt.Fprintf(q.env.Stdout, "%s, %.3f s\n", console.Plural(w.Rows(), "row"), time.Since(begun).Seconds())
	return err
}

func writeRows(s client.Querier, q question, w *results.Writer, vars []string) error {
	row := make([]triple.Term, len(vars))
	for solution, err := range s.Query(q.env.Ctx, q.text, q.opts) {
		for i, name := range vars {
			row[i] = solution.Term(name)
		}
		if err == nil {
			err = w.Write(row)
		}
		if err != nil && w.Rows() > 0 {
			err = errors.Join(err, w.Flush()) // the rows before the error are correct
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}

func writeTriples(s target.Store, q question, to syntax.Syntax) error {
	names, err := target.OutputNames(q.env, s.Prefixes, to, q.declared)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(q.env.Stdout, 1<<16)
	w, err := syntax.NewWriter(out, to, names)
	if err != nil {
		return err
	}
	for t, err := range s.Construct(q.env.Ctx, q.text, q.opts) {
		if err == nil {
			err = w.Write(t)
		}
		if err != nil {
			return errors.Join(err, w.Close(), out.Flush())
		}
	}
	return errors.Join(w.Close(), out.Flush())
}

func writePlan(s client.Querier, q question, run bool, format string) error {
	x, err := s.Explain(q.env.Ctx, q.text, run, q.opts)
	if err != nil {
		return err
	}
	if format == "json" {
		return q.env.PrintJSON(x)
	}
	text := x.Plan.Text(x.Ran)
	if x.Ran {
		text += fmt.Sprintf("%s, %s read, %.3f ms, of them %.3f to plan\n", console.Plural(x.Rows, "row"), console.Number(x.RowsRead), x.Seconds*1e3, x.PlanSeconds*1e3)
	}
	text += fmt.Sprintf("isolation %s: %s\n", x.Isolation, store.Isolation(x.Isolation).Explain())
	_, err = io.WriteString(q.env.Stdout, text)
	return err
}
