// The naive evaluation of functions of hyperlinks.

package sparql_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// linkCall draws a call of a function that ranks nothing, and a pattern that binds its page: without one
// the definition has all pages, and the engine none.
func linkCall(t *rapid.T, page, other string) string {
	result := "?d"
	if rapid.Bool().Draw(t, "new result") {
		result = fmt.Sprintf("?l%d", rapid.IntRange(0, 1<<20).Draw(t, "result"))
	}
	pattern := fmt.Sprintf("%s %s %s . ", page, rapid.SampledFrom([]string{"<x:p>", "<x:q>"}).Draw(t, "predicate"), rapid.SampledFrom([]string{"?c", "?e", "<x:n1>"}).Draw(t, "object"))
	n := rapid.IntRange(0, 3).Draw(t, "number")
	switch rapid.IntRange(0, 6).Draw(t, "function") {
	case 0:
		return pattern + fmt.Sprintf("%s links:pagerank %s . ", page, result)
	case 1:
		return pattern + fmt.Sprintf("%s links:outDegree %s ; links:inDegree ?e . ", page, result)
	case 2:
		return pattern + fmt.Sprintf("%s links:sample (%s %d) . ", page, other, n)
	case 3:
		return pattern + fmt.Sprintf("%s links:sampleBackward (%s %d) . ", page, other, n)
	case 4:
		return pattern + fmt.Sprintf("%s links:distance (%s %d %s) . ", page, other, n, result)
	case 5: // the other page is bound, too
		return pattern + fmt.Sprintf("%s <x:r> %s . %s links:distance (%s %d) . ", other, result, page, other, n)
	}
	return fmt.Sprintf("%s links:pagerank %s . ", page, result) // of all pages
}

// linkRanking draws a ranking, and a pattern that binds its page.
func linkRanking(t *rapid.T, page string) string {
	name := rapid.IntRange(0, 1<<20).Draw(t, "score")
	pattern := fmt.Sprintf("%s <x:p> ?e . ", page)
	condition := rapid.SampledFrom([]string{"", "", fmt.Sprintf("FILTER(?s%d > 1) ", name), fmt.Sprintf("OPTIONAL { %s <x:q> ?f%d FILTER(?s%d > 1) } ", page, name, name)}).Draw(t, "condition")
	if rapid.Bool().Draw(t, "hits") {
		return pattern + fmt.Sprintf("(%s) links:hits (?s%d ?h%d 3) . ", page, name, name) + condition
	}
	return pattern + fmt.Sprintf("(%s) links:salsa (?s%d) . ", page, name) + condition
}

// linkJoin returns all solutions of a function.
func (n naive) linkJoin(node *algebra.LinkJoin) []expr.Terms {
	var out []expr.Terms
	add := func(terms ...triple.Term) {
		row := make(expr.Terms, n.width)
		rows := []expr.Terms{n.begin()}
		for i, at := range node.Places() {
			switch {
			case !at.IsVar():
				if at.Term != terms[i] {
					return
				}
			case row[at.Slot].IsZero():
				row[at.Slot] = terms[i]
			case row[at.Slot] != terms[i]:
				return
			}
		}
		out = append(out, join(rows, []expr.Terms{row})...)
	}
	integer := func(i int) triple.Term { return expr.FromInt(int64(i)).Term() }
	for page := uint64(1); page <= uint64(len(n.web.Names)); page++ {
		term := n.page(page)
		switch node.Function {
		case ast.LinkPageRank:
			add(term, expr.FromDouble(n.web.Scores[page]).Term())
		case ast.LinkOutDegree:
			add(term, integer(len(n.web.Out[page])))
		case ast.LinkInDegree:
			add(term, integer(len(n.web.Inlinks(page))))
		case ast.LinkSample, ast.LinkSampleBackward:
			for _, other := range n.web.Sample(page, node.Function == ast.LinkSampleBackward, node.Numbers[0]) {
				add(term, n.page(other))
			}
		case ast.LinkDistance:
			// A step adds the links of all pages reached before.
			distances := map[uint64]int{page: 0}
			for step := 1; step <= node.Numbers[0]; step++ {
				for from, distance := range distances {
					for _, to := range n.web.Out[from] {
						if _, ok := distances[to]; !ok && distance < step {
							distances[to] = step
						}
					}
				}
			}
			for other, distance := range distances {
				add([]triple.Term{term, n.page(other), integer(distance)}[:1+len(node.Results)]...)
			}
		}
	}
	return out
}

func (n naive) page(page uint64) triple.Term { return triple.NewIRI(n.web.Names[page-1]) }

// linkRank returns the ranked solutions.
func (n naive) linkRank(node *algebra.LinkRank) []expr.Terms {
	rows := n.eval(node.Input)
	pageOf := func(row expr.Terms) uint64 {
		term := node.Page.Term
		if node.Page.IsVar() {
			term = row[node.Page.Slot]
		}
		if term.Kind() != triple.IRI {
			return 0
		}
		return uint64(slices.Index(n.web.Names, term.Value()) + 1)
	}
	var set []uint64
	for _, row := range rows {
		if page := pageOf(row); page != 0 && !slices.Contains(set, page) {
			set = append(set, page)
		}
	}
	in, out := 10, 10
	if len(node.Numbers) > 0 {
		in = node.Numbers[0]
	}
	rows = slices.DeleteFunc(rows, func(row expr.Terms) bool { return pageOf(row) == 0 })
	for _, row := range rows {
		one := n.web.Scored(pageOf(row), set, in, out)
		row[node.Results[0].Slot] = expr.FromDouble(one.Score).Term()
		if node.Function.Hubs() {
			row[node.Results[1].Slot] = expr.FromDouble(one.Hub).Term()
		}
	}
	return rows
}
