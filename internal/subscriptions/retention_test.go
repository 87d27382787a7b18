// Tests of positions that the feed would no longer reach.

package subscriptions

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/triple"
)

// TestQuiet: a subscription has no changes while others have more than the feed keeps, in bytes or in
// time. Its position is stored meanwhile, so that it continues without a gap on another member or after
// a restart.
func TestQuiet(t *testing.T) {
	for name, c := range map[string]struct {
		keeps changefeed.Retention
		save  Options
		pause time.Duration // between the changes
	}{
		"bytes": {changefeed.Retention{Bytes: 64 << 10}, Options{SaveEvery: time.Hour, SaveBytes: 16 << 10}, time.Second},
		"time":  {changefeed.Retention{Age: time.Minute}, Options{SaveEvery: 15 * time.Second}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorldOf(t, "data", store.Options{FS: memdisk.New(), FeedRetention: c.keeps})
				w.put("quiet", map[string]string{"p": "quiet"})
				m := w.start(c.save)
				begin := w.state("quiet").Position
				for n := range 100 {
					w.add(triple.Triple{Subject: iri("s"), Predicate: iri("other"), Object: triple.NewString(fmt.Sprint(n, strings.Repeat("x", 1000)))})
					time.Sleep(c.pause) // virtual time
				}
				m.Close()
				mustBeGone(w, begin)
				w.start(c.save)
				w.add(number("quiet", 1))
				w.until("the change", func() bool { return slices.Contains(w.receiver.of("quiet"), "add 1") })
				if got := w.receiver.of("quiet"); len(got) != 1 {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// mustBeGone fails the test if the feed still reaches back to a position.
func mustBeGone(w *world, position string) {
	w.t.Helper()
	since, err := feed.ParsePosition(position)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, err := range w.store.Feed().Changes(w.t.Context(), feed.Request{Since: since}) {
		if errors.Is(err, feed.ErrGone) {
			return
		}
	}
	w.t.Fatal("the feed reaches back to the first position, so the test shows nothing")
}
