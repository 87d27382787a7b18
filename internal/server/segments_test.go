// The map of segments over HTTP.

package server

import (
	"encoding/json"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/store"
)

// TestSegments checks pages of the map, and the bounds of its parameters.
func TestSegments(t *testing.T) {
	s, _ := serveTriples(t, "<http://ex/a> <http://ex/p> \"x\" .\n", Options{})
	for _, test := range []struct {
		parameters []string
		segments   int
	}{{nil, 1}, {[]string{"limit", "10000"}, 1}, {[]string{"offset", "1"}, 0}} {
		got := s.get(target("/segments", test.parameters...))
		var m store.SegmentMap
		if err := json.Unmarshal([]byte(got.body), &m); err != nil || got.status != 200 {
			t.Fatalf("%q: %d %s", test.parameters, got.status, got.body)
		}
		if m.Total != 1 || m.Phase != "idle" || len(m.Segments) != test.segments || len(m.Partitions) == 0 || m.Machines[0].Partitions != len(m.Partitions) {
			t.Errorf("%q: %s", test.parameters, got.body)
		}
	}
	s.get("/segments?limit=0").wantError(t, 400, problem.KindBadParameter, "limit", "from 1 on")
	s.get("/segments?limit=10001").wantError(t, 400, problem.KindBadParameter, "limit", "at most 10000")
	s.get("/segments?offset=-1").wantError(t, 400, problem.KindBadParameter, "offset", "from 0 on")
}
