// Answers as multisets of rows in canonical form, and which systems differ.

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// answer is a multiset of rows: sorted, each in the form that all systems share. Order does not
// count, because rows that are equal by ORDER BY may stand in any order.
type answer []string

// parseAnswer parses the body of a response.
func parseAnswer(f form, body []byte) (answer, error) {
	if f == graph {
		return parseGraph(body)
	}
	// 1. Decode SPARQL 1.1 Query Results JSON.
	var results struct {
		Head    struct{ Vars []string }
		Boolean *bool
		Results struct{ Bindings []map[string]value }
	}
	if err := json.Unmarshal(body, &results); err != nil {
		return nil, err
	}
	if results.Boolean != nil {
		return answer{strconv.FormatBool(*results.Boolean)}, nil
	}
	if slices.Equal(results.Head.Vars, []string{"__ASK_RETVAL"}) { // Virtuoso's boolean
		return answer{strconv.FormatBool(len(results.Results.Bindings) > 0)}, nil
	}
	// 2. One line for each row: the values by name, because systems order columns as they like.
	slices.Sort(results.Head.Vars)
	rows := make(answer, 0, len(results.Results.Bindings))
	for _, binding := range results.Results.Bindings {
		var row strings.Builder
		for _, name := range results.Head.Vars {
			if v, ok := binding[name]; ok {
				fmt.Fprintf(&row, "%s=%s ", name, v.canonical())
			}
		}
		rows = append(rows, row.String())
	}
	sort.Strings(rows)
	return rows, nil
}

// parseGraph parses N-Triples.
func parseGraph(body []byte) (rows answer, err error) {
	sc := triple.NewScanner(bytes.NewReader(body), triple.ScanOptions{Source: "answer"})
	for sc.Scan() {
		var row []string
		for _, t := range []triple.Term{sc.Triple().Subject, sc.Triple().Predicate, sc.Triple().Object} {
			v := value{Type: "literal", Value: t.Value(), Lang: t.Lang()}
			switch t.Kind() {
			case triple.IRI:
				v.Type = "uri"
			case triple.Blank:
				v.Type = "bnode"
			default:
				v.Datatype = t.Datatype()
			}
			row = append(row, v.canonical())
		}
		rows = append(rows, strings.Join(row, " "))
	}
	sort.Strings(rows)
	return slices.Compact(rows), sc.Err() // a graph is a set
}

// value is an RDF term as JSON results have it.
type value struct {
	Type, Value, Datatype string
	Lang                  string `json:"xml:lang"`
}

const xsd = "http://www.w3.org/2001/XMLSchema#"

// canonical returns a form that is equal if systems mean the same. Numbers have no
// type, because systems sum in different orders and types. All blank nodes are equal.
func (v value) canonical() string {
	// 1. Terms without a datatype.
	switch {
	case v.Type == "uri":
		return "<" + v.Value + ">"
	case v.Type == "bnode":
		return "_:b"
	case v.Lang != "":
		return strconv.Quote(v.Value) + "@" + strings.ToLower(v.Lang)
	}
	// 2. Values of XSD that have several forms.
	name, ok := strings.CutPrefix(v.Datatype, xsd)
	switch {
	case v.Datatype == "" || ok && name == "string":
		return strconv.Quote(v.Value)
	case ok && name == "boolean":
		return strconv.FormatBool(v.Value == "true" || v.Value == "1")
	case ok && name == "dateTime":
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
			if t, err := time.Parse(layout, v.Value); err == nil {
				return t.UTC().Format(time.RFC3339Nano)
			}
		}
	case ok && numeric[name]:
		if n, err := strconv.ParseFloat(v.Value, 64); err == nil {
			return canonicalNumber(n)
		}
	}
	return strconv.Quote(v.Value) + "^^<" + v.Datatype + ">"
}

var numeric = map[string]bool{"integer": true, "decimal": true, "double": true, "float": true, "int": true, "long": true,
	"short": true, "byte": true, "nonNegativeInteger": true, "positiveInteger": true, "unsignedInt": true, "unsignedLong": true}

// canonicalNumber returns whole numbers with all digits and others with five. A float has seven, of
// which sums lose some, and two sums on either side of a rounding limit are rare.
func canonicalNumber(n float64) string {
	if whole := math.Round(n); math.Abs(n-whole) <= 1e-6*math.Abs(n) && math.Abs(n) < 1<<53 {
		return strconv.FormatFloat(whole+0, 'f', -1, 64) // + 0 makes -0 positive
	}
	return strconv.FormatFloat(n, 'g', 5, 64)
}

// differences returns the systems whose answers are not those of most systems, each with what is
// different. If two answers have equally many systems, all systems of both are named.
func differences(answers map[string]answer) map[string]string {
	// 1. Group the systems by answer; the largest group has the accepted one.
	var groups [][]string
	names := sortedKeys(answers)
	for _, name := range names {
		i := slices.IndexFunc(groups, func(g []string) bool { return slices.Equal(answers[g[0]], answers[name]) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], name)
	}
	slices.SortStableFunc(groups, func(a, b []string) int { return len(b) - len(a) })
	if len(groups) < 2 {
		return nil
	}
	// 2. Name those outside, and those inside if there is no majority.
	found := map[string]string{}
	for _, g := range groups[1:] {
		for _, name := range g {
			found[name] = difference(answers[name], answers[groups[0][0]], groups[0][0])
		}
	}
	if len(groups[0]) == len(groups[1]) {
		for _, name := range groups[0] {
			found[name] = difference(answers[name], answers[groups[1][0]], groups[1][0])
		}
	}
	return found
}

// difference describes how an answer differs from another system's, with a row of each.
func difference(a, b answer, other string) string {
	text := fmt.Sprintf("%d rows, %s has %d", len(a), other, len(b))
	for _, side := range []struct {
		label string
		rows  answer
	}{{"only here", missing(a, b)}, {"only there", missing(b, a)}} {
		if len(side.rows) > 0 {
			text += fmt.Sprintf("; %d %s: %.200s", len(side.rows), side.label, side.rows[0])
		}
	}
	return text
}

// missing returns the rows of a that b lacks, counting repetitions. Both are sorted.
func missing(a, b answer) (rows answer) {
	for _, row := range a {
		for len(b) > 0 && b[0] < row {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == row {
			b = b[1:]
			continue
		}
		rows = append(rows, row)
	}
	return rows
}
