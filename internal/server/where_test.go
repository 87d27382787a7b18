// The places of triples over HTTP.

package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
)

// TestWhere checks that a lone node has all versions of a triple, that a missing triple has places,
// and that a request names one triple.
func TestWhere(t *testing.T) {
	s, _ := serveTriples(t, "<http://ex/a> <http://ex/p> \"x\" .\n<http://ex/a> <http://ex/p> \"y\" <http://ex/g> .\n", Options{})
	for _, test := range []struct {
		parameters []string
		stored     bool
		versions   string
	}{
		{[]string{"s", "<http://ex/a>", "p", "<http://ex/p>", "o", `"x"`}, true, "spo pos osp"},
		{[]string{"s", "<http://ex/a>", "p", "<http://ex/p>", "o", `"y"`, "g", "<http://ex/g>"}, true, "spo pos osp gspo"},
		{[]string{"s", "<http://ex/a>", "p", "<http://ex/p>", "o", `"y"`}, false, "spo pos osp"},
		{[]string{"s", "<http://ex/a>", "p", "a", "o", `"x"`}, false, "spo pos osp"},
	} {
		got := s.get(target("/where", test.parameters...))
		var at api.Whereabouts
		if err := json.Unmarshal([]byte(got.body), &at); err != nil || got.status != 200 {
			t.Fatalf("%q: %d %s", test.parameters, got.status, got.body)
		}
		var versions []string
		for _, p := range at.Places {
			versions = append(versions, p.Version)
			if (p.Row == store.RowPresent) != test.stored || !strings.Contains(p.Why, "alone") || p.Segment == nil || p.Ring != 1 {
				t.Errorf("%q: %+v", test.parameters, p)
			}
		}
		if at.Stored != test.stored || at.Required != 1 || (at.Holding == 1) != test.stored || strings.Join(versions, " ") != test.versions {
			t.Errorf("%q: %+v", test.parameters, at)
		}
	}
	s.get(target("/where", "s", "<http://ex/a>", "o", "1")).wantError(t, 400, problem.KindBadParameter, "p", "name one triple")
	s.get(target("/where", "s", `"a"`, "p", "a", "o", "1")).wantError(t, 400, problem.KindBadRequest, "", "the subject is a literal")
}
