// Tests of the model, against one that searches by brute force.

package oracle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestTermOrder lists terms in the order of the ordered space; those of a
// group are different terms of one value.
func TestTermOrder(t *testing.T) {
	groups := [][]string{
		{`_:a`}, {`_:b`},
		{`<http://ex/>`}, {`<http://ex/a>`}, {`<http://ex/\u00E9>`},
		{`"-7"^^<` + xsd + `integer>`},
		{`"-0.5"^^<` + xsd + `decimal>`},
		{`"0"^^<` + xsd + `decimal>`, `"-0"^^<` + xsd + `integer>`, `"0"^^<` + xsd + `integer>`},
		{`"0.1"^^<` + xsd + `decimal>`},
		{`"1.0"^^<` + xsd + `decimal>`, `"01"^^<` + xsd + `integer>`, `"1"^^<` + xsd + `integer>`},
		{`"9007199254740992"^^<` + xsd + `integer>`},
		{`"9007199254740993"^^<` + xsd + `integer>`},
		{`"false"^^<` + xsd + `boolean>`}, {`"true"^^<` + xsd + `boolean>`},
		{`"2020-01-01T00:00:00+01:00"^^<` + xsd + `dateTime>`},
		{`"2020-01-01T00:00:00"^^<` + xsd + `dateTime>`, `"2020-01-01T00:00:00Z"^^<` + xsd + `dateTime>`},
		{`"2019-12-31"^^<` + xsd + `date>`}, {`"2020-01-01"^^<` + xsd + `date>`},
		{`""`}, {`"A\"\t\'"`}, {`"A\"\\"`}, {`"a"`}, {`"Ä"`}, {`"\u00DC"`}, {`"日"`}, {`"\U0001F331"`},
		{`"a"@de`}, {`"a"@en`}, {`"b"@de`},
	}
	var flat []*term
	var group []int
	for i, g := range groups {
		for _, text := range g {
			parsed, err := parseTerm(text)
			require.NoError(t, err)
			flat, group = append(flat, parsed), append(group, i)
		}
	}
	for i, a := range flat {
		for j, b := range flat {
			if c := compare(a, b); (c < 0) != (i < j) || (c > 0) != (i > j) {
				t.Errorf("compare(%+v, %+v) = %d", a, b, c)
			}
			if a.class == b.class && a.class != langClass && (compareValue(a, b) == 0) != (group[i] == group[j]) {
				t.Errorf("compareValue(%+v, %+v) = %d", a, b, compareValue(a, b))
			}
		}
	}
	for _, bad := range []string{``, `x`, `"a`, `"\q"`, `"1"^^<` + xsd + `double>`, `"x"^^<` + xsd + `integer>`, `"a"^^<http://ex/d>`} {
		if _, err := parseTerm(bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
}

// naive is a set of statements that answers by looking at all of them. It
// orders terms by keys of its own, which suffice for the applications' data.
type naive map[dataset.Statement]bool

func naiveKey(term string) string {
	switch {
	case term == "":
		return ""
	case term[0] == '<':
		return "1" + term[1:len(term)-1]
	}
	end := strings.LastIndexByte(term[:strings.LastIndexByte(term, '"')+1], '"')
	text, err := strconv.Unquote(term[:end+1])
	if err != nil {
		panic(term)
	}
	switch rest := term[end+1:]; {
	case rest == "":
		return "6" + text
	case rest[0] == '@':
		return "7" + text + "\x00" + rest
	case strings.HasSuffix(rest, "#integer>"):
		return fmt.Sprintf("2%020s", text)
	case strings.HasSuffix(rest, "#boolean>"):
		return "3" + text
	case strings.HasSuffix(rest, "#dateTime>"):
		return "4" + text
	default:
		return "5" + text
	}
}

func (n naive) match(p dataset.Statement) (found []dataset.Statement) {
	for s := range n {
		if (p.S == "" || p.S == s.S) && (p.P == "" || p.P == s.P) && (p.O == "" || p.O == s.O) &&
			(p.G == "" || p.G == s.G || p.G == dataset.DefaultGraph && s.G == "") {
			found = append(found, s)
		}
	}
	return found
}

func (n naive) answer(s dataset.Search) []dataset.Statement {
	if s.Order == "" {
		found := n.match(s.Pattern)
		for _, p := range s.Follow {
			set := make(naive)
			for _, f := range found {
				for _, g := range n.match(dataset.Statement{P: p, O: f.S}) {
					set[g] = true
				}
			}
			found = set.match(dataset.Statement{})
		}
		return found
	}
	position := map[byte]func(dataset.Statement) string{
		's': func(s dataset.Statement) string { return s.S }, 'p': func(s dataset.Statement) string { return s.P },
		'o': func(s dataset.Statement) string { return s.O }, 'g': func(s dataset.Statement) string { return s.G },
	}
	sequence := s.Order
	if sequence != "gspo" {
		sequence += "g"
	}
	var found []dataset.Statement
next:
	for st := range n {
		if s.Order == "gspo" && st.G == "" {
			continue
		}
		for i, p := range s.Prefix {
			if position[sequence[i]](st) != p {
				continue next
			}
		}
		if len(s.Prefix) < len(sequence) && !naiveBounds(naiveKey(position[sequence[len(s.Prefix)]](st)), s) {
			continue
		}
		found = append(found, st)
	}
	slices.SortFunc(found, func(a, b dataset.Statement) int {
		for i := range sequence {
			at := position[sequence[i]]
			if c := strings.Compare(naiveKey(at(a)), naiveKey(at(b))); c != 0 {
				return c
			}
		}
		return 0
	})
	if s.Reverse {
		slices.Reverse(found)
	}
	if s.Limit > 0 {
		found = found[:min(len(found), s.Limit)]
	}
	return found
}

func naiveBounds(key string, s dataset.Search) bool {
	if s.Starts != "" {
		quoted, tag, isLang := strings.Cut(s.Starts, `"@`)
		switch {
		case s.Starts[0] == '<':
			return strings.HasPrefix(key, "1"+s.Starts[1:])
		case isLang:
			return strings.HasPrefix(key, "7"+quoted[1:]) && strings.HasSuffix(key, "\x00@"+tag)
		}
		return strings.HasPrefix(key, "6"+quoted[1:])
	}
	for _, b := range []string{s.GE, s.GT, s.LE, s.LT} {
		if b != "" && naiveKey(b)[0] != key[0] {
			return false
		}
	}
	return (s.GE == "" || key >= naiveKey(s.GE)) && (s.GT == "" || key > naiveKey(s.GT)) &&
		(s.LE == "" || key <= naiveKey(s.LE)) && (s.LT == "" || key < naiveKey(s.LT))
}

func TestModelAgainstBruteForce(t *testing.T) {
	for _, app := range []dataset.Application{dataset.Photos{Seed: 1, Triples: 3000}, dataset.Library{Seed: 1, Triples: 3000}} {
		var model Model
		all := make(naive)
		for s := range app.Statements() {
			if e, err := model.Apply(dataset.Op{Kind: dataset.Add, Statements: []dataset.Statement{s}}); err != nil || e != (Effect{Changed: 1}) {
				t.Fatal(e, err)
			}
			all[s] = true
		}
		ops, searches, hits := 0, make(map[string]int), make(map[string]int)
		for op := range app.Ops(0, 1) {
			if ops++; ops > 3000 {
				break
			}
			var want Effect
			for _, s := range op.Statements {
				if all[s] == (op.Kind == dataset.Add) {
					want.Unchanged++
				} else {
					want.Changed++
				}
				if op.Kind == dataset.Add {
					all[s] = true
				} else {
					delete(all, s)
				}
			}
			if got, err := model.Apply(op); err != nil || got != want {
				t.Fatalf("%v had the effect %+v, %v, want %+v", op, got, err, want)
			}
			if op.Kind != dataset.Find {
				continue
			}
			got, err := model.Answer(op.Search)
			require.NoError(t, err)
			searches[op.Name]++
			if len(got) > 0 {
				hits[op.Name]++
			}
			if searches[op.Name] > 25 {
				continue // brute force is slow
			}
			right := all.answer(op.Search)
			if op.Search.Order == "" {
				byText := func(a, b dataset.Statement) int { return strings.Compare(a.String(), b.String()) }
				slices.SortFunc(got, byText)
				slices.SortFunc(right, byText)
			}
			if !slices.Equal(got, right) {
				t.Fatalf("operation %d, %+v: got\n%v\nwant\n%v", ops, op, got, right)
			}
		}
		if model.Len() != len(all) {
			t.Errorf("%d statements, want %d", model.Len(), len(all))
		}
		if len(all) < 2000 || len(all) > 12000 {
			t.Errorf("%T: 3000 statements became %d", app, len(all))
		}
		for name, n := range searches {
			if hits[name]*5 < n {
				t.Errorf("%T: only %d of %d searches for %q found something", app, hits[name], n, name)
			}
		}
		if len(searches) < 12 {
			t.Errorf("%T: %d kinds of searches", app, len(searches))
		}
	}
}

func TestModelErrors(t *testing.T) {
	var m Model
	if _, err := m.Apply(dataset.Op{Kind: dataset.Add, Statements: []dataset.Statement{{S: "x"}}}); err == nil {
		t.Error("a statement without terms is no error")
	}
	for _, s := range []dataset.Search{
		{Order: "sop"}, {Order: "spo", GE: "x"}, {Order: "spo", Prefix: []string{"x"}},
		{Pattern: dataset.Statement{S: "x"}}, {Order: "spo", Starts: "x"},
	} {
		if _, err := m.Answer(s); err == nil {
			t.Errorf("%+v is no error", s)
		}
	}
	if a, err := m.Answer(dataset.Search{Order: "gspo"}); len(a) != 0 || err != nil {
		t.Errorf("an empty model answers %v, %v", a, err)
	}
}
