// Tests of the reminder of excluded machines.

package leader

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

func TestReminder(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	one := &view.View{Excluded: []view.Excluded{{ID: 2, Address: "h:2", Epoch: 7, Why: "which is not heard of"}}}
	var r reminder
	for _, c := range []struct {
		name  string
		v     *view.View
		now   time.Duration
		lines int
	}{
		{"none", &view.View{}, 0, 0},
		{"at once", one, time.Minute, 1},
		{"the same", one, time.Hour, 0},
		{"an hour later", one, time.Hour + time.Minute, 1},
		{"it is back", &view.View{}, 2 * time.Hour, 0},
		{"again", one, 2*time.Hour + time.Second, 1},
	} {
		out.Reset()
		r.remind(c.v, c.now, log)
		if got := strings.Count(out.String(), "\n"); got != c.lines || got > 0 && !strings.Contains(out.String(), "address=h:2") {
			t.Errorf("%s: %d lines, want %d: %s", c.name, got, c.lines, out.String())
		}
	}
}
