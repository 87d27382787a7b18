// Statements and searches as triples, patterns and bounds of the store.

package drive

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/triple"
)

func name(o triple.Order) string { return strings.ToLower(o.String()) }

// statementOf returns a triple as a statement.
func statementOf(t triple.Triple) dataset.Statement {
	s := dataset.Statement{S: t.Subject.String(), P: t.Predicate.String(), O: t.Object.String()}
	if !t.Graph.IsZero() {
		s.G = t.Graph.String()
	}
	return s
}

// tripleOf returns a statement as a triple.
func tripleOf(s dataset.Statement) (t triple.Triple, err error) {
	err = errors.Join(parse(&t.Subject, s.S), parse(&t.Predicate, s.P), parse(&t.Object, s.O), parse(&t.Graph, s.G))
	return t, err
}

// triplesOf returns the statements of a change as triples.
func triplesOf(op dataset.Op) (triples []triple.Triple, err error) {
	triples = make([]triple.Triple, len(op.Statements))
	for i, s := range op.Statements {
		if triples[i], err = tripleOf(s); err != nil {
			return nil, err
		}
	}
	return triples, nil
}

// parse parses a term if the text is not empty.
func parse(term *triple.Term, text string) (err error) {
	if text != "" {
		*term, err = triple.ParseTerm(text)
	}
	return err
}

// searchCall returns a search, without its Follow, as a call of a store.
func searchCall(ctx context.Context, s dataset.Search) (func(Store) iter.Seq2[triple.Triple, error], error) {
	if s.Order == "" {
		p, err := patternOf(s.Pattern)
		return func(store Store) iter.Seq2[triple.Triple, error] { return store.Match(ctx, p) }, err
	}
	b, err := boundsOf(s)
	return func(store Store) iter.Seq2[triple.Triple, error] { return store.Range(ctx, b, s.Reverse, s.Limit) }, err
}

func patternOf(s dataset.Statement) (triple.Pattern, error) {
	only := s.G == dataset.DefaultGraph
	if only {
		s.G = ""
	}
	t, err := tripleOf(s)
	return triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, Graph: t.Graph, DefaultGraph: only}, err
}

func boundsOf(s dataset.Search) (b triple.Bounds, err error) {
	if b.Order, err = triple.ParseOrder(s.Order); err != nil {
		return b, err
	}
	for _, text := range s.Prefix {
		term, err := triple.ParseTerm(text)
		if err != nil {
			return b, err
		}
		b.Prefix = append(b.Prefix, term)
	}
	if s.Starts != "" {
		if b.Starts, err = triple.ParseStarts(s.Starts); err != nil {
			return b, err
		}
	}
	err = errors.Join(parse(&b.GE, s.GE), parse(&b.GT, s.GT), parse(&b.LE, s.LE), parse(&b.LT, s.LT))
	return b, err
}
