// Random requests against a model.

package update_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/update"
	"github.com/trefoildb/trefoil/triple"
)

// set is a dataset as a set of triples.
type set map[triple.Triple]bool

func setOf(triples []triple.Triple) set {
	s := set{}
	for _, t := range triples {
		s[t] = true
	}
	return s
}

// source returns the set as a source.
func (s set) source() *memsource.Source { return memsource.New(slices.Collect(maps.Keys(s))) }

// apply applies changes: clear, delete, add.
func (s set) apply(c *update.Changes) set {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(t triple.Triple, _ bool) bool {
		return c.ClearAll || c.ClearDefault && t.Graph.IsZero() || slices.Contains(c.ClearGraphs, t.Graph)
	})
	for t := range c.Deletes() {
		delete(out, t)
	}
	for t := range c.Adds() {
		out[t] = true
	}
	return out
}

func (s set) String() string {
	var lines []string
	for t := range s {
		lines = append(lines, t.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// pattern is a triple pattern, or a template's triple: subject, predicate, object
// and graph as they are written, "" for the default graph.
type pattern [4]string

// solve joins patterns the naive way. unnamed are the triples for patterns without a graph,
// named those for patterns with one.
func solve(unnamed, named set, where []pattern) []map[string]triple.Term {
	rows := []map[string]triple.Term{{}}
	for _, p := range where {
		view := unnamed
		if p[3] != "" {
			view = named
		}
		var next []map[string]triple.Term
		for _, row := range rows {
			for t := range view {
				if merged, ok := match(p, t, row); ok {
					next = append(next, merged)
				}
			}
		}
		rows = next
	}
	return rows
}

func match(p pattern, t triple.Triple, row map[string]triple.Term) (map[string]triple.Term, bool) {
	row = maps.Clone(row)
	for i, term := range []triple.Term{t.Subject, t.Predicate, t.Object, t.Graph} {
		switch at := p[i]; {
		case at == "":
			if i != 3 || !term.IsZero() {
				return nil, false
			}
		case at[0] == '?':
			if bound, ok := row[at]; ok && bound != term {
				return nil, false
			}
			row[at] = term
		default:
			if termOf(at) != term {
				return nil, false
			}
		}
	}
	return row, true
}

func termOf(text string) triple.Term {
	t, err := triple.ParseTerm(text)
	if err != nil {
		panic(err)
	}
	return t
}

// instances fills templates. If a result is no triple, it is left out.
func instances(templates []pattern, with string, rows []map[string]triple.Term) set {
	out := set{}
	for _, p := range templates {
		if p[3] == "" {
			p[3] = with
		}
		for _, row := range rows {
			var terms [4]triple.Term
			ok := true
			for i, at := range p {
				switch {
				case at == "":
				case at[0] == '?':
					terms[i] = row[at]
					ok = ok && !terms[i].IsZero()
				default:
					terms[i] = termOf(at)
				}
			}
			t := triple.Triple{Subject: terms[0], Predicate: terms[1], Object: terms[2], Graph: terms[3]}
			if ok && t.Check() == nil {
				out[t] = true
			}
		}
	}
	return out
}

// view returns the triples of some graphs, with or without their names.
func view(s set, keep func(g triple.Term) bool, rename bool) set {
	out := set{}
	for t := range s {
		if !keep(t.Graph) {
			continue
		}
		if rename {
			t.Graph = triple.Term{}
		}
		out[t] = true
	}
	return out
}

// inGraphs writes patterns in braces.
func inGraphs(patterns []pattern) string {
	var b strings.Builder
	b.WriteString("{ ")
	for _, p := range patterns {
		line := p[0] + " " + p[1] + " " + p[2]
		if p[3] != "" {
			line = "GRAPH " + p[3] + " { " + line + " }"
		} else {
			line += " ."
		}
		b.WriteString(line + " ")
	}
	return b.String() + "}"
}
