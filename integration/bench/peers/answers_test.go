// Tests of the comparison of answers.

package peers

import (
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func solution(v string) string {
	return `{"head":{"vars":["x"]},"results":{"bindings":[{"x":` + v + `}]}}`
}

func number(datatype, value string) string {
	return solution(`{"type":"typed-literal","datatype":"` + xsd + datatype + `","value":"` + value + `"}`)
}

func TestCanonical(t *testing.T) {
	equal := map[string][2]string{
		"an integer and a decimal":     {number("integer", "155"), number("decimal", "155.0")},
		"a double and an integer":      {number("double", "1.55E2"), number("int", "155")},
		"sums in different orders":     {number("double", "0.30000000000000004"), number("double", "0.3")},
		"a float and a decimal":        {number("float", "4341.1997"), number("decimal", "4341.2")},
		"zeros":                        {number("double", "-0.0"), number("integer", "0")},
		"a string and its type":        {solution(`{"type":"literal","value":"a"}`), solution(`{"type":"literal","datatype":"` + xsd + `string","value":"a"}`)},
		"language tags in two cases":   {solution(`{"type":"literal","value":"a","xml:lang":"pt-BR"}`), solution(`{"type":"literal","value":"a","xml:lang":"pt-br"}`)},
		"a moment with and without Z":  {number("dateTime", "2008-06-20T00:00:00"), number("dateTime", "2008-06-20T00:00:00Z")},
		"forms of an ASK":              {`{"head":{},"boolean":false}`, `{"head":{"vars":["__ASK_RETVAL"]},"results":{"bindings":[]}}`},
		"forms of true":                {number("boolean", "1"), number("boolean", "true")},
		"blank nodes of two systems":   {solution(`{"type":"bnode","value":"b0"}`), solution(`{"type":"bnode","value":"nodeID://b7"}`)},
		"rows in another order":        {rowsOf(`"a"`, `"b"`), rowsOf(`"b"`, `"a"`)},
		"an unbound and an absent one": {`{"head":{"vars":["x","y"]},"results":{"bindings":[{}]}}`, `{"head":{"vars":["x"]},"results":{"bindings":[{}]}}`},
	}
	for name, c := range equal {
		if a, b := parse(t, c[0]), parse(t, c[1]); !slices.Equal(a, b) {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
	unequal := map[string][2]string{
		"two integers":              {number("integer", "1000001"), number("integer", "1000002")},
		"numbers and strings":       {number("integer", "1"), solution(`{"type":"literal","value":"1"}`)},
		"an IRI and a string":       {solution(`{"type":"uri","value":"http://a"}`), solution(`{"type":"literal","value":"http://a"}`)},
		"a row more":                {rowsOf(`"a"`), rowsOf(`"a"`, `"a"`)},
		"a string and a language":   {solution(`{"type":"literal","value":"a"}`), solution(`{"type":"literal","value":"a","xml:lang":"en"}`)},
		"true and false":            {`{"head":{},"boolean":true}`, `{"head":{},"boolean":false}`},
		"two types that are no XSD": {solution(`{"type":"literal","value":"1","datatype":"http://a#USD"}`), number("decimal", "1")},
	}
	for name, c := range unequal {
		if a, b := parse(t, c[0]), parse(t, c[1]); slices.Equal(a, b) {
			t.Errorf("%s are equal: %q", name, a)
		}
	}
}

func rowsOf(values ...string) string {
	var rows []string
	for _, v := range values {
		rows = append(rows, `{"x":{"type":"literal","value":`+v+`}}`)
	}
	return `{"head":{"vars":["x"]},"results":{"bindings":[` + strings.Join(rows, ",") + `]}}`
}

func parse(t *testing.T, body string) answer {
	t.Helper()
	a, err := parseAnswer(solutions, []byte(body))
	require.NoError(t, err)
	return a
}

func TestGraphs(t *testing.T) {
	a, err := parseAnswer(graph, []byte("<http://s>\t<http://p>\t\"7\"^^<"+xsd+"integer> .\n<http://s> <http://p> _:x .\n<http://s> <http://p> _:x .\n"))
	require.NoError(t, err)
	if want := (answer{"<http://s> <http://p> 7", "<http://s> <http://p> _:b"}); !slices.Equal(a, want) {
		t.Errorf("%q, want %q", a, want)
	}
	if _, err := parseAnswer(graph, []byte("<html>")); err == nil {
		t.Error("a page is a graph")
	}
}

func TestDifferences(t *testing.T) {
	one, two := answer{"a", "b", "b"}, answer{"a", "b", "c"}
	if d := differences(map[string]answer{"x": one, "y": one}); len(d) != 0 {
		t.Errorf("equal answers differ: %v", d)
	}
	d := differences(map[string]answer{"x": one, "y": two, "z": one})
	if len(d) != 1 || d["y"] != "3 rows, x has 3; 1 only here: c; 1 only there: b" {
		t.Errorf("the minority is %v", d)
	}
	if d := differences(map[string]answer{"x": one, "y": two}); len(d) != 2 {
		t.Errorf("without a majority the systems that differ are %v", d)
	}
}
