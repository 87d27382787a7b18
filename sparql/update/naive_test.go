// An evaluation of updates by the definitions.

package update_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/update"
	"github.com/trefoildb/trefoil/triple"
)

// step is an operation of the naive model: its text and its effect.
type step struct {
	text string
	do   func(before set) (set, error)
}

var (
	someNodes      = []string{"<x:a>", "<x:b>", "<x:c>"}
	somePredicates = []string{"<x:p>", "<x:q>"}
	someObjects    = []string{"<x:a>", "<x:b>", "<x:c>", "01"}
	someGraphs     = []string{"<x:g>", "<x:h>"}
	someVars       = []string{"?a", "?b", "?c"}
)

func pick(t *rapid.T, lists ...[]string) string {
	return rapid.SampledFrom(slices.Concat(lists...)).Draw(t, "pick")
}

func drawPatterns(t *rapid.T, least, most int, vars []string) []pattern {
	var out []pattern
	for range rapid.IntRange(least, most).Draw(t, "patterns") {
		p := pattern{pick(t, vars, vars, vars, someNodes), pick(t, somePredicates), pick(t, vars, vars, vars, someObjects), ""}
		if len(vars) > 0 && rapid.IntRange(0, 4).Draw(t, "predicate") == 0 {
			p[1] = pick(t, vars)
		}
		if rapid.Bool().Draw(t, "graph") {
			p[3] = pick(t, vars, someGraphs)
		}
		out = append(out, p)
	}
	return out
}

func drawStep(t *rapid.T) step {
	switch rapid.IntRange(0, 9).Draw(t, "operation") {
	case 0, 1:
		quads := drawPatterns(t, 0, 4, nil)
		return step{"INSERT DATA " + inGraphs(quads), func(before set) (set, error) {
			maps.Copy(before, instances(quads, "", make([]map[string]triple.Term, 1)))
			return before, nil
		}}
	case 2:
		quads := drawPatterns(t, 0, 4, nil)
		return step{"DELETE DATA " + inGraphs(quads), func(before set) (set, error) {
			for tr := range instances(quads, "", make([]map[string]triple.Term, 1)) {
				delete(before, tr)
			}
			return before, nil
		}}
	case 3:
		return drawClear(t)
	case 4:
		return drawTransfer(t)
	case 5:
		graph := pick(t, someGraphs)
		return silently(t, "CREATE", "GRAPH "+graph, func(before set) (set, error) {
			if len(view(before, func(g triple.Term) bool { return g == termOf(graph) }, false)) > 0 {
				return nil, sparql.ErrGraphExists
			}
			return before, nil
		})
	}
	return drawModify(t)
}

func drawModify(t *rapid.T) step {
	where := drawPatterns(t, 0, 2, someVars)
	deletes := drawPatterns(t, 0, 2, someVars)
	inserts := drawPatterns(t, 0, 2, someVars)
	with := ""
	var using, usingNamed []string
	if rapid.IntRange(0, 2).Draw(t, "with") == 0 {
		with = pick(t, someGraphs)
	}
	if rapid.IntRange(0, 3).Draw(t, "using") == 0 {
		using = rapid.SliceOfN(rapid.SampledFrom(someGraphs), 0, 2).Draw(t, "using")
		usingNamed = rapid.SliceOfN(rapid.SampledFrom(someGraphs), 0, 2).Draw(t, "named")
	}
	var b strings.Builder
	if with != "" {
		b.WriteString("WITH " + with + " ")
	}
	fmt.Fprintf(&b, "DELETE %s INSERT %s ", inGraphs(deletes), inGraphs(inserts))
	for _, g := range using {
		b.WriteString("USING " + g + " ")
	}
	for _, g := range usingNamed {
		b.WriteString("USING NAMED " + g + " ")
	}
	b.WriteString("WHERE " + inGraphs(where))
	return step{b.String(), func(before set) (set, error) {
		unnamed := view(before, func(g triple.Term) bool {
			switch {
			case len(using)+len(usingNamed) > 0:
				return slices.Contains(using, g.String())
			case with != "":
				return g == termOf(with)
			}
			return g.IsZero()
		}, true)
		named := view(before, func(g triple.Term) bool {
			if len(using)+len(usingNamed) > 0 {
				return slices.Contains(usingNamed, g.String())
			}
			return !g.IsZero()
		}, false)
		rows := solve(unnamed, named, where)
		for tr := range instances(deletes, with, rows) {
			delete(before, tr)
		}
		maps.Copy(before, instances(inserts, with, rows))
		return before, nil
	}}
}

func drawClear(t *rapid.T) step {
	verb := pick(t, []string{"CLEAR", "DROP", "CLEAR SILENT", "DROP SILENT"})
	graph := pick(t, someGraphs)
	target := pick(t, []string{"GRAPH " + graph, "GRAPH " + graph, "DEFAULT", "NAMED", "ALL"})
	return step{verb + " " + target, func(before set) (set, error) {
		return view(before, func(g triple.Term) bool {
			switch target {
			case "DEFAULT":
				return !g.IsZero()
			case "NAMED":
				return g.IsZero()
			case "ALL":
				return false
			}
			return g != termOf(graph)
		}, false), nil
	}}
}

func drawTransfer(t *rapid.T) step {
	verb := pick(t, []string{"ADD", "MOVE", "COPY"})
	names := []string{pick(t, someGraphs, []string{"DEFAULT"}), pick(t, someGraphs, []string{"DEFAULT"})}
	var ends [2]triple.Term
	for i, name := range names {
		if name != "DEFAULT" {
			ends[i] = termOf(name)
		}
	}
	return silently(t, verb, names[0]+" TO "+names[1], func(before set) (set, error) {
		from := view(before, func(g triple.Term) bool { return g == ends[0] }, true)
		if ends[0] == ends[1] {
			return before, nil
		}
		if len(from) == 0 && !ends[0].IsZero() {
			return nil, sparql.ErrNoGraph
		}
		after := view(before, func(g triple.Term) bool {
			return (verb == "ADD" || g != ends[1]) && (verb != "MOVE" || g != ends[0])
		}, false)
		for tr := range from {
			tr.Graph = ends[1]
			after[tr] = true
		}
		return after, nil
	})
}

// silently draws whether an operation is SILENT: then it does nothing rather than
// fail.
func silently(t *rapid.T, verb, rest string, do func(before set) (set, error)) step {
	if rapid.IntRange(0, 3).Draw(t, "silent") == 0 {
		return step{verb + " " + rest, do}
	}
	return step{verb + " SILENT " + rest, func(before set) (set, error) {
		after, err := do(maps.Clone(before))
		if err != nil {
			return before, nil
		}
		return after, nil
	}}
}

// TestAgainstNaive: requests of several operations must give the same as the model, one
// operation after another on all of the data. The changes must be canonical.
func TestAgainstNaive(t *testing.T) {
	for range 20 {
		rapid.Check(t, againstNaive)
	}
}

func againstNaive(t *rapid.T) {

	base := set{}
	maps.Copy(base, instances(drawPatterns(t, 0, 30, nil), "", make([]map[string]triple.Term, 1)))
	var texts []string
	want, wantErr := maps.Clone(base), error(nil)
	for range rapid.IntRange(1, 8).Draw(t, "operations") {
		op := drawStep(t)
		texts = append(texts, op.text)
		if wantErr == nil {
			want, wantErr = op.do(want)
		}
	}
	text := strings.Join(texts, " ;\n")
	prepared, err := sparql.PrepareUpdate(text, sparql.Options{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	changes, err := prepared.Run(context.Background(), base.source())
	if wantErr != nil {
		if !errors.Is(err, wantErr) || changes != nil {
			t.Fatalf("%v, want %v in\n%s", err, wantErr, text)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if got := base.apply(changes); !maps.Equal(got, want) {
		t.Fatalf("%s\nover\n%s\ngot\n%s\nwant\n%s", text, base, got, want)
	}
	canonical(t, changes)
}

// canonical tests the contract of [update.Changes].
func canonical(t interface {
	Helper()
	Fatalf(string, ...any)
}, c *update.Changes) {
	t.Helper()
	adds, deletes := slices.Collect(c.Adds()), slices.Collect(c.Deletes())
	if len(adds) != c.NumAdds() || len(deletes) != c.NumDeletes() {
		t.Fatalf("%d adds, %d deletes; said to be %d, %d", len(adds), len(deletes), c.NumAdds(), c.NumDeletes())
	}
	added := setOf(adds)
	for _, tr := range deletes {
		if added[tr] {
			t.Fatalf("added and deleted: %s", tr)
		}
		if c.ClearAll || c.ClearDefault && tr.Graph.IsZero() || slices.Contains(c.ClearGraphs, tr.Graph) {
			t.Fatalf("deleted from a cleared graph: %s", tr)
		}
	}
	for _, list := range [][]triple.Triple{adds, deletes} {
		if !slices.IsSortedFunc(list, func(a, b triple.Triple) int {
			if o := triple.CompareTerms(a.Graph, b.Graph); o != 0 {
				return o
			}
			return triple.SPO.Compare(a, b)
		}) {
			t.Fatalf("not in order: %v", list)
		}
	}
	if c.ClearAll && (c.ClearDefault || len(c.ClearGraphs) > 0) || !slices.IsSortedFunc(c.ClearGraphs, triple.CompareTerms) {
		t.Fatalf("cleared: %v %v %v", c.ClearAll, c.ClearDefault, c.ClearGraphs)
	}
	if c.Empty() != (len(adds)+len(deletes)+len(c.ClearGraphs) == 0 && !c.ClearAll && !c.ClearDefault) {
		t.Fatalf("Empty is %v", c.Empty())
	}
}
