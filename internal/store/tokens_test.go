// Repeated changes under one idempotency key.

package store

import (
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A change under a key is made once, even after a restart, until the key is forgotten: lists of
// all lengths, single triples, changes and deletes by pattern.
func TestTokens(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		open := func() *Store {
			s, err := Open("data", Options{FS: fs})
			require.NoError(t, err)
			return s
		}
		s := open()
		all := students(0, 2000) // too many to stay in the order of their arrival
		once := func(key string) (added, deleted int64) {
			r, err := Add(WithRequestKey(ctx, "add "+key, false), s, all)
			require.NoError(t, err)
			d, err := Delete(WithRequestKey(ctx, "delete "+key, false), s, all[:1000])
			require.NoError(t, err)
			return r.Added, d.Deleted
		}
		want := func(what, key string, added, deleted int64) {
			t.Helper()
			if a, d := once(key); a != added || d != deleted {
				t.Errorf("%s: %d added and %d deleted, not %d and %d", what, a, d, added, deleted)
			}
		}
		want("the first time", "a", 2000, 1000)
		want("again", "a", 0, 0)
		require.NoError(t, s.Close())
		s = open()
		want("after a restart", "a", 0, 0)
		want("under another key", "b", 1000, 1000)
		// A change is done once, as a whole.
		changed := func(key string) (int64, error) {
			r, err := Apply(WithRequestKey(ctx, key, false), s, Steps{Add: func(yield func(triple.Triple) bool) { yield(all[0]) }})
			return r.Added, err
		}
		for i, added := range []int64{1, 0, 0} {
			if n, err := changed("c"); n != added || (err != nil) != (i > 0) || err != nil && !errors.Is(err, ErrDone) {
				t.Errorf("try %d: %d added, %v", i, n, err)
			}
			if _, err := Delete(ctx, s, all[:1]); err != nil {
				t.Fatal(err)
			}
		}
		cleared := func() error {
			_, err := Apply(WithRequestKey(ctx, "clear", false), s, Steps{ClearAll: true})
			return err
		}
		require.NoError(t, cleared())
		add(t, s, all...)
		if err := cleared(); !errors.Is(err, ErrDone) || s.Status().Triples != 2000 {
			t.Errorf("%d triples when all were cleared again, %v", s.Status().Triples, err)
		}
		// A delete by pattern must not begin again, because other triples may match now.
		matched := func() error {
			_, err := DeleteMatch(WithRequestKey(ctx, "match", false), s, triple.Pattern{Predicate: all[0].Predicate})
			return err
		}
		require.NoError(t, matched())
		add(t, s, all...)
		if err := matched(); !errors.Is(err, ErrBegun) || !errors.Is(err, ErrUnknown) || s.Status().Triples != 2000 {
			t.Errorf("%d triples, %v", s.Status().Triples, err)
		}
		// Keys are kept for their time and forgotten later.
		if _, err := Delete(ctx, s, all); err != nil {
			t.Fatal(err)
		}
		time.Sleep(TokenTime - time.Second)
		want("within the time", "a", 0, 0)
		time.Sleep(2 * TokenTime)
		want("when it is forgotten", "a", 2000, 1000)
		if n := len(s.committer.tokens.periods); n != 1 {
			t.Errorf("%d periods are kept", n)
		}
		rows := 0
		if err := s.db.EachLocal(tokenPrefix, func(_, _ []byte) error { rows++; return nil }); err != nil || rows != 3000 {
			t.Errorf("%d tokens are kept, %v", rows, err)
		}
		checked(t, s)
		require.NoError(t, s.Close())
	})
}

// An update under a key is rejected if the store is closed. The tokens are not read, because the
// database is closed.
func TestUpdateWithKeyAfterClose(t *testing.T) {
	s, err := Open("data", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	if _, err := Add(WithRequestKey(ctx, "add", false), s, students(0, 1)); err != nil {
		t.Fatal(err)
	}
	require.NoError(t, s.Close())
	for range 64 { // select chooses one of two ready channels at random
		_, err := Update(WithRequestKey(ctx, "update", false), s, func(Reader) (Steps, error) {
			t.Error("a snapshot of a closed store")
			return Steps{}, nil
		})
		if !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	}
}

// TestTokenDepth checks that tokens keep a depth, and differ by it.
func TestTokenDepth(t *testing.T) {
	with := WithRequestKey(t.Context(), "key", true)
	plain := RequestKeyOf(with).Token(OperationAdd, []byte("a"))
	if got := plain.Depth(); got != 0 {
		t.Errorf("depth %d without one", got)
	}
	for _, depth := range []uint8{1, 8, 255} {
		a := RequestKeyOf(WithDepth(with, depth)).Token(OperationAdd, []byte("a"))
		b := RequestKeyOf(WithDepth(with, depth)).Token(OperationAdd, []byte("b"))
		if a.Depth() != depth || b.Depth() != depth || a == b || a == plain {
			t.Errorf("depth %d: tokens %x and %x", depth, a, b)
		}
	}
	if RequestKeyOf(with).Token(OperationAdd, []byte("a")) != plain {
		t.Error("WithDepth has changed the key of its context")
	}
}
