// Tests of formats and of the IDs of requests.

package logs

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestRequestID: a valid ID of the client is taken, and all others are replaced by new ones.
func TestRequestID(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for _, c := range []struct{ id, parent, want string }{
		{id: "a-B_9.~:/+@", want: "a-B_9.~:/+@"},
		{id: "first", parent: "00-" + trace + "-00f067aa0ba902b7-01", want: "first"},
		{parent: "00-" + trace + "-00f067aa0ba902b7-01", want: trace},
		{parent: "01-" + trace + "-00f067aa0ba902b7-01-more", want: trace},
		{id: "two words", parent: "00-" + trace + "-00f067aa0ba902b7-01", want: trace},
		{},
		{id: `a"b`}, {id: "a=b"}, {id: "a\u00e4"}, {id: strings.Repeat("x", maxID+1)},
		{parent: "ff-" + trace + "-00f067aa0ba902b7-01"},
		{parent: "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"},
		{parent: "00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01"},
		{parent: "00-abc-00f067aa0ba902b7-01"},
	} {
		h := http.Header{}
		h.Set(Header, c.id)
		h.Set("traceparent", c.parent)
		got := RequestID(h)
		if c.want != "" && got != c.want || !isID(got) || c.want == "" && (got == c.id || got == RequestID(h)) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestLines: each line has the ID of its context once, in both formats, also behind With; lines below
// the level are left out.
func TestLines(t *testing.T) {
	ctx := NewContext(t.Context(), "r1")
	var text bytes.Buffer
	l := WithRequests(WithRequests(New(&text, false, slog.LevelInfo)))
	l.DebugContext(ctx, "no")
	l.With("a", 1).InfoContext(ctx, "yes")
	l.Info("without")
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "level=INFO msg=yes a=1 request=r1") || strings.Contains(lines[1], Key) {
		t.Errorf("%q", lines)
	}
	text.Reset()
	WithRequests(New(&text, true, slog.LevelDebug)).DebugContext(ctx, "said", "rows", 3)
	var line map[string]any
	if err := json.Unmarshal(text.Bytes(), &line); err != nil || line["request"] != "r1" || line["msg"] != "said" || line["rows"] != 3.0 {
		t.Errorf("%s: %v", text.String(), err)
	}
}
