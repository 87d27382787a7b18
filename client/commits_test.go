// Tests of Changes with commits that the feed delivers in parts.

package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/feedtest"
	"github.com/trefoildb/trefoil/internal/testing/serving"
	"github.com/trefoildb/trefoil/internal/testing/storetest"
	"github.com/trefoildb/trefoil/triple"
)

// tapped is a store whose feed a test watches.
type tapped struct {
	store.Triples
	*feedtest.Tap
}

func (n tapped) Feed() feed.Source { return n.Tap }

// TestLargeCommits: a consumer that keeps the positions of the changes has whole commits behind each, whatever part the
// feed of the node fails at.
func TestLargeCommits(t *testing.T) {
	db := storetest.Open(t)
	word := func(i int) triple.Term { return triple.NewString(fmt.Sprint("word ", i)) }
	feedtest.Follower(t, db, word, func(s *feedtest.Source) feedtest.Consumer {
		node := tapped{db, &feedtest.Tap{Source: s}}
		c := newClient(t, serving.Serve(t, node, server.Options{}), client.Options{Retries: 2})
		since, set := "0", feedtest.Set{}
		return feedtest.Consumer{Objects: set.Objects, Follow: func(ctx context.Context) error {
			node.SetError(nil)
			for change, err := range c.Feed.Changes(ctx, client.ChangesOptions{Since: since, End: true}) {
				if err != nil {
					return errors.Join(err, node.SetError(nil))
				}
				take(set, &change)
				if change.Position != "" {
					since = change.Position
				}
			}
			return nil
		}}
	})
}

// take takes in a change. Taking it in again is harmless, because the rest of its commit comes again, too.
func take(set feedtest.Set, c *client.Change) {
	switch c.Kind {
	case "clear":
		clear(set)
	case "add":
		set[c.Triple.String()] = c.Triple
	case "delete":
		delete(set, c.Triple.String())
	}
}

// TestChangesBreakInside: connections that always break inside of the same commit are failures in a row, although
// lines arrive on each. If one gets behind the commit, the count begins again.
func TestChangesBreakInside(t *testing.T) {
	url, db := startNode(t, server.Options{})
	const size = 400
	for range 4 {
		if _, err := store.Add(t.Context(), db, numbered(size)); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Delete(t.Context(), db, numbered(size)); err != nil {
			t.Fatal(err)
		}
	}
	for name, one := range map[string]struct {
		cut   func(n int) int64
		whole bool
	}{
		"always the same": {func(int) int64 { return 30_000 }, false},
		"at last":         {func(n int) int64 { return 30_000 + 100_000*int64(n%3/2) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newNetwork(t, func(n int, _ *http.Request) fate { return fate{cut: one.cut(n)} })
			c := newClient(t, url, client.Options{HTTPClient: &http.Client{Transport: w}, Retries: 3})
			positions := map[string]bool{}
			var last error
			for change, err := range c.Feed.Changes(t.Context(), client.ChangesOptions{Since: "0", End: true}) {
				if last = err; err == nil && change.Position != "" {
					positions[change.Position] = true
				}
			}
			switch {
			case one.whole && (last != nil || len(positions) != 8):
				t.Errorf("%d of 8 commits: %v", len(positions), last)
			case !one.whole && (last == nil || len(positions) > 0 || w.requests() != 4):
				t.Errorf("after %d connections and %d commits: %v", w.requests(), len(positions), last)
			}
		})
	}
}
