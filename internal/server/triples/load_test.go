// The report of rejected statements.

package triples

import (
	"io"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/api"
)

// TestRejectReport: statements of several lines, and one that is cut off.
func TestRejectReport(t *testing.T) {
	const room = 100 << 10
	r := &rejectReport{most: 5, room: room}
	text := "# body:1:2: one\n<a>\n# not a head\n<b>\n# body:9:1: two\n\n# body:10:3: three\n"
	for _, piece := range []string{text[:7], text[7:20], text[20:], strings.Repeat("x", room), "y"} {
		if n, err := io.WriteString(r, piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	got := r.statements()
	if len(got) != 3 || got[0] != (api.Reject{Where: "body:1:2", Message: "one", Statement: "<a>\n# not a head\n<b>"}) || got[1] != (api.Reject{Where: "body:9:1", Message: "two", Statement: ""}) ||
		len(got[2].Statement) != room-len(text) {
		t.Errorf("%.300v", got)
	}
}
