// Examples of the package.

package triple_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

func ExampleScanner() {
	const document = `<http://ex/s> <http://ex/age> "42"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://ex/s> <http://ex/name> "Zoë
of two lines" .
<http://ex/s> <http://ex/knows> _:b .
`
	sc := triple.NewScanner(strings.NewReader(document), triple.ScanOptions{Source: "people.nt"})
	for {
		for sc.Scan() {
			fmt.Println(sc.Triple().Predicate, sc.Triple().Object)
		}
		if sc.Err() == nil {
			break
		}
		fmt.Println(sc.Err())
		rejected, ok := sc.Recover()
		if !ok {
			break // the reader failed
		}
		fmt.Printf("rejected: %q\n", rejected)
	}
	// Output:
	// <http://ex/age> "42"^^<http://www.w3.org/2001/XMLSchema#integer>
	// people.nt:2:32: this literal has no closing '"' on its line (a line break in a literal is written \n)
	// rejected: "<http://ex/s> <http://ex/name> \"Zoë\nof two lines\" ."
	// <http://ex/knows> _:b
}

func ExampleCompareTerms() {
	terms, err := triple.ParseTerms(`"Mü"@de 10 9.5 "10" 1e1 <http://ex/a> true _:b "2026-11-20"^^xsd:date 010`)
	if err != nil {
		fmt.Println(err)
		return
	}
	slices.SortFunc(terms, triple.CompareTerms)
	for _, t := range terms {
		fmt.Println(t)
	}
	// Output:
	// _:b
	// <http://ex/a>
	// "9.5"^^<http://www.w3.org/2001/XMLSchema#decimal>
	// "1e1"^^<http://www.w3.org/2001/XMLSchema#double>
	// "010"^^<http://www.w3.org/2001/XMLSchema#integer>
	// "10"^^<http://www.w3.org/2001/XMLSchema#integer>
	// "true"^^<http://www.w3.org/2001/XMLSchema#boolean>
	// "2026-11-20"^^<http://www.w3.org/2001/XMLSchema#date>
	// "10"
	// "Mü"@de
}

func ExampleAppendKey() {
	t := triple.Triple{
		Subject:   triple.NewIRI("http://ex/s"),
		Predicate: triple.NewIRI("http://ex/p"),
		Object:    triple.NewTyped("42", triple.XSDInteger),
	}
	key, _ := triple.AppendKey(nil, triple.POS, t)
	value := triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: 7}, t)
	order, back, err := triple.DecodeKey(key, value)
	fmt.Println(order, back, err)
	// Output: pos <http://ex/s> <http://ex/p> "42"^^<http://www.w3.org/2001/XMLSchema#integer> . <nil>
}

func ExamplePattern_Scan() {
	pattern, err := triple.ParsePattern(`? <http://ex/p> 42`)
	if err != nil {
		fmt.Println(err)
		return
	}
	scan, err := pattern.Scan(pattern.Best())
	fmt.Println(scan.Order, scan.Exact, err)

	t := triple.Triple{Subject: triple.NewBlank("b"), Predicate: triple.NewIRI("http://ex/p"), Object: triple.NewTyped("42", triple.XSDInteger)}
	key, _ := triple.AppendKey(nil, scan.Order, t)
	fmt.Println(scan.Range.Contains(key))
	// Output:
	// pos true <nil>
	// true
}

func ExampleBounds_KeyRange() {
	size := triple.NewIRI("http://ex/size")
	bounds := triple.Bounds{
		Order:  triple.POS,
		Prefix: []triple.Term{size},
		GE:     triple.NewTyped("100", triple.XSDInteger),
		LT:     triple.NewTyped("200", triple.XSDInteger),
	}
	kr, err := bounds.KeyRange()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, lexical := range []string{"99.9", "100.0", "0150", "200"} {
		t := triple.Triple{Subject: triple.NewIRI("http://ex/s"), Predicate: size, Object: triple.NewTyped(lexical, triple.XSDDecimal)}
		key, _ := triple.AppendKey(nil, triple.POS, t)
		fmt.Println(lexical, kr.Range.Contains(key))
	}
	// Output:
	// 99.9 false
	// 100.0 true
	// 0150 true
	// 200 false
}
