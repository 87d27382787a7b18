// Random expressions.

package rdflib

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// generator draws the parts of a query. Variables are named by what they hold:
// ?a to ?c nodes, ?n numbers, ?s simple strings, ?l strings with and without tags,
// ?d dateTimes, ?t dates, ?m anything, ?g graphs, ?p predicates, and ?v1, ?v2 and
// so on what the query computes; see [column].
type generator struct {
	rng     *rand.Rand
	zones   bool
	fresh   int
	numeric []string // the computed variables that hold numbers
	used    []string // the variables of the patterns so far
}

func (g *generator) pick(choices ...string) string { return one(g.rng, choices) }

func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// literal writes a term of a pool.
func (g *generator) literal(pool []triple.Term) string {
	// rdflib's parser makes spaces of tabs.
	return strings.ReplaceAll(one(g.rng, pool).String(), "\t", `\t`)
}

// variable of some kinds: mostly one that a pattern has.
func (g *generator) of(kinds string, otherwise ...string) string {
	var found []string
	for _, v := range g.used {
		if strings.Contains(kinds, v[1:2]) {
			found = append(found, v)
		}
	}
	if len(found) > 0 && g.chance(85) {
		return one(g.rng, found)
	}
	return one(g.rng, otherwise)
}

// stored is a variable that holds a term of the data.
func (g *generator) stored() string {
	return g.of("abcnsldtm", "?a", "?b", "?n1", "?s1", "?l1", "?d1", "?t1", "?m1", "?m2")
}

func (g *generator) number(depth int) string {
	if depth == 0 {
		if len(g.numeric) > 0 && g.chance(20) {
			return one(g.rng, g.numeric)
		}
		switch g.rng.IntN(6) {
		case 0:
			return g.pick("0", "1", "2", "10", "1.5", "2.0", "1e1", "2.5e0", "-1", "-2", "-1.5")
		case 1:
			return g.literal(numbers)
		case 2:
			return g.of("m", "?m1")
		}
		return g.of("n", "?n1", "2", "7.5")
	}
	d := depth - 1
	switch g.rng.IntN(13) {
	case 0, 1, 2, 3:
		return fmt.Sprintf("(%s %s %s)", g.number(d), g.pick("+", "-", "*", "/"), g.number(d))
	case 4:
		return fmt.Sprintf("(-(%s))", g.number(d))
	case 5:
		return fmt.Sprintf("%s(%s)", g.pick("ABS", "CEIL", "FLOOR", "ROUND"), g.number(d))
	case 6:
		return fmt.Sprintf("STRLEN(%s)", g.text(d))
	case 7:
		return fmt.Sprintf("%s(%s)", g.pick("YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS"), g.moment())
	case 8:
		return fmt.Sprintf("<%s>(%s)", xsd+g.pick("integer", "decimal", "double", "float"), g.number(d))
	case 9:
		return fmt.Sprintf("<%s>(%s)", xsd+g.pick("integer", "decimal", "double"), g.pick("?s1", "?m1", "?m2", `"12"`, `" 7"`, `"1.25"`, `"1e3"`, "?l1", "?d1", "?a"))
	case 10:
		return fmt.Sprintf("IF(%s, %s, %s)", g.boolean(d), g.number(d), g.number(d))
	case 11:
		return fmt.Sprintf("COALESCE(%s, %s)", g.number(d), g.number(d))
	}
	return g.number(0)
}

// text is an expression of strings, which does not write out computed numbers:
// their lexical forms are up to the implementation.
func (g *generator) text(depth int) string {
	if depth == 0 {
		switch g.rng.IntN(7) {
		case 0:
			return g.literal(simple[:len(simple)-2])
		case 1:
			return g.literal(tagged)
		case 2, 3:
			return g.of("l", "?l1", `"chat"@fr`)
		case 4:
			return fmt.Sprintf("STR(%s)", g.stored())
		}
		return g.of("s", "?s1", `"abc"`)
	}
	d := depth - 1
	switch g.rng.IntN(17) {
	case 0:
		return fmt.Sprintf("SUBSTR(%s, %s)", g.text(d), g.pick("1", "2", "0", "-1", "3", "1.5", "?n1"))
	case 1:
		return fmt.Sprintf("SUBSTR(%s, %s, %s)", g.text(d), g.pick("1", "2", "0", "-1", "1.6"), g.pick("0", "1", "2", "5", "1.5", "?n1"))
	case 2:
		return fmt.Sprintf("%s(%s)", g.pick("UCASE", "LCASE"), g.text(d))
	case 3, 4:
		return fmt.Sprintf("CONCAT(%s, %s)", g.text(d), g.text(d))
	case 5, 6:
		return fmt.Sprintf("%s(%s, %s)", g.pick("STRBEFORE", "STRAFTER"), g.text(d), g.needle())
	case 7, 8:
		return fmt.Sprintf("REPLACE(%s, %s, %s%s)", g.text(d), g.expression(), g.pick(`"X"`, `""`, `"[$1]"`, `"<$0>"`), g.flags())
	case 9:
		return fmt.Sprintf("ENCODE_FOR_URI(%s)", g.text(d))
	case 10:
		return fmt.Sprintf("LANG(%s)", g.stored())
	case 11:
		return fmt.Sprintf("STR(DATATYPE(%s))", g.any(d))
	case 12:
		return fmt.Sprintf("%s(%s)", g.pick("MD5", "SHA1", "SHA256", "SHA384", "SHA512"), g.simple(d))
	case 13:
		return fmt.Sprintf(`STRLANG(%s, "en")`, g.text(d))
	case 14:
		return fmt.Sprintf("IF(%s, %s, %s)", g.boolean(d), g.text(d), g.text(d))
	case 15:
		return fmt.Sprintf("COALESCE(%s, %s)", g.text(d), g.text(d))
	}
	return g.pick("TZ("+g.moment()+")", "STR(TIMEZONE("+g.moment()+"))", fmt.Sprintf("<%sstring>(%s)", xsd, g.pick("?s1", "?a", "?l1", "?d1", "true")))
}

// simple is an expression of strings without tags.
func (g *generator) simple(depth int) string {
	if depth > 0 && g.chance(50) {
		return fmt.Sprintf("CONCAT(%s, %s)", g.simple(0), g.simple(0))
	}
	return g.of("s", "?s1", "STR(?l1)", "STR(?a)", `"naïve"`)
}

func (g *generator) needle() string {
	return g.pick(`"a"`, `"b"`, `""`, `"o"`, `" "`, `"bc"`, `"x"`, `"a"@en`, `"b"@fr`, `"é"`, "?l1", "?s1")
}

// expression is a regular expression in what XPath and others share.
func (g *generator) expression() string {
	return g.pick(`"a"`, `"b.?"`, `"^a"`, `"c$"`, `"(a|b)+"`, `"[a-c]+"`, `"[^a-z]"`, `"[^B-Y]"`, `"\\W"`, `"(o)"`, `"\\s"`, `"\\d+"`, `"\\."`, `"A"`, `"a{1,2}"`, `"é"`, `"long (long)"`, `"(a)(b)?"`, `"x*"`, `"("`, "?s1")
}

func (g *generator) flags() string { return g.pick("", "", `, "i"`, `, "s"`, `, "im"`) }

func (g *generator) moment() string {
	return g.of("dd", "?d1", "?m1", one(g.rng, moments(g.zones)).String(), one(g.rng, moments(g.zones)).String())
}

// any is an expression of any kind.
func (g *generator) any(depth int) string {
	switch g.rng.IntN(6) {
	case 0:
		return g.number(depth)
	case 1:
		return g.text(depth)
	case 2:
		if depth > 0 {
			return g.boolean(depth - 1)
		}
	case 3:
		return g.pick(`STRDT(?s1, <x:dt>)`, `STRDT(?l1, <`+xsd+`integer>)`, `IRI(CONCAT("x:", ENCODE_FOR_URI(?s1)))`, `IRI(?a)`, "<x:a>",
			"DATATYPE(?m1)", "DATATYPE(?l1)", "TIMEZONE(?d1)", "COALESCE(?c, ?b)", "STRLEN(STRUUID())",
			"isIRI(UUID())", "DATATYPE(NOW())", "(RAND() < 1)", "isBLANK(BNODE())", `isBLANK(BNODE("x"))`, "IF(BOUND(?a), ?a, ?m1)")
	}
	return g.stored()
}

func (g *generator) boolean(depth int) string {
	if depth == 0 {
		return g.comparison(0)
	}
	d := depth - 1
	switch g.rng.IntN(16) {
	case 0:
		return fmt.Sprintf("(!%s)", g.boolean(d))
	case 1, 2:
		return fmt.Sprintf("(%s %s %s)", g.boolean(d), g.pick("&&", "||"), g.boolean(d))
	case 3:
		return fmt.Sprintf("(%s %s (%s, %s, %s))", g.stored(), g.pick("IN", "NOT IN"), g.any(0), g.stored(), g.number(0))
	case 4:
		return fmt.Sprintf("BOUND(%s)", g.stored())
	case 5:
		return fmt.Sprintf("%s(%s)", g.pick("isIRI", "isURI", "isBLANK", "isLITERAL", "isNUMERIC"), g.any(d))
	case 6:
		return fmt.Sprintf("sameTerm(%s, %s)", g.stored(), g.stored())
	case 7:
		return fmt.Sprintf("langMATCHES(LANG(%s), %s)", g.stored(), g.pick(`"en"`, `"*"`, `"fr"`, `"EN-gb"`, `""`))
	case 8, 9:
		return fmt.Sprintf("REGEX(%s, %s%s)", g.text(d), g.expression(), g.flags())
	case 10, 11:
		return fmt.Sprintf("%s(%s, %s)", g.pick("CONTAINS", "STRSTARTS", "STRENDS"), g.text(d), g.needle())
	case 12:
		return fmt.Sprintf("<%sboolean>(%s)", xsd, g.pick("?m1", "?n1", "?s1", `"true"`, `"1"`, "?m2", "?l1"))
	case 13:
		return g.stored() // its effective value
	}
	return g.comparison(d)
}

func (g *generator) comparison(depth int) string {
	op := g.pick("=", "!=", "<", "<=", ">", ">=")
	switch g.rng.IntN(8) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", g.text(depth), op, g.text(depth))
	case 1:
		return fmt.Sprintf("(%s %s %s)", g.moment(), op, g.moment())
	case 2:
		return fmt.Sprintf("(%s %s %s)", g.of("t", "?t1"), op, g.literal(dates))
	case 3:
		return fmt.Sprintf("(%s %s %s)", g.stored(), g.pick("=", "!="), g.any(depth))
	case 4:
		return fmt.Sprintf("(%s %s %s)", g.stored(), op, g.stored())
	}
	return fmt.Sprintf("(%s %s %s)", g.number(depth), op, g.number(depth))
}
