// Tests of the feed of a lone store.

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

const watched = "http://example.org/takes"

func takes(name string) triple.Triple {
	return triple.Triple{Subject: iri("%s", name), Predicate: triple.NewIRI(watched), Object: iri("course")}
}

// changeText returns a change as text.
func changeText(t require.T, c *feed.Change) string {
	if c.Key == nil {
		switch {
		case c.Load != nil:
			return fmt.Sprintf("load %s %d", c.Load.ID, c.Load.New)
		case c.Clear.All:
			return "clear all"
		}
		return fmt.Sprintf("clear %v %v", c.Clear.Default, c.Clear.Graphs)
	}
	tr, err := c.Triple()
	require.NoError(t, err)
	text := map[feed.Kind]string{feed.Add: "+", feed.Delete: "-", feed.Annotate: "*"}[c.Kind] + tr.String()
	if c.Annotation != nil {
		text += fmt.Sprintf(" %s=%q %v", c.Annotation.ApplicationID, c.Annotation.Data, c.Annotation.Removed)
	}
	return text
}

// changesSince returns the changes after a position, and the position behind them.
func changesSince(t require.T, s *Store, since feed.Position) (list []string, end feed.Position) {
	end = since
	for b, err := range s.Feed().Changes(ctx, feed.Request{Since: since}) {
		require.NoError(t, err)
		for i := range b.Changes {
			list = append(list, changeText(t, &b.Changes[i]))
		}
		end = b.Position
	}
	return list, end
}

func position(t require.T, s *Store) feed.Position {
	p, err := s.Feed().Position(ctx)
	require.NoError(t, err)
	return p
}

func wantChanges(t *testing.T, s *Store, since feed.Position, want ...string) {
	t.Helper()
	got, _ := changesSince(t, s, since)
	if !slices.Equal(got, want) {
		t.Errorf("the feed:\n got %.900q\nwant %.900q", got, want)
	}
}

// TestFeed: each change is in the feed once, in order, also after a restart, and nothing else is.
func TestFeed(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	a, b, long, named := takes("a"), takes("b"), takes(strings.Repeat("long", 5000)), takes("c")
	named.Graph = iri("graph")
	var want []string
	step := func(err error, changes ...string) {
		t.Helper()
		require.NoError(t, err)
		want = append(want, changes...)
	}
	begin := position(t, s)
	add(t, s, a, b)
	step(nil, "+"+a.String(), "+"+b.String())
	add(t, s, a, long) // one of them is there
	step(nil, "+"+long.String())
	_, err = Delete(ctx, s, []triple.Triple{a, takes("none")})
	step(err, "-"+a.String())
	middle := position(t, s)
	half := len(want)
	step(Annotate(ctx, s, b, "app", []byte("x")), "*"+b.String()+` app="x" false`)
	step(Annotate(ctx, s, b, "app", nil), "*"+b.String()+` app="" true`)
	step(Annotate(ctx, s, b, "app", nil)) // it is gone already
	step(Annotate(ctx, s, b, "app", []byte{}), "*"+b.String()+` app="" false`)
	_, err = Delete(ctx, s, []triple.Triple{b, long}) // the annotation goes with it
	step(err, "-"+b.String(), "-"+long.String())
	_, err = Apply(ctx, s, Steps{ClearGraphs: []triple.Term{named.Graph}})
	step(err) // the graph is empty
	add(t, s, named)
	step(nil, "+"+named.String())
	_, err = Apply(ctx, s, Steps{ClearGraphs: []triple.Term{named.Graph}, Add: slices.Values([]triple.Triple{named})})
	step(err, "-"+named.String(), "+"+named.String())
	loadTriples(t, s, "one", students(0, 20))
	step(nil, "load one 20")
	_, err = Apply(ctx, s, Steps{ClearDefault: true})
	step(err, "clear true []")
	_, err = Apply(ctx, s, Steps{ClearAll: true, Add: slices.Values([]triple.Triple{a})})
	step(err, "clear all", "+"+a.String())
	wantChanges(t, s, feed.Position{}, want...)
	wantChanges(t, s, begin, want...)
	wantChanges(t, s, middle, want[half:]...)
	wantChanges(t, s, position(t, s))
	before := position(t, s)
	require.NoError(t, s.Close())
	s = openMem(t, Options{FS: fs})
	if p := position(t, s); p.String() != before.String() {
		t.Errorf("position %+v after a restart, %+v before", p, before)
	}
	wantChanges(t, s, begin, want...)
	add(t, s, b)
	wantChanges(t, s, before, "+"+b.String())
}

// TestFeedStamps: the stamps of changes are the ones of their rows, and a load's are older than its
// position.
func TestFeedStamps(t *testing.T) {
	s := openMem(t, Options{})
	sink := s.Sink()
	start, err := sink.Begin(ctx, "load")
	require.NoError(t, err)
	add(t, s, takes("a"))
	loadTriples(t, s, "load", []triple.Triple{takes("b")})
	var stamps []triple.Stamp
	for b, err := range s.Feed().Changes(ctx, feed.Request{}) {
		require.NoError(t, err)
		for _, c := range b.Changes {
			stamps = append(stamps, c.Stamp)
		}
	}
	sn := snapshot(t, s)
	for i, name := range []string{"a", "b"} {
		for row, err := range sn.Match(ctx, triple.Exact(takes(name)), ReadOptions{}) {
			v, decoded := triple.DecodeValue(row.Value)
			if err := errors.Join(err, decoded); err != nil || len(stamps) != 2 || v.Stamp != stamps[i] {
				t.Errorf("%s: row of %v, feed of %v, %v", name, v.Stamp, stamps, err)
			}
		}
	}
	if stamps[1] != start.Stamp {
		t.Errorf("the load's rows are of %v, the feed says %v", start.Stamp, stamps[1])
	}
}

// TestFeedLarge: a change of many rows of the log comes in bounded batches. Its position moves only
// behind all of it.
func TestFeedLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	s := openMem(t, Options{})
	add(t, s, takes("first"))
	before := position(t, s)
	if _, err := Apply(ctx, s, Steps{Add: slices.Values(students(0, 30_000))}); err != nil {
		t.Fatal(err)
	}
	after := position(t, s)
	add(t, s, takes("last"))
	n, batches := 0, 0
	for b, err := range s.Feed().Changes(ctx, feed.Request{Since: before, MaxBytes: 64 << 10}) {
		require.NoError(t, err)
		n, batches = n+len(b.Changes), batches+1
		want := before
		if n >= 30_000 {
			want = after
		}
		if n <= 30_000 && b.Position.String() != want.String() {
			t.Fatalf("after %d changes the position is %+v, want %+v", n, b.Position, want)
		}
		if size := len(b.Changes) * 200; size > 256<<10 {
			t.Fatalf("a batch of %d changes", len(b.Changes))
		}
	}
	if n != 30_001 || batches < 20 {
		t.Errorf("%d changes in %d batches", n, batches)
	}
	kept, added := s.ChangeFeed().Size()
	t.Logf("%d bytes for each change", kept/30_000)
	if kept != added || kept > 30_000*90 {
		t.Errorf("%d bytes are kept of %d", kept, added)
	}
}

// TestFeedPositions: positions of other stores, of the future, and of a restored original are
// errors.
func TestFeedPositions(t *testing.T) {
	s, other := openMem(t, Options{}), openMem(t, Options{})
	add(t, s, takes("a"))
	add(t, other, takes("a"))
	future := position(t, s)
	future.Marks = []feed.Mark{{Sequence: future.Sequence(0) + 1}}
	for name, p := range map[string]feed.Position{"another store": position(t, other), "the future": future, "a later epoch": position(t, s).Begin(9)} {
		for _, err := range s.Feed().Changes(ctx, feed.Request{Since: p}) {
			if !errors.Is(err, feed.ErrPosition) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestFeedRestored: a restored copy may lack changes of the original, so its positions differ.
func TestFeedRestored(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, Options{FS: fs})
	add(t, s, takes("a"))
	var backup strings.Builder
	require.NoError(t, s.Backup(ctx, &backup))
	require.NoError(t, restore(ctx, fs, "restored", strings.NewReader(backup.String())))
	r, err := Open("restored", Options{FS: fs})
	require.NoError(t, err)
	defer r.Close()
	wantChanges(t, r, feed.Position{}, "+"+takes("a").String())
	if position(t, r).Source == position(t, s).Source {
		t.Error("the copy has the positions of the original")
	}
}

// TestFeedRetention: an opened store continues with the blocks on disk, and trims them.
func TestFeedRetention(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, FeedRetention: changefeed.Retention{Bytes: 64 << 10}}
	var positions []feed.Position
	next := 0
	for range 3 {
		s, err := Open("data", o)
		require.NoError(t, err)
		for range 20 {
			positions = append(positions, position(t, s))
			add(t, s, students(next, next+100)...)
			next += 100
			if kept, _ := s.ChangeFeed().Size(); kept > 80<<10 {
				t.Fatalf("%d bytes are kept", kept)
			}
		}
		gone := 0
		for i, p := range positions {
			n := 0
			for b, err := range s.Feed().Changes(ctx, feed.Request{Since: p}) {
				var lost *feed.GoneError
				if errors.As(err, &lost) {
					gone++
					if n = next - 100*i; !strings.Contains(lost.Reason, "--feed-retention") || lost.Continue.String() != position(t, s).String() {
						t.Errorf("%+v", lost)
					}
					break
				}
				require.NoError(t, err)
				n += len(b.Changes)
			}
			if n != next-100*i {
				t.Fatalf("%d changes after position %d of %d", n, i, len(positions))
			}
		}
		if gone == 0 || gone == len(positions) {
			t.Errorf("%d of %d positions are gone", gone, len(positions))
		}
		require.NoError(t, s.Close())
	}
}

// TestFeedEndsWithMembership: consumers of a store that joins a cluster must move on.
func TestFeedEndsWithMembership(t *testing.T) {
	s := openMem(t, Options{})
	add(t, s, takes("a"))
	n := 0
	for b, err := range s.Feed().Changes(ctx, feed.Request{Follow: true}) {
		if n++; n == 1 {
			if err != nil || len(b.Changes) != 1 {
				t.Fatal(b, err)
			}
			require.NoError(t, s.SetIdentity(Identity{Cluster: "c", ClusterID: "id"}))
			continue
		}
		if !errors.Is(err, ErrMember) {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Errorf("%d steps", n)
	}
}

// TestFeedCloses: a waiting consumer ends when the store closes, and without an error when its
// context does.
func TestFeedCloses(t *testing.T) {
	s, err := Open("data", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	ended := make(chan error)
	follow := func(r feed.Request, stop func()) {
		var last error
		for _, err := range s.Feed().Changes(ctx, r) {
			if last = err; err == nil {
				stop()
			}
		}
		ended <- last
	}
	go follow(feed.Request{Follow: true, Heartbeat: time.Millisecond}, func() { go s.Close() })
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// TestFeedDepth: the depth of an effect is in each of its changes, and only there.
func TestFeedDepth(t *testing.T) {
	s := openMem(t, Options{})
	effect := WithDepth(WithRequestKey(ctx, "key", true), 3)
	for _, ctx := range []context.Context{ctx, effect} {
		name := fmt.Sprint(ctx == effect)
		if _, err := Add(ctx, s, []triple.Triple{takes(name)}); err != nil {
			t.Fatal(err)
		}
		if _, err := Apply(ctx, s, Steps{Delete: slices.Values([]triple.Triple{takes(name)}), Add: slices.Values([]triple.Triple{takes(name + "2")})}); err != nil {
			t.Fatal(err)
		}
		if _, err := Apply(ctx, s, Steps{ClearAll: true, Add: slices.Values([]triple.Triple{takes(name + "3")})}); !errors.Is(err, ErrDone) && err != nil {
			t.Fatal(err)
		}
	}
	var got []uint8
	for b, err := range s.Feed().Changes(ctx, feed.Request{}) {
		require.NoError(t, err)
		for _, c := range b.Changes {
			got = append(got, c.Depth)
		}
	}
	if want := []uint8{0, 0, 0, 0, 0, 3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("depths %v, want %v", got, want)
	}
}
