// Forged cursors.

package server

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// TestForgedCursorStaysInside: what a forged cursor gets lies within the bounds.
func TestForgedCursorStaysInside(t *testing.T) {
	s, _ := serveTriples(t, sampleQuads, Options{})
	bounds := []string{"order", "pos", "prefix", "<" + exampleIRI + "size>", "ge", "1"}
	next, err := url.Parse(s.get(target("/range", append(bounds, "limit", "1")...)).next(t))
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := base64.RawURLEncoding.DecodeString(next.Query().Get("cursor"))
	if err != nil {
		t.Fatal(err)
	}
	// The last four bytes are the check of all before them.
	forged := append(cursor[:len(cursor)-4], 0, 1, 2)
	forged = binary.BigEndian.AppendUint32(forged, uint32(xxhash.Sum64(forged)))
	got := s.get(target("/range", append(bounds, "cursor", base64.RawURLEncoding.EncodeToString(forged))...))
	if got.status == 200 {
		whole := s.get(target("/range", bounds...))
		if len(got.body) > len(whole.body) {
			t.Errorf("a forged cursor answered\n%s\nof\n%s", got.body, whole.body)
		}
		return
	}
	got.wantError(t, 400, problem.KindBadCursor, "cursor", "")
}
