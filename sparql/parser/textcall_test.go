// Tests of the predicates of text search.

package parser

import (
	"strings"
	"testing"
)

// TestTextCalls: a search prints as triples that read as the same search.
func TestTextCalls(t *testing.T) {
	const prefix = "PREFIX text: <urn:trefoil:text:>\n"
	for in, want := range map[string]string{
		`?l text:matches "a"`: `?l text:matches "a" .`,
		`?l text:scan true ; text:predicate <x:p>, <x:q> ; text:matches ?q`:                         `?l text:matches ?q ; text:predicate <x:p> ; text:predicate <x:q> ; text:scan true .`,
		`?l text:matches "a" ; text:snippet ?n ; text:score ?s . ?l text:language "en"`:             `?l text:matches "a" ; text:score ?s ; text:snippet ?n ; text:language "en" .`,
		`?l text:matches "a" ; text:language "" . ?s <x:p> ?l . FILTER(?s = <x:s>)`:                 "?s <x:p> ?l .\n  ?l text:matches \"a\" ; text:language \"\" .\n  FILTER (?s = <x:s>)",
		`?l text:matches "a" ; text:scan true , "true"^^<http://www.w3.org/2001/XMLSchema#boolean>`: `?l text:matches "a" ; text:scan true .`,
	} {
		got := printed(t, prefix+"SELECT * { "+in+" }")
		_, got, _ = strings.Cut(got, "WHERE {\n  ")
		if got = strings.TrimSuffix(strings.TrimSpace(got), "\n}"); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}
