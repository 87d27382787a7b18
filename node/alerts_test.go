// The alert rule of followers of the change feed.

package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/alerts"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/triple"
)

// TestAlertsFollowerStalled: the text index has changes to follow, and the disk that they are on cannot be read for a time.
func TestAlertsFollowerStalled(t *testing.T) {
	seed.Slow(t)
	p := alerts.New("..")
	var ended time.Duration
	dir := t.TempDir()
	bubble.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && op.Kind == errorfs.OpFileReadAt {
				time.Sleep(time.Second) // of virtual time; Pebble tries some reads again at once
				return syscall.EIO
			}
			return nil
		}))
		// 1. Literals are added while an index of them is closed, and are in tables.
		const label = "http://example.org/label"
		run := func(f func(db *store.Store)) {
			db, err := store.Open("data", store.Options{FS: disk, MinFreeBytes: -1})
			require.NoError(t, err)
			defer db.Close()
			f(db)
		}
		withIndex := func(db *store.Store, f func(x *textsearch.Index)) {
			x, err := textsearch.Open(db, textsearch.Options{Dir: dir})
			require.NoError(t, err)
			defer x.Close()
			f(x)
		}
		run(func(db *store.Store) {
			withIndex(db, func(x *textsearch.Index) {
				require.NoError(t, errors.Join(x.Add(t.Context(), label), x.Await(t.Context())))
			})
			for n := range 50 {
				var all []triple.Triple
				for i := range 200 {
					all = append(all, triple.Triple{Subject: triple.NewIRI("http://example.org/s"), Predicate: triple.NewIRI(label), Object: triple.NewString(fmt.Sprint("text ", n, i))})
				}
				if _, err := store.Add(t.Context(), db, all); err != nil {
					t.Fatal(err)
				}
			}
		})
		// 2. The index follows them.
		run(func(db *store.Store) {
			broken.Store(true)
			withIndex(db, func(x *textsearch.Index) {
				watched := feed.NewWatch(feed.WatchOptions{}, (&followers{text: x}).all)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go watched.Run(ctx, db.Feed())
				api, err := server.New(db, server.Options{Text: x, Stalled: watched.Stalled, Collectors: []prometheus.Collector{followerWaits{watched}}, Registry: prometheus.NewRegistry()})
				require.NoError(t, err)
				watch := func(d time.Duration) {
					p.Watch(t, d, func() map[string]http.Handler { return map[string]http.Handler{"alone": api} })
				}
				watch(15 * time.Minute)
				broken.Store(false)
				ended = p.Passed()
				watch(10 * time.Minute)
			})
		})
	})
	if t.Failed() {
		t.FailNow()
	}
	stalled := alerts.Expect(t, p.Alerts(t), "TrefoilFollowerStalled")
	if len(stalled) != 1 || stalled[0].Labels["follower"] != "text" {
		t.Fatalf("%v", stalled)
	}
	stalled[0].MustSpan(t, time.Minute, ended, 5*time.Minute)
}
