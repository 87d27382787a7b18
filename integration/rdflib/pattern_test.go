// Random patterns.

package rdflib

import (
	"fmt"
	"slices"
	"strings"
)

func (g *generator) subject() string {
	if g.chance(10) {
		return g.pick("<x:a>", "<x:b>", "<x:c>")
	}
	return g.pick("?a", "?a", "?a", "?a", "?b", "?b", "?c")
}

// pattern is a triple pattern.
func (g *generator) pattern() *element {
	s := g.subject()
	if g.chance(6) {
		s = "[]"
	}
	var p, o string
	switch g.rng.IntN(14) {
	case 0, 1:
		p, o = "<x:n>", g.pick("?n1", "?n1", "?n1", "?n2", "?n3", "1")
	case 2:
		p, o = "<x:s>", g.pick("?s1", "?s1", "?s2", "?s2", `"abc"`)
	case 3:
		p, o = "<x:l>", g.pick("?l1", "?l1", "?l2", "?l2", `"abc"@en`)
	case 4:
		p, o = "<x:d>", g.pick("?d1", "?d2")
	case 5:
		p, o = "<x:t>", "?t1"
	case 6, 7:
		p, o = "<x:m>", g.pick("?m1", "?m2", "?b")
	case 8:
		p, o = "?p", g.pick("?m1", "?m2", "?b", "?c", "<x:a>", `"abc"`)
	case 9:
		p, o = g.path(2), g.pick("?b", "?b", "?c", "?c", "<x:b>", "<x:d>", "1")
	default:
		p, o = "<x:"+one(g.rng, links)+">", g.pick("?a", "?b", "?c", "?c", "<x:b>", "[]")
	}
	for _, v := range []string{s, p, o} {
		if v[0] == '?' && !slices.Contains(g.used, v) {
			g.used = append(g.used, v)
		}
	}
	return &element{open: s + " " + p + " " + o + " ."}
}

// path is a property path.
func (g *generator) path(depth int) string {
	link := "<x:" + g.pick("p", "p", "q", "r", "m", "n") + ">"
	if depth == 0 {
		return link
	}
	d := depth - 1
	switch g.rng.IntN(9) {
	case 0:
		return fmt.Sprintf("(%s/%s)", g.path(d), g.path(d))
	case 1:
		return fmt.Sprintf("(%s|%s)", g.path(d), g.path(d))
	case 2:
		return fmt.Sprintf("(^%s)", g.path(d))
	case 3:
		return fmt.Sprintf("(%s)%s", g.path(d), g.pick("*", "+", "?"))
	case 4:
		return link + g.pick("*", "+", "?")
	case 5:
		return fmt.Sprintf("!(%s|<x:q>)", link)
	case 6:
		return fmt.Sprintf("!(^%s|<x:r>)", link)
	case 7:
		return g.pick("!"+link, "(!^"+link+")")
	}
	return link
}

func (g *generator) patterns(n int) group {
	var out group
	for range n {
		out = append(out, g.pattern())
	}
	return out
}

// variable names a new computed variable.
func (g *generator) variable(kind string) string {
	g.fresh++
	return fmt.Sprintf("?%s%d", kind, g.fresh)
}

// group is the inside of a group graph pattern.
func (g *generator) group(depth int) group {
	out := g.patterns(1)
	if g.chance(35) {
		out = append(out, g.pattern())
	}
	if depth == 0 {
		if g.chance(30) {
			out = append(out, g.filter(1))
		}
		return out
	}
	for range g.rng.IntN(3) {
		out = append(out, g.element(depth)...)
	}
	return out
}

func (g *generator) filter(depth int) *element {
	return &element{open: "FILTER(" + g.boolean(depth) + ")"}
}

func (g *generator) element(depth int) group {
	d := depth - 1
	switch g.rng.IntN(16) {
	case 0, 1, 2:
		return group{g.filter(2)}
	case 3, 4, 5:
		return group{{open: "OPTIONAL ", groups: []group{g.group(d)}}}
	case 6, 7:
		return group{{groups: []group{g.group(d), g.group(d)}, between: " UNION "}}
	case 8:
		return group{{open: "MINUS ", groups: []group{g.group(d)}}}
	case 9, 10:
		return group{g.bind()}
	case 11:
		return group{g.values()}
	case 12:
		return group{{open: "FILTER " + g.pick("", "NOT ") + "EXISTS ", groups: []group{g.inExists()}}}
	case 13:
		return group{{open: "GRAPH " + g.pick("?g", "?g", "<x:g1>") + " ", groups: []group{g.group(d)}}}
	case 14:
		return group{g.subquery(d)}
	}
	return group{g.pattern(), {groups: []group{g.group(d)}}}
}

// inExists is a pattern for EXISTS in which it is clear what the substitution of
// variables does: patterns, a filter, an OPTIONAL with a filter.
func (g *generator) inExists() group {
	out := g.patterns(1 + g.rng.IntN(2))
	switch g.rng.IntN(4) {
	case 0:
		out = append(out, g.filter(1))
	case 1:
		out = append(out, &element{open: "OPTIONAL ", groups: []group{g.patterns(1)}}, g.filter(1))
	case 2:
		out = append(out, &element{groups: []group{g.patterns(1), g.patterns(1)}, between: " UNION "})
	}
	return out
}

func (g *generator) bind() *element {
	var expr string
	numeric := g.chance(40)
	if numeric {
		expr = g.number(2)
	} else {
		expr = g.any(2)
	}
	v := g.variable("v")
	if numeric {
		g.numeric = append(g.numeric, v)
	}
	return &element{open: "BIND(" + expr + " AS " + v + ")"}
}

func (g *generator) values() *element {
	switch g.rng.IntN(3) {
	case 0:
		return &element{open: "VALUES ?a { <x:a> <x:c> <x:c> }"}
	case 1:
		return &element{open: "VALUES (?b ?n1) { (<x:a> UNDEF) (UNDEF 1) (<x:b> " + g.literal(numbers) + ") (UNDEF UNDEF) }"}
	}
	return &element{open: "VALUES ?m1 { 1 \"abc\" " + g.literal(odd) + " }"}
}

func (g *generator) subquery(depth int) *element {
	inner := g.group(depth)
	if g.chance(50) {
		key, expr, v := g.groupKey(), "", ""
		expr, v = g.aggregate()
		return &element{open: fmt.Sprintf("{ SELECT %s (%s AS %s) WHERE ", key, expr, v), groups: []group{inner}, end: " GROUP BY " + key + " }"}
	}
	return &element{open: "{ SELECT " + g.pick("", "DISTINCT ") + g.pick("?a ?b", "?a ?n1", "?b ?m1", "?c ?s1 ?l1") + " WHERE ", groups: []group{inner}, end: " }"}
}

func (g *generator) groupKey() string {
	return g.of("abcnsml", "?a", "?b")
}

// aggregate returns an aggregate and a variable for it.
func (g *generator) aggregate() (string, string) {
	distinct := g.pick("", "", "DISTINCT ")
	switch g.rng.IntN(9) {
	case 0:
		return "COUNT(*)", g.variable("v")
	case 1:
		return "COUNT(" + distinct + g.any(1) + ")", g.variable("v")
	case 2:
		return "COUNT(" + distinct + g.stored() + ")", g.variable("v")
	case 3:
		return "SUM(" + distinct + g.pick(g.of("n", "?n1"), g.of("n", "?n2"), g.number(1)) + ")", g.variable("v")
	case 4:
		return "AVG(" + distinct + g.pick(g.of("n", "?n1"), g.of("n", "?n2"), g.number(1)) + ")", g.variable("v")
	case 5:
		return g.pick("MIN", "MAX") + "(" + g.of("nsdt", "?n1") + ")", g.variable("e")
	case 6:
		return "GROUP_CONCAT(" + distinct + g.pick(g.of("s", "?s1"), g.of("l", "?l1"), "STR("+g.of("nsdt", "?n1")+")") + `; SEPARATOR="|")`, g.variable("j")
	case 7:
		return "SUM(" + g.pick("?n1", "1", "STRLEN(?s1)") + ") / COUNT(*)", g.variable("v")
	}
	return "COUNT(" + distinct + "?n1) + 1", g.variable("v")
}

// query draws a whole query.
func (g *generator) query() query {
	q := query{where: g.group(2)}
	if g.chance(6) {
		q.from = [][]string{{"FROM <x:g1>"}, {"FROM <x:g2>"}, {"FROM <x:g1>", "FROM <x:g2>"}, {"FROM <x:g1>", "FROM NAMED <x:g2>"}, {"FROM NAMED <x:g1>", "FROM NAMED <x:g2>"}}[g.rng.IntN(5)]
	}
	switch g.rng.IntN(10) {
	case 0:
		q.head = "ASK"
	case 1:
		q.head = "CONSTRUCT { " + g.pick("?a <x:to> "+g.stored(), "?a <x:to> "+g.stored()+" . ?b ?p "+g.stored(), "?a <x:to> _:x . _:x <x:is> "+g.stored(), g.stored()+" <x:to> 1 . ?c <x:has> [ <x:is> "+g.stored()+" ]") + " }"
		if g.chance(20) {
			q.head = "CONSTRUCT"
			q.where = group{{open: "?a <x:" + one(g.rng, links) + "> ?b ."}, {open: g.pick("?a", "?b") + " <x:n> ?n1 ."}}
		}
	case 2, 3:
		g.grouped(&q)
	default:
		g.selected(&q)
	}
	return q
}

func (g *generator) grouped(q *query) {
	var columns []string
	for range 1 + g.rng.IntN(3) {
		expr, v := g.aggregate()
		columns = append(columns, "("+expr+" AS "+v+")")
	}
	switch g.rng.IntN(4) {
	case 0: // one group of all
	case 1:
		v := g.variable("v")
		columns = append(columns, v)
		q.tail = " GROUP BY (" + g.any(1) + " AS " + v + ")"
	default:
		key := g.groupKey()
		columns = append(columns, key)
		q.tail = " GROUP BY " + key
		if g.chance(30) {
			other := g.pick("?p", "?d1", "?t1")
			columns = append(columns, other)
			q.tail += " " + other
		}
	}
	if g.chance(25) {
		q.tail += " HAVING(" + g.pick("COUNT(*) > 1", "SUM(?n1) >= 2", "MIN(?n2) < 2", "COUNT(DISTINCT ?b) = 1 || AVG(?n1) > 1") + ")"
	}
	q.head = "SELECT " + strings.Join(columns, " ")
}

func (g *generator) selected(q *query) {
	distinct := g.pick("", "", "", "DISTINCT ")
	all := []string{"?a", "?b", "?c", "?n1", "?n2", "?s1", "?l1", "?m1", "?d1", "?t1", "?p", "?g"}
	if distinct == "" && g.chance(40) {
		q.head = "SELECT *"
	} else {
		g.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		columns := slices.Clone(all[:1+g.rng.IntN(5)])
		for range g.rng.IntN(3) {
			columns = append(columns, "("+g.any(2)+" AS "+g.variable("v")+")")
		}
		q.head = "SELECT " + distinct + strings.Join(columns, " ")
		if v := g.stored(); !slices.Contains(columns, v) {
			columns = append(columns, v)
			q.head += " " + v
		}
		all = columns
	}
	if g.chance(25) {
		keys := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
			// What has an order is compared: the rest has none that the specification says.
			return !slices.Contains([]string{"?a", "?n1", "?n2", "?s1", "?d1", "?t1", "?p", "?g"}, v)
		})
		if len(keys) > 3 {
			keys = keys[:3]
		}
		for i, key := range keys {
			if i == 0 {
				q.tail += " ORDER BY"
			}
			q.order = append(q.order, key[1:])
			q.tail += " " + g.pick(key, "DESC("+key+")", "ASC("+key+")")
		}
	}
	if g.chance(20) {
		q.cut, q.choice = true, len(q.order) == 0
		q.tail += fmt.Sprintf(" LIMIT %d", g.rng.IntN(6))
		if g.chance(40) {
			q.tail += fmt.Sprintf(" OFFSET %d", g.rng.IntN(4))
		}
	}
	if q.head != "SELECT *" && g.chance(5) {
		q.tail += " VALUES ?a { <x:a> <x:b> UNDEF }"
	}
}
