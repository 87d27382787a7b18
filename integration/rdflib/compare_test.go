// Results of trefoil and rdflib, compared.

package rdflib

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/integration/conformance"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// result is what trefoil or the oracle answers.
type result struct {
	rows    []map[string]triple.Term
	boolean *bool
	graph   []triple.Triple
	isGraph bool
}

func options() sparql.Options {
	rng := rand.New(rand.NewPCG(1, 1))
	return sparql.Options{Options: exec.Options{Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Uint64: rng.Uint64}}
}

// run answers a query with trefoil.
func run(src sparql.Source, text string) (result, error) {
	r, err := sparql.Query(context.Background(), src, text, options())
	if err != nil {
		return result{}, err
	}
	defer r.Close()
	var out result
	switch r.Form {
	case ast.Ask:
		value, err := r.Boolean()
		out.boolean = &value
		return out, err
	case ast.Construct, ast.Describe:
		out.isGraph = true
		for tr, err := range r.Triples() {
			if err != nil {
				return result{}, err
			}
			out.graph = append(out.graph, tr)
		}
		return out, nil
	}
	for row, err := range r.Rows() {
		if err != nil {
			return result{}, err
		}
		solution := map[string]triple.Term{}
		for i, name := range r.Vars {
			if !row[i].IsZero() {
				solution[name] = row[i]
			}
		}
		out.rows = append(out.rows, solution)
	}
	return out, nil
}

// result reads a reply.
func (r reply) result() result {
	out := result{boolean: r.Boolean, isGraph: r.Graph != nil, graph: decode(r.Graph)}
	for _, row := range r.Rows {
		solution := map[string]triple.Term{}
		for name, term := range row {
			solution[name] = decodeTerm(term)
		}
		out.rows = append(out.rows, solution)
	}
	return out
}

// differ returns how two results of a query differ.
func differ(q query, got, want result) error {
	switch {
	case got.isGraph != want.isGraph || (got.boolean == nil) != (want.boolean == nil):
		return errors.New("results of two forms")
	case got.boolean != nil:
		if *got.boolean != *want.boolean {
			return fmt.Errorf("got %t, want %t", *got.boolean, *want.boolean)
		}
		return nil
	case got.isGraph:
		same, err := conformance.Isomorphic(got.graph, want.graph)
		if err == nil && !same {
			err = fmt.Errorf("got  %v\nwant %v", got.graph, want.graph)
		}
		return err
	case len(got.rows) != len(want.rows):
		return fmt.Errorf("%d rows, want %d\ngot  %s\nwant %s", len(got.rows), len(want.rows), texts(got.rows), texts(want.rows))
	case q.choice:
		return nil
	}
	for i := range got.rows {
		for _, name := range q.order {
			a, b := got.rows[i][name], want.rows[i][name]
			if a.Kind() == triple.Literal && b.Kind() == triple.Literal && !strings.Contains("nsdt", name[:1]) {
				break // literals of all kinds, which have no order
			}
			if rank(a) != rank(b) {
				return fmt.Errorf("row %d is not in order by ?%s: %s, want %s", i, name, a, b)
			}
		}
	}
	if q.cut { // which of equal rows come is open
		return nil
	}
	if a, b := lines(got.rows), lines(want.rows); !slices.Equal(a, b) {
		a, b := missing(a, b), missing(b, a)
		return fmt.Errorf("of %d rows\ngot  %s\nwant %s", len(got.rows), strings.Join(a, "\n     "), strings.Join(b, "\n     "))
	}
	return nil
}

// missing returns the lines of a that b has not, as a multiset.
func missing(a, b []string) []string {
	left := map[string]int{}
	for _, line := range b {
		left[line]++
	}
	var out []string
	for _, line := range a {
		if left[line]--; left[line] < 0 {
			out = append(out, line)
		}
	}
	return out
}

func texts(rows []map[string]triple.Term) string {
	return strings.Join(lines(rows), "\n     ")
}

// lines writes rows as sorted lines, which are equal where the rows are.
func lines(rows []map[string]triple.Term) []string {
	out := []string{}
	for _, row := range rows {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(row)) {
			fmt.Fprintf(&b, "?%s=%s ", name, column(name, row[name]))
		}
		out = append(out, b.String())
	}
	slices.Sort(out)
	return out
}

// column writes a term of a variable. What the query returns of the data is
// compared as it was written; of ?v1 and the like, which are computed, decimals,
// floats and doubles by value; of ?e1 (MIN, MAX) anything that is equal to the
// extremum; of ?j1 (GROUP_CONCAT) the parts in any order.
func column(name string, t triple.Term) string {
	if len(name) < 2 {
		return t.String()
	}
	switch name[0] {
	case 'v':
		return computed(t)
	case 'e':
		return rank(t)
	case 'j':
		parts := strings.Split(t.Value(), "|")
		slices.Sort(parts)
		return strings.Join(parts, "|")
	}
	return t.String()
}

// computed writes a number with the digits that all implementations agree on.
func computed(t triple.Term) string {
	f, ok := triple.NumericValue(t)
	if !ok {
		return t.String()
	}
	switch t.Datatype() {
	case triple.XSDFloat:
		return strconv.FormatFloat(f, 'e', 4, 32) + " float"
	case triple.XSDDecimal, triple.XSDDouble:
		return strconv.FormatFloat(f+0, 'e', 10, 64) + " " + strings.TrimPrefix(t.Datatype(), xsd)
	}
	return t.String()
}

// rank writes a term so that those of one place in an order are equal.
func rank(t triple.Term) string {
	switch {
	case t.IsZero() || t.Kind() == triple.Blank:
		return t.Kind().String()
	case t.Datatype() == triple.XSDDateTime:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05"} {
			if at, err := time.Parse(layout, t.Value()); err == nil {
				return at.UTC().String()
			}
		}
	}
	if f, ok := triple.NumericValue(t); ok {
		return strconv.FormatFloat(f+0, 'g', 10, 64)
	}
	return t.String()
}
