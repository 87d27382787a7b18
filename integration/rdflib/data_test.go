// Random data for the comparison with rdflib.

package rdflib

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// The vocabulary. Each predicate has objects of one kind, so that queries can
// compute with them; <x:m> has all that is odd.
var (
	nodes      = []triple.Term{iri("a"), iri("b"), iri("c"), triple.NewBlank("k1")}
	links      = []string{"p", "q", "r"}
	graphNames = []triple.Term{iri("g1"), iri("g2")}

	numbers = literals(
		"1", triple.XSDInteger, "2", triple.XSDInteger, "01", triple.XSDInteger, "-3", triple.XSDInteger, "+2", triple.XSDInteger,
		"0", triple.XSDInteger, "40", triple.XSDInteger, "2", xsd+"int", "7", xsd+"unsignedByte",
		"1.0", triple.XSDDecimal, "1.50", triple.XSDDecimal, "-0.25", triple.XSDDecimal, ".5", triple.XSDDecimal, "2.5", triple.XSDDecimal,
		"1.0e0", triple.XSDDouble, "1E2", triple.XSDDouble, "-2.5", triple.XSDDouble, "0.125", triple.XSDDouble,
		"0.5", triple.XSDFloat, "3", triple.XSDFloat,
	)
	simple = []triple.Term{
		text(""), text("a"), text("abc"), text("Abc"), text("a b"), text("x/y?z=1&w"), text("foo.bar"), text("10"), text("2.50"),
		text("true"), text("naïve café"), text("日本語"), text("😀 end"), text("tab\tquote\"s\\"), text("a,b;c"),
		// Longer than a key holds, and different only at the end.
		text(strings.Repeat("long ", 300) + "a"), text(strings.Repeat("long ", 300) + "b"),
	}
	tagged = []triple.Term{
		text("abc"), text("chat"), triple.NewLang("abc", "en"), triple.NewLang("abc", "fr"), triple.NewLang("chat", "fr"),
		triple.NewLang("colour", "en-gb"), triple.NewLang("", "en"), triple.NewLang("Éé", "fr"),
	}
	zoned = literals(
		"2020-01-01T00:00:00Z", triple.XSDDateTime, "2019-12-31T23:00:00-01:00", triple.XSDDateTime,
		"2020-06-15T12:30:45.5+05:30", triple.XSDDateTime, "1999-12-31T23:59:59Z", triple.XSDDateTime,
	)
	unzoned = literals(
		"2020-01-01T00:00:00", triple.XSDDateTime, "2019-12-31T23:00:00", triple.XSDDateTime,
		"2020-06-15T12:30:45.25", triple.XSDDateTime, "1999-12-31T23:59:59", triple.XSDDateTime,
	)
	dates = literals("2020-01-01", triple.XSDDate, "2019-12-31", triple.XSDDate, "1999-02-28", triple.XSDDate)
	odd   = literals(
		"true", triple.XSDBoolean, "1", triple.XSDBoolean, "false", triple.XSDBoolean, "0", triple.XSDBoolean,
		"abc", triple.XSDInteger, "1.5", triple.XSDInteger, "", triple.XSDDecimal, "x", triple.XSDDouble,
		"INF", triple.XSDDouble, "-INF", triple.XSDFloat, "NaN", triple.XSDDouble, "0.0e0", triple.XSDDouble, "-0", triple.XSDInteger,
		"2020-13-45T00:00:00Z", triple.XSDDateTime, "5", "x:dt", "abc", "x:dt", "6", "x:other",
	)
)

const xsd = triple.XSD

func iri(name string) triple.Term { return triple.NewIRI("x:" + name) }

func text(s string) triple.Term { return triple.NewString(s) }

// literals pairs lexical forms with datatypes.
func literals(pairs ...string) []triple.Term {
	var out []triple.Term
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, triple.NewTyped(pairs[i], pairs[i+1]))
	}
	return out
}

// one returns one of the choices.
func one[T any](rng *rand.Rand, choices []T) T { return choices[rng.IntN(len(choices))] }

// moments are the dateTimes of a graph: with zones or without, since how the two
// compare is up to the implementation's zone (XPath functions, 10.4).
func moments(zones bool) []triple.Term {
	if zones {
		return zoned
	}
	return unzoned
}

// object returns a predicate and one of its objects.
func object(rng *rand.Rand, nodes []triple.Term, zones bool) (triple.Term, triple.Term) {
	switch rng.IntN(11) {
	case 0, 1:
		return iri("n"), one(rng, numbers)
	case 2:
		return iri("s"), one(rng, simple)
	case 3:
		return iri("l"), one(rng, tagged)
	case 4:
		return iri("d"), one(rng, moments(zones))
	case 5:
		return iri("t"), one(rng, dates)
	case 6:
		all := [][]triple.Term{odd, odd, odd, numbers, simple, tagged, moments(zones), dates, nodes}
		return iri("m"), one(rng, one(rng, all))
	}
	return iri(one(rng, links)), one(rng, nodes)
}

// dataset returns a small random dataset without duplicates. Some are larger, for
// plans that only pay there.
func dataset(rng *rand.Rand, zones bool) []triple.Triple {
	nodes, size := nodes, 8+rng.IntN(38)
	if rng.IntN(6) == 0 {
		size = 60 + rng.IntN(60)
		for i := range 8 {
			nodes = append(slices.Clip(nodes), iri(fmt.Sprintf("e%d", i)))
		}
	}
	var out []triple.Triple
	seen := map[triple.Triple]bool{}
	for range size {
		tr := triple.Triple{Subject: one(rng, nodes)}
		tr.Predicate, tr.Object = object(rng, nodes, zones)
		if rng.IntN(4) == 0 {
			tr.Graph = one(rng, graphNames)
		}
		if !seen[tr] {
			seen[tr] = true
			out = append(out, tr)
		}
	}
	return out
}
