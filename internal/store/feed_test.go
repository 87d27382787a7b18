// Tests of the feed.

package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/triple"
)

const watched = "http://example.org/takes"

// fed returns the entries after a number, as text.
func fed(t *testing.T, s *Store, after uint64) (entries []string) {
	t.Helper()
	err := s.ChangeFeed().Read(ctx, after, func(number uint64, changes []changefeed.Change) error {
		var all []string
		for _, c := range changes {
			text := [...]string{changefeed.Added: "+", changefeed.Deleted: "-", changefeed.Annotated: "*", changefeed.Any: "any"}[c.Kind]
			if c.Kind != changefeed.Any {
				value := c.Value
				if c.Kind != changefeed.Added {
					value = triple.AppendValue(nil, triple.Stamp{}, triple.Triple{})
				}
				o, found, err := triple.DecodeKey(c.Key, value)
				if err != nil || o != triple.POS {
					return fmt.Errorf("order %v of % X: %w", o, c.Key, err)
				}
				text += found.Subject.Value()[strings.LastIndex(found.Subject.Value(), "/")+1:]
			}
			all = append(all, text)
		}
		slices.Sort(all) // a commit's rows have no order
		entries = append(entries, fmt.Sprint(number, " ", strings.Join(all, " ")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func takes(name string) triple.Triple {
	return triple.Triple{Subject: iri("%s", name), Predicate: triple.NewIRI(watched), Object: iri("course")}
}

func wantFed(t *testing.T, s *Store, after uint64, want ...string) {
	t.Helper()
	if got := fed(t, s, after); !slices.Equal(got, want) {
		t.Errorf("the feed after %d:\n got %q\nwant %q", after, got, want)
	}
}

func TestFeed(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, Feed: []string{watched}}
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	_, more := s.ChangeFeed().End()
	add(t, s, takes("a"), takes("b"), student(0))
	select {
	case <-more:
	default:
		t.Error("nobody is told of an entry")
	}
	add(t, s, student(1))
	add(t, s, takes("a")) // is there
	if _, err := s.Delete(ctx, []triple.Triple{takes("a"), takes("none"), student(0)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Annotate(ctx, takes("b"), "app", []byte("note")); err != nil {
		t.Fatal(err)
	}
	long := takes(strings.Repeat("long", 5000))
	add(t, s, long)
	graph := takes("c")
	graph.Graph = iri("graph")
	add(t, s, graph)
	want := []string{"1 any", "2 +a +b", "3 -a", "4 *b", "5 +" + strings.Repeat("long", 5000), "6 +c"}
	wantFed(t, s, 0, want...)
	wantFed(t, s, 5, want[5])
	wantFed(t, s, 6)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, o)
	wantFed(t, s, 0, want...)
	if last, _ := s.ChangeFeed().End(); last != 6 {
		t.Errorf("the feed ends at %d after a restart", last)
	}
	if _, err := s.Apply(ctx, Changes{ClearAll: true}); err != nil {
		t.Fatal(err)
	}
	loadTriples(t, s, "load", []triple.Triple{takes("d")})
	add(t, s, takes("e"))
	wantFed(t, s, 6, "7 any", "8 any", "9 +e")
}

func TestFeedTrim(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, Feed: []string{watched}}
	s, err := Open("data", o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		add(t, s, takes(fmt.Sprint(i)))
	}
	if err := s.ChangeFeed().Trim(4); err != nil {
		t.Fatal(err)
	}
	wantFed(t, s, 4, "5 +3", "6 +4")
	wantFed(t, s, 2, "5 any", "6 +4") // 3 and 4 are gone
	if err := s.ChangeFeed().Trim(99); err != nil {
		t.Fatal(err)
	}
	add(t, s, takes("5"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openMem(t, o)
	add(t, s, takes("6"))
	wantFed(t, s, 6, "7 +5", "8 +6")
	wantFed(t, s, 7, "8 +6")
}

// If a store's feed was off, it may have missed changes, and must report that.
func TestFeedOff(t *testing.T) {
	fs := vfs.NewMem()
	o := Options{FS: fs, Feed: []string{watched}}
	for i, o := range []Options{o, {FS: fs}, o} {
		s, err := Open("data", o)
		if err != nil {
			t.Fatal(err)
		}
		add(t, s, takes(fmt.Sprint(i)))
		switch i {
		case 0:
			wantFed(t, s, 0, "1 any", "2 +0")
		case 2:
			wantFed(t, s, 2, "3 any", "4 +2")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFeedEnds(t *testing.T) {
	s := openMem(t, Options{Feed: []string{watched}})
	add(t, s, takes("a"))
	add(t, s, takes("b"))
	ended, cancel := context.WithCancel(ctx)
	n := 0
	err := s.ChangeFeed().Read(ended, 1, func(uint64, []changefeed.Change) error {
		n++
		cancel()
		return nil
	})
	if n != 1 || err == nil {
		t.Errorf("%d entries after the end of the context: %v", n, err)
	}
}
