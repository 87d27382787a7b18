// The cache over a feed that a test makes.

package columncache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/triple"
)

// slowFeed is a feed whose reads last until they are released.
type slowFeed struct {
	release chan struct{}
	built   bool // until then it has no changes
	reads   int
	change  feed.Change
}

func at(sequence uint64) feed.Position {
	return feed.Position{Source: 1, Epoch: 1, Marks: []feed.Mark{{Sequence: sequence}}}
}

func (f *slowFeed) Position(context.Context) (feed.Position, error) { return at(1), nil }

func (f *slowFeed) Changes(ctx context.Context, _ feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		if !f.built {
			return
		}
		f.reads++
		select {
		case <-f.release:
			yield(&feed.Batch{Changes: []feed.Change{f.change}, Position: at(2)}, nil)
		case <-ctx.Done():
			yield(nil, ctx.Err())
		}
	}
}

// newSlow returns a cache with a set of the first position.
func newSlow(t *testing.T) (*Cache, *slowFeed) {
	p := triple.NewIRI("x:p")
	one := triple.Triple{Subject: p, Predicate: p, Object: p}
	other, _ := triple.AppendKey(nil, triple.SPO, triple.Triple{Subject: p, Predicate: p, Object: triple.NewIRI("x:o")})
	f := &slowFeed{release: make(chan struct{}), change: feed.Change{Kind: feed.Add, Key: other, Stamp: triple.Stamp{Epoch: 1, Sequence: 2}}}
	builds := 0
	c := New(Options{Memory: 1 << 20, Feed: f, Snapshot: func(context.Context) (source.Source, feed.Position, func() error, error) {
		if builds++; builds > 1 {
			return nil, feed.Position{}, nil, errors.New("one build is enough")
		}
		return memsource.New([]triple.Triple{one}), at(1), func() error { return nil }, nil
	}})
	t.Cleanup(c.Close)
	c.Build()
	synctest.Wait()
	if c.View(t.Context(), at(1)) == nil {
		t.Fatal("no set was built")
	}
	f.built = true
	return c, f
}

// TestReadersWait: while one reader reads changes, others wait for it no longer than their contexts last,
// and the state of the cache is free. They read nothing again.
func TestReadersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := newSlow(t)
		go c.View(t.Context(), at(2))
		synctest.Wait()
		// 1. The first reader waits for the feed.
		if bytes, _ := c.Size(); bytes == 0 || !c.Wanted() {
			t.Error("the set is gone while its changes are read")
		}
		if c.View(t.Context(), at(1)) == nil {
			t.Error("a reader without unread changes waits for another one")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if c.View(ctx, at(2)) != nil || time.Since(begun) != time.Second {
			t.Errorf("a view of unread changes, after %s", time.Since(begun))
		}
		// 2. It goes on, and so does another one.
		close(f.release)
		synctest.Wait()
		if v := c.View(t.Context(), at(2)); v == nil {
			t.Error("no columns behind the changes")
		} else if c, ok := v.Column(keyOf("x:p")); !ok || c.Rows() != 2 {
			t.Error("the column of the changed predicate has not its change")
		}
		if v := c.View(t.Context(), at(1)); v == nil {
			t.Error("no columns for an earlier reader")
		} else if c, ok := v.Column(keyOf("x:p")); !ok || c.Rows() != 1 {
			t.Error("an earlier reader sees the change")
		}
		if f.reads != 1 {
			t.Errorf("%d reads", f.reads)
		}
	})
}

func keyOf(iri string) string {
	b, _ := triple.AppendTerm(nil, triple.NewIRI(iri))
	return string(b)
}

// TestWanted: a cache whose last build failed has no use until the next one may begin.
func TestWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Memory: 1, Snapshot: func(context.Context) (source.Source, feed.Position, func() error, error) {
			time.Sleep(time.Second)
			return nil, feed.Position{}, nil, errors.New("no rows")
		}})
		defer c.Close()
		for range 2 {
			if !c.Wanted() {
				t.Error("no build is wanted")
			}
			c.Build()
			time.Sleep(2 * time.Second)
			if c.Wanted() {
				t.Error("a build is wanted right after one that failed")
			}
			time.Sleep(8 * time.Second)
		}
	})
}

// TestLateReaders: if readers never have the time to read a batch of changes, the set is given up.
func TestLateReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newSlow(t)
		for i := range maxLate {
			if bytes, _ := c.Size(); bytes == 0 {
				t.Fatalf("no set after %d readers", i)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if c.View(ctx, at(2)) != nil {
				t.Error("a view of unread changes")
			}
			cancel()
		}
		if bytes, _ := c.Size(); bytes > 0 {
			t.Error("the set that no reader can use stays")
		}
	})
}

// noFeed is a feed without changes.
type noFeed struct{}

func (noFeed) Position(context.Context) (feed.Position, error) { return at(1), nil }
func (noFeed) Changes(context.Context, feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(func(*feed.Batch, error) bool) {}
}

// TestPartial: if not all columns fit, small ones are built, and later those that are wanted. Requests for what
// never fits end no set and cause no build without end.
func TestPartial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all []triple.Triple
		for predicate, n := range map[string]int{"x:small": 10, "x:large": 3000, "x:huge": 30_000} {
			for i := range n {
				all = append(all, triple.Triple{Subject: triple.NewIRI(fmt.Sprint("x:s", i)), Predicate: triple.NewIRI(predicate), Object: triple.NewIRI(fmt.Sprint(predicate, "/", i))})
			}
		}
		builds := 0
		c := New(Options{Memory: 200_000, Feed: noFeed{}, Snapshot: func(context.Context) (source.Source, feed.Position, func() error, error) {
			builds++
			time.Sleep(time.Second)
			return memsource.New(all), at(1), func() error { return nil }, nil
		}})
		defer c.Close()
		// columns asks for all columns until a build has had its time.
		columns := func() (has []string) {
			for range 100 {
				has = nil
				v := c.View(t.Context(), at(1))
				time.Sleep(time.Minute)
				if v == nil {
					continue
				}
				for _, predicate := range []string{"x:small", "x:large", "x:huge"} {
					if column, ok := v.Column(keyOf(predicate)); ok && column.Rows() > 0 {
						has = append(has, predicate)
					}
				}
				if _, ok := v.Column(keyOf("x:none")); ok {
					t.Error("a partial set knows all predicates")
				}
			}
			return has
		}
		if has := columns(); fmt.Sprint(has) != "[x:small x:large]" {
			t.Errorf("the columns of %q were built", has)
		}
		if bytes, _ := c.Size(); bytes > 200_000 {
			t.Errorf("the set has %d bytes", bytes)
		}
		if builds > 20 {
			t.Errorf("%d builds", builds)
		}
		// When the huge predicate has become small enough to fit, it is built, because it is wanted.
		all = slices.DeleteFunc(all, func(one triple.Triple) bool {
			return one.Predicate == triple.NewIRI("x:huge") && len(one.Subject.Value()) > 6
		})
		for range 200 {
			v := c.View(t.Context(), at(1))
			v.Column(keyOf("x:huge"))
			time.Sleep(time.Minute)
		}
		if v := c.View(t.Context(), at(1)); v == nil {
			t.Error("no columns")
		} else if _, ok := v.Column(keyOf("x:huge")); !ok {
			t.Error("a wanted predicate has no column")
		}
	})
}

// keptFile is a file that a test makes.
type keptFile struct {
	set  *columns.Set
	at   feed.Position
	hold chan struct{} // Keep waits for it
}

func (f *keptFile) Keep(ctx context.Context, set *columns.Set, at feed.Position) error {
	select {
	case <-f.hold:
		f.set, f.at = set, at
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *keptFile) Read(context.Context, int64) (*columns.Set, feed.Position, error) {
	if f.set == nil {
		return nil, feed.Position{}, os.ErrNotExist
	}
	return f.set, f.at, nil
}

// TestSlowFile: readers have the columns while their file is written, and Close does not wait for it. The next
// build waits.
func TestSlowFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := &keptFile{hold: make(chan struct{})}
		c := New(Options{Memory: 1 << 20, Feed: &slowFeed{}, File: file, Snapshot: oneTriple})
		c.Build()
		synctest.Wait()
		if c.View(t.Context(), at(1)) == nil {
			t.Error("no columns while their file is written")
		}
		time.Sleep(time.Hour)
		if c.Idle() {
			t.Error("another build may begin while the file is written")
		}
		c.Close()
	})
}

// oneTriple is a snapshot of position 1.
func oneTriple(context.Context) (source.Source, feed.Position, func() error, error) {
	p := triple.NewIRI("x:p")
	return memsource.New([]triple.Triple{{Subject: p, Predicate: p, Object: p}}), at(1), func() error { return nil }, nil
}

// longFeed has many changes behind position 1.
type longFeed struct {
	slowFeed
	read int
}

func (f *longFeed) Changes(_ context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		for i := r.Since.Sequence(0) + 1; i <= 10*maxChanges; i++ {
			f.read++
			f.change.Stamp.Sequence = i
			if !yield(&feed.Batch{Changes: []feed.Change{f.change}, Position: at(i)}, nil) {
				return
			}
		}
	}
}

// TestOldFile: if very many changes have come since the set of the file, it is built anew at once.
func TestOldFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &longFeed{}
		_, slow := newSlow(t)
		f.change = slow.change
		file := &keptFile{hold: make(chan struct{})}
		close(file.hold)
		rows, _, _, _ := oneTriple(t.Context())
		var err error
		if file.set, err = columns.Build(t.Context(), rows, 1<<20); err != nil {
			t.Fatal(err)
		}
		file.at = at(1)
		builds := 0
		c := New(Options{Memory: 1 << 20, Feed: f, File: file, Snapshot: func(ctx context.Context) (source.Source, feed.Position, func() error, error) {
			builds++
			src, _, release, err := oneTriple(ctx)
			return src, at(10 * maxChanges), release, err
		}})
		defer c.Close()
		c.Build()
		synctest.Wait()
		if f.read > 2*maxChanges || builds != 1 {
			t.Errorf("%d changes were read, and %d sets built", f.read, builds)
		}
		v := c.View(t.Context(), at(10*maxChanges))
		if v == nil || v.Stale() > 0 {
			t.Error("no columns, or not all")
		}
	})
}
