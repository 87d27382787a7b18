// Queries as trees that can be shrunk.

package rdflib

import (
	"slices"
	"strings"
)

// group is a group graph pattern, whose elements can be taken out one by one.
type group []*element

// element is a part of a group: text, with groups in it.
type element struct {
	open    string
	groups  []group
	between string // before each group but the first
	end     string
}

// query is a query before it is written.
type query struct {
	head  string // up to the dataset and the pattern
	from  []string
	where group
	tail  string // all that follows the pattern

	order  []string // the variables of ORDER BY, which decide up to equal values
	cut    bool     // LIMIT or OFFSET
	choice bool     // LIMIT or OFFSET without ORDER BY: any rows will do
}

func (q query) String() string {
	var b strings.Builder
	b.WriteString(q.head)
	for _, clause := range q.from {
		b.WriteString(" " + clause)
	}
	b.WriteString(" WHERE ")
	q.where.write(&b)
	b.WriteString(q.tail)
	return b.String()
}

func (g group) write(b *strings.Builder) {
	b.WriteString("{ ")
	for _, e := range g {
		b.WriteString(e.open)
		for i, inner := range e.groups {
			if i > 0 {
				b.WriteString(e.between)
			}
			inner.write(b)
		}
		b.WriteString(e.end + " ")
	}
	b.WriteString("}")
}

// without returns the group with one element less, for each of its elements, and
// with one of them replaced by a group of its own.
func (g group) without() []group {
	var out []group
	for i, e := range g {
		out = append(out, slices.Delete(slices.Clone(g), i, i+1))
		for j, inner := range e.groups {
			for _, less := range inner.without() {
				smaller := *e
				smaller.groups = slices.Clone(e.groups)
				smaller.groups[j] = less
				changed := slices.Clone(g)
				changed[i] = &smaller
				out = append(out, changed)
			}
			// A group inside takes its element's place.
			out = append(out, slices.Replace(slices.Clone(g), i, i+1, inner...))
		}
	}
	return out
}

// shrink returns a smaller query that still fails.
func shrink(q query, fails func(query) bool) query {
	for again := true; again; {
		again = false
		for _, less := range q.where.without() {
			smaller := q
			smaller.where = less
			if fails(smaller) {
				q, again = smaller, true
				break
			}
		}
	}
	return q
}
