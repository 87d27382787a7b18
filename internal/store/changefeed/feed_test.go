// Tests of the feed's limits and of damaged entries.

package changefeed

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

const watched = "http://example.org/takes"

// If nobody reads the feed, it stays within its limit and reports a loss.
func TestFeedBounded(t *testing.T) {
	db := database.New(database.Options{
		Dir: "data", FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler), CacheBytes: 1 << 20, MemTableBytes: 1 << 20,
		OnFlush: func() {}, OnIngest: func() {},
	})
	if err := db.Open(true); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f, err := Open(db, new(sync.Mutex), []string{watched})
	if err != nil {
		t.Fatal(err)
	}
	f.most = 4 << 10
	for i := range 200 {
		key, _ := triple.AppendKey([]byte{keyspace.Storage}, triple.POS,
			triple.Triple{Subject: triple.NewIRI(fmt.Sprintf("http://example.org/%03d", i)), Predicate: triple.NewIRI(watched), Object: triple.NewIRI("http://example.org/course")})
		batch := db.NewBatch()
		if err := batch.Set(key, triple.AppendValue(nil, triple.Stamp{}, triple.Triple{}), nil); err != nil {
			t.Fatal(err)
		}
		done, err := f.Append(batch)
		if err == nil {
			err = db.Commit(batch, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
	n, first := 0, Kind(0)
	err = f.Read(t.Context(), 0, func(_ uint64, changes []Change) error {
		if n++; n == 1 {
			first = changes[0].Kind
		}
		return nil
	})
	if err != nil || n == 0 || n > 100 || first != Any {
		t.Errorf("%d entries, the first of kind %d, %v", n, first, err)
	}
	if last, _ := f.End(); last != 201 {
		t.Errorf("the feed ends at %d", last)
	}
	if size, err := f.sizeOf(f.first, f.last); err != nil || size > f.most || size != f.bytes {
		t.Errorf("%d bytes are kept, counted as %d: %v", size, f.bytes, err)
	}
}

func TestFeedCorrupt(t *testing.T) {
	for _, entry := range []string{"\x05", "\x01", "\x01\x05abc", "\x01\x01a", "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x00"} {
		if changes, err := parseChanges(nil, []byte(entry)); err == nil {
			t.Errorf("%q is %v", entry, changes)
		}
	}
}

// If the changes since an entry are forgotten, claims do not count.
func TestRecentBounded(t *testing.T) {
	var r recent
	key := func(i int) []byte { return fmt.Append([]byte{byte(triple.POS)}, i) }
	n := 0
	for entry := uint64(1); entry <= 10; entry++ {
		for range maxRecent / 2 {
			r.touched(key(n), entry)
			n++
		}
		for _, at := range []int{0, n / 2, n - 1} {
			changed := uint64(at/(maxRecent/2)) + 1
			for since := range entry + 1 {
				if got := r.untouchedSince(key(at), since); got && since < changed {
					t.Fatalf("what entry %d changed is said to be as it was since %d", changed, since)
				}
			}
			if !r.untouchedSince(key(at), entry) {
				t.Fatalf("nothing has changed since the last entry, %d", entry)
			}
		}
		if entry > 1 && !r.untouchedSince(key(-1), entry-1) {
			t.Fatalf("what the last entry has not changed is not known at entry %d", entry)
		}
		if size := len(r.now) + len(r.before); size > 2*maxRecent {
			t.Fatalf("%d are kept", size)
		}
	}
}
