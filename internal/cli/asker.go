package cli

// This file holds the two that answer queries: a server, and the engine of this
// process over a data directory.

import (
	"iter"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/engine"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// remoteAsker asks a server.
type remoteAsker struct{ client *client.Client }

func (r remoteAsker) Close() error { return r.client.Close() }

func (r remoteAsker) solutions(q question, vars []string) iter.Seq2[[]triple.Term, error] {
	return func(yield func([]triple.Term, error) bool) {
		row := make([]triple.Term, len(vars))
		for s, err := range r.client.Query(q.env.ctx, q.text, q.opts) {
			for i, name := range vars {
				row[i] = s.Term(name)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

func (r remoteAsker) ask(q question) (bool, error) { return r.client.Ask(q.env.ctx, q.text, q.opts) }

func (r remoteAsker) triples(q question) iter.Seq2[triple.Triple, error] {
	return r.client.Construct(q.env.ctx, q.text, q.opts)
}

func (r remoteAsker) explain(q question, run bool) (client.Explanation, error) {
	return r.client.Explain(q.env.ctx, q.text, run, q.opts)
}

// localAsker runs the queries itself.
type localAsker struct{ *localEngine }

func openLocalAsker(c *queryCmd) (asker, error) {
	store, err := openStore(c.Data, node.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	e, err := openEngine(c.Data, store, true, engine.Options{QueryMemory: int64(c.QueryMemory), UnionDefaultGraph: c.UnionDefaultGraph})
	if err != nil {
		return nil, err
	}
	return localAsker{e}, nil
}

func (l localAsker) prepare(q question) (*engine.Query, error) {
	return l.Prepare(q.env.ctx, q.text, engine.Params{
		DefaultGraphs: q.opts.DefaultGraphs, NamedGraphs: q.opts.NamedGraphs, Timeout: q.opts.Timeout})
}

func (l localAsker) run(q question) (*engine.Answer, error) {
	prepared, err := l.prepare(q)
	if err != nil {
		return nil, err
	}
	return prepared.Run(q.env.ctx)
}

func (l localAsker) solutions(q question, vars []string) iter.Seq2[[]triple.Term, error] {
	return func(yield func([]triple.Term, error) bool) {
		answer, err := l.run(q)
		if err != nil {
			yield(nil, err)
			return
		}
		defer answer.Close()
		row, from := make([]triple.Term, len(vars)), make([]int, len(vars))
		for i, name := range vars {
			from[i] = slices.Index(answer.Vars, name)
		}
		for terms, err := range answer.Rows() {
			if err != nil {
				yield(nil, err)
				return
			}
			for i, at := range from {
				if at >= 0 {
					row[i] = terms[at]
				}
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (l localAsker) ask(q question) (bool, error) {
	answer, err := l.run(q)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	return answer.Boolean()
}

func (l localAsker) triples(q question) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		answer, err := l.run(q)
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer answer.Close()
		answer.Triples()(yield)
	}
}

func (l localAsker) explain(q question, run bool) (x client.Explanation, err error) {
	prepared, err := l.prepare(q)
	if err != nil {
		return x, err
	}
	x.Form, x.Ran, x.Isolation = prepared.Form().String(), run, string(l.Isolation())
	if !run {
		x.Plan, err = prepared.Explain(q.env.ctx)
		return x, err
	}
	start := time.Now()
	answer, err := prepared.Run(q.env.ctx)
	if err != nil {
		return x, err
	}
	defer answer.Close()
	switch answer.Form {
	case ast.Ask:
		x.Rows = 1
		_, err = answer.Boolean()
	case ast.Select:
		for _, e := range answer.Rows() {
			x.Rows, err = x.Rows+1, e
		}
	default:
		for _, e := range answer.Triples() {
			x.Rows, err = x.Rows+1, e
		}
	}
	if x.Plan = answer.Plan(); x.Plan != nil {
		x.RowsRead = x.Plan.TotalReads()
	}
	x.Seconds = time.Since(start).Seconds()
	return x, err
}
