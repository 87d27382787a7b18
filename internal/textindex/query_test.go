// Tests of the query language.

package textindex

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// print returns a node with all of its parentheses.
func printNode(n node) string {
	list := func(name string, of []node) string {
		parts := make([]string, len(of))
		for i, o := range of {
			parts[i] = printNode(o)
		}
		return name + "(" + strings.Join(parts, " ") + ")"
	}
	switch n := n.(type) {
	case *allOf:
		return list("and", n.of)
	case *anyOf:
		return list("or", n.of)
	case *notOf:
		return "not(" + printNode(n.of) + ")"
	}
	l := n.(*leaf)
	switch l.kind {
	case prefixLeaf:
		return l.text + "*"
	case fuzzyLeaf:
		return fmt.Sprintf("%s~%d", l.text, l.edits)
	}
	if l.slop > 0 {
		return fmt.Sprintf("%q~%d", l.text, l.slop)
	}
	return fmt.Sprintf("%q", l.text)
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`graph AND (store OR database) -relational`: `and("graph" or("store" "database") not("relational"))`,
		`graph store`:                          `and("graph" "store")`,
		`a b OR c d`:                           `or(and("a" "b") and("c" "d"))`,
		`a AND NOT b`:                          `and("a" not("b"))`,
		`NOT NOT a`:                            `"a"`,
		`-(-a)`:                                `error`,
		`grap*`:                                `grap*`,
		`graph~`:                               `graph~1`,
		`graph~2`:                              `graph~2`,
		`graph~0`:                              `"graph"`,
		`"graph store"`:                        `"graph store"`,
		`"graph store"~5`:                      `"graph store"~5`,
		`"say \"no\""`:                         `"say \"no\""`,
		`foo-bar`:                              `"foo-bar"`,
		`\-5`:                                  `"-5"`,
		`\AND b`:                               `and("AND" "b")`,
		`ANDROID ORB NOTE`:                     `and("ANDROID" "ORB" "NOTE")`,
		`a(b)c`:                                `and("a" "b" "c")`,
		`שלום 東京`:                              `and("שלום" "東京")`,
		``:                                     "error a word is missing at byte 1",
		`*`:                                    "error a * needs the beginning of a word",
		`"a`:                                   "error the quote is not closed at byte 1",
		`(a`:                                   "error the parenthesis is not closed at byte 1",
		`a)`:                                   "error a parenthesis that nothing opens at byte 2",
		`()`:                                   "error a word is missing before the parenthesis at byte 2",
		`a OR`:                                 "error a word is missing at byte 5",
		`AND a`:                                `error a word is missing before "AND"`,
		`-a`:                                   "error nothing but excluded words",
		`a OR -b`:                              "error nothing but excluded words on a side of OR",
		`graph OR NOT store`:                   "error on a side of OR at byte 9 of the query; add a word",
		`-a OR b`:                              "error nothing but excluded words on a side of OR",
		`+++`:                                  `error "+++" has no letter or digit at byte 1`,
		`a*b`:                                  `error 'b' stands within a word`,
		`graph~3`:                              "error edits of a fuzzy word must be 0 to 2",
		`ab~2`:                                 "error is so short that 2 edits make any word",
		`foo-bar*`:                             "error is more than one word",
		"\xff":                                 "error not valid UTF-8",
		strings.Repeat("(", 60) + "a":          "error more than 50 nested",
		strings.Repeat("-", 60) + "a":          "error more than 50 nested NOTs",
		strings.Repeat("a ", 10_000):           "error more than 1024 words; split",
		strings.Repeat("a* ", 100):             "error more than 32 prefixes",
		strings.Repeat("a", 100_000):           "error it has 100000 bytes, and 65536 are allowed",
		`"` + strings.Repeat("a ", 1000):       "error the quote is not closed",
		`"` + strings.Repeat("a ", 1000) + `"`: "error more than 200 words in a phrase",
	} {
		q, err := Parse(text)
		short := text[:min(len(text), 60)]
		if message, wrong := strings.CutPrefix(want, "error"); wrong {
			if !errors.Is(err, ErrQuery) || !strings.Contains(err.Error(), strings.TrimSpace(message)) {
				t.Errorf("%s: the error is %v, want %s", short, err, message)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", short, err)
		} else if got := printNode(q.root); got != want {
			t.Errorf("%s: %s, want %s", short, got, want)
		}
	}
}

// FuzzParse parses any text. What is parsed can be searched.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`graph AND (store OR database) -relational`, `"a b"~3 c* d~2`, `\(a NOT b`, "((((", "שלום~1"} {
		f.Add(text)
	}
	a := NewAnalyzer()
	b := NewBuilder(a, "x:p", 0)
	for i, text := range []string{"graph store", "a b c d", "שלום"} {
		require.NoError(f, b.Add(Document{Key: []byte{byte(i)}, Text: []byte(text)}))
	}
	segment, err := b.Finish()
	require.NoError(f, err)
	parts := []*Part{{Segment: segment}}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrQuery) {
				t.Fatal(err)
			}
			return
		}
		r := &Request{Query: q}
		s, err := Collect(a, r, parts, noCheck)
		require.NoError(t, err)
		hits, err := Search(a, r, &s, parts, 10, nil, noCheck)
		if err != nil || len(hits) > 3 {
			t.Fatal(len(hits), err)
		}
		_ = Snippet(a, q, "graph "+text, "")
	})
}
