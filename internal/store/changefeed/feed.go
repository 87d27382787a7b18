// The change feed: which triples each commit has changed.

// Package changefeed keeps the changes of triples with watched predicates until their reader has read
// them. It serves readers that derive data from these triples. The entry of a commit is in the same
// batch as its rows. Therefore no change is missed, whenever the process ends.
package changefeed

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Kind is the kind of a change.
type Kind uint8

const (
	// Added means that the triple exists now.
	Added Kind = iota + 1
	// Deleted means that the triple no longer exists.
	Deleted
	// Annotated means that the triple's annotations changed.
	Annotated
	// Any means that any triple may have changed. Its causes are a bulk load, a cleared
	// graph, or a feed without a reader for too long. It has no key.
	Any
)

// Change is one change in the feed.
type Change struct {
	Kind Kind
	// Key is the triple's key in POS.
	Key []byte
	// Value is the value of its row, with its long terms; only of Added.
	Value []byte
}

const (
	entryPrefix = "feed/"
	// maxBytes limits the entries that wait for a reader.
	maxBytes = 64 << 20
	// maxEntryBytes limits one commit's entry.
	maxEntryBytes = 16 << 20
)

func entryKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(keyspace.LocalKey(entryPrefix), number)
}

// Feed is the feed of a store. It is off if no predicate is watched. Its methods are safe for
// concurrent use, except for the ones of commits: Append, AppendAny, StillAbsent and the functions
// that they return. Their caller must hold the lock of commits.
type Feed struct {
	db       *database.Database
	commits  sync.Locker // held while rows are written
	prefixes [][]byte    // prefixes of Pebble keys in POS
	most     int64       // maxBytes, except in tests
	entry    []byte
	recent   recent

	mu      sync.Mutex
	last    uint64 // number of the last entry; 0 if there was none
	first   uint64 // of the first kept entry; last+1 if none is kept
	bytes   int64  // of the kept entries
	changed chan struct{}
}

// AnyEntry is the value of an entry that is an Any.
var AnyEntry = []byte{byte(Any)}

// rowFeeding holds the watched predicates, one after the other as terms.
var rowFeeding = keyspace.LocalKey("feeding")

// Open returns the feed of an opened database that watches predicates, by their IRIs. If other
// predicates were watched before, or none, it begins with an Any. commits is held while rows are
// written.
func Open(db *database.Database, commits sync.Locker, predicates []string) (*Feed, error) {
	f := &Feed{db: db, commits: commits, changed: make(chan struct{}), most: maxBytes}
	return f, f.open(predicates)
}

func (f *Feed) open(predicates []string) error {
	// 1. Encode the predicates and find the entries on disk.
	var watching []byte
	for _, iri := range predicates {
		term, _ := triple.AppendTerm([]byte{keyspace.Storage, byte(triple.POS)}, triple.NewIRI(iri))
		f.prefixes = append(f.prefixes, append(term, 0x00, 0x01))
		watching = append(watching, f.prefixes[len(f.prefixes)-1][2:]...)
	}
	if err := f.findEntries(); err != nil || f.db.ReadOnly {
		return err
	}
	f.recent.forget(f.last)
	// 2. If the predicates are the same as before, the feed continues.
	before, err := f.db.Value(rowFeeding)
	if err != nil || bytes.Equal(before, watching) {
		return err
	}
	// 3. Otherwise write a Any, because changes of the new predicates may be missing. It
	// must commit together with the predicates.
	batch := f.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(rowFeeding, watching, nil); err != nil {
		return err
	}
	entry, done := f.AppendAny()
	if entry != nil {
		if err := batch.Set(entry, AnyEntry, nil); err != nil {
			return err
		}
	}
	if err := f.db.Commit(batch, true); err != nil {
		return err
	}
	done()
	return nil
}

func (f *Feed) findEntries() error {
	lower, upper := keyspace.LocalBounds(entryPrefix)
	it, err := f.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		number, ok := entryNumber(it.Key())
		if !ok {
			return joinClose(fmt.Errorf("%w: the key of an entry of the feed: % X", fault.ErrCorrupt, it.Key()), it)
		}
		if f.first == 0 {
			f.first = number
		}
		f.last = number
		f.bytes += int64(len(it.Value()))
	}
	return joinClose(it.Error(), it)
}

func joinClose(err error, it *pebble.Iterator) error {
	if closed := it.Close(); err == nil {
		err = closed
	}
	return err
}

func entryNumber(key []byte) (uint64, bool) {
	name := key[1+len(entryPrefix):]
	if len(name) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(name), true
}

// watches reports whether a Pebble key is of a triple with one of the predicates.
func (f *Feed) watches(key []byte) bool {
	for _, p := range f.prefixes {
		if bytes.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// overlaps reports whether keys between lower and upper may be of watched triples.
func (f *Feed) overlaps(lower, upper []byte) bool {
	for _, p := range f.prefixes {
		end := append(bytes.Clone(p[:len(p)-1]), p[len(p)-1]+1)
		if bytes.Compare(lower, end) < 0 && bytes.Compare(p, upper) < 0 {
			return true
		}
	}
	return false
}

// Append appends the feed's entry to a batch if the batch changes a watched triple. done must be
// called when the batch is committed.
func (f *Feed) Append(batch *pebble.Batch) (done func(), err error) {
	if len(f.prefixes) == 0 || batch.Empty() {
		return func() {}, nil
	}
	// 1. Collect the changes of watched rows. A range deletion cannot be listed, and a long entry
	// may not be.
	f.entry = f.entry[:0]
	whole := false
	for reader := batch.Reader(); !whole; {
		kind, key, value, ok, err := reader.Next()
		if err != nil {
			return nil, fmt.Errorf("read a batch: %w", err)
		}
		if !ok {
			break
		}
		switch kind {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindDelete:
			if f.watches(key) {
				f.recent.touched(key[1:], f.last+1)
				f.entry = appendChange(f.entry, kind == pebble.InternalKeyKindDelete, key[1:], value)
			}
		case pebble.InternalKeyKindRangeDelete:
			whole = f.overlaps(key, value)
		}
		whole = whole || len(f.entry) > maxEntryBytes
	}
	// 2. In both cases a Any replaces the changes.
	if whole {
		f.recent.forget(f.last + 1)
		f.entry = append(f.entry[:0], byte(Any))
	}
	if len(f.entry) == 0 {
		return func() {}, nil
	}
	return f.write(batch)
}

// appendChange appends the change of a row. key and value have no table byte.
func appendChange(dst []byte, deleted bool, key, value []byte) []byte {
	kind := Added
	version, _, isNote := triple.CutAnnotation(key)
	switch {
	case isNote:
		kind, key = Annotated, version
	case deleted || triple.IsTombstone(value):
		kind = Deleted
	}
	dst = appendSized(append(dst, byte(kind)), key)
	if kind == Added {
		dst = appendSized(dst, value)
	}
	return dst
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// write appends f.entry to a batch. If the feed is too large, one Any replaces all entries.
func (f *Feed) write(batch *pebble.Batch) (done func(), err error) {
	f.mu.Lock()
	number, first, kept := f.last+1, f.first, f.bytes+int64(len(f.entry))
	f.mu.Unlock()
	if first == 0 {
		first = number
	}
	if kept > f.most {
		lower, _ := keyspace.LocalBounds(entryPrefix)
		if err := batch.DeleteRange(lower, entryKey(number), nil); err != nil {
			return nil, err
		}
		f.entry = append(f.entry[:0], byte(Any))
		first, kept = number, 1
	}
	if err := batch.Set(entryKey(number), f.entry, nil); err != nil {
		return nil, err
	}
	return func() { f.moved(number, first, kept) }, nil
}

// AppendAny returns the key of a new entry, or nil if the feed is off. Its value must be [AnyEntry].
// done must be called when the entry is in the database.
func (f *Feed) AppendAny() (key []byte, done func()) {
	if len(f.prefixes) == 0 {
		return nil, func() {}
	}
	f.mu.Lock()
	number, first, kept := f.last+1, f.first, f.bytes+1
	f.mu.Unlock()
	f.recent.forget(number)
	if first == 0 {
		first = number
	}
	return entryKey(number), func() { f.moved(number, first, kept) }
}

// moved records a new entry and wakes the readers.
func (f *Feed) moved(number, first uint64, kept int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.first, f.bytes = number, first, kept
	close(f.changed)
	f.changed = make(chan struct{})
}

// End returns the number of the feed's last entry, or 0 if it never had one. The channel is
// closed when the next entry comes.
func (f *Feed) End() (last uint64, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.changed
}

// Read calls do with the entries after a number, in order, one commit at a time. Each argument
// of do is valid until do returns. If entries after that number are gone, the first one is a
// Any.
func (f *Feed) Read(ctx context.Context, after uint64, do func(number uint64, changes []Change) error) error {
	if err := f.db.Begin(); err != nil {
		return fault.Wrap("read the feed", err)
	}
	defer f.db.End()
	f.mu.Lock()
	first, last := f.first, f.last
	f.mu.Unlock()
	if first == 0 || after >= last {
		return nil
	}
	it, err := f.db.NewIter(&pebble.IterOptions{LowerBound: entryKey(after + 1), UpperBound: entryKey(last + 1)})
	if err != nil {
		return fault.Wrap("read the feed", err)
	}
	err = readEntries(ctx, it, after, do)
	return fault.Wrap("read the feed", joinClose(err, it))
}

func readEntries(ctx context.Context, it *pebble.Iterator, after uint64, do func(number uint64, changes []Change) error) error {
	var changes []Change
	for valid := it.First(); valid; valid = it.Next() {
		number, ok := entryNumber(it.Key())
		if !ok {
			return fmt.Errorf("%w: the key of an entry: % X", fault.ErrCorrupt, it.Key())
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if changes, err = parseChanges(changes[:0], value); err != nil {
			return fmt.Errorf("entry %d: %w", number, err)
		}
		if number != after+1 {
			changes = append(changes[:0], Change{Kind: Any})
		}
		if err := do(number, changes); err != nil {
			return err
		}
		if after = number; ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return it.Error()
}

// parseChanges appends the changes of an entry. They share memory with it.
func parseChanges(changes []Change, entry []byte) ([]Change, error) {
	for len(entry) > 0 {
		c := Change{Kind: Kind(entry[0])}
		entry = entry[1:]
		ok := true
		switch c.Kind {
		case Any:
		case Deleted, Annotated:
			c.Key, entry, ok = cutSized(entry)
		case Added:
			if c.Key, entry, ok = cutSized(entry); ok {
				c.Value, entry, ok = cutSized(entry)
			}
		default:
			return nil, fmt.Errorf("%w: a change of kind %d", fault.ErrCorrupt, c.Kind)
		}
		if !ok {
			return nil, fmt.Errorf("%w: a change is cut off", fault.ErrCorrupt)
		}
		changes = append(changes, c)
	}
	return changes, nil
}

func cutSized(b []byte) (cut, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	return b[n : n+int(size)], b[n+int(size):], true
}

// Trim deletes the entries up to a number, because their reader is done. It is not durable by
// itself: after a crash they may be back.
func (f *Feed) Trim(upTo uint64) error {
	f.commits.Lock()
	defer f.commits.Unlock()
	f.mu.Lock()
	first, last := f.first, f.last
	f.mu.Unlock()
	upTo = min(upTo, last)
	if first == 0 || upTo < first {
		return nil
	}
	// The last entry must stay, because after a restart the feed continues from its number.
	upTo = min(upTo, last-1)
	size, err := f.sizeOf(first, upTo)
	if err != nil {
		return fault.Wrap("trim the feed", err)
	}
	if err := f.db.DeleteRange(entryKey(first), entryKey(upTo+1), pebble.NoSync); err != nil {
		return fault.Wrap("trim the feed", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.bytes = upTo+1, max(f.bytes-size, 0)
	return nil
}

// sizeOf returns the size of the entries from first to last.
func (f *Feed) sizeOf(first, last uint64) (size int64, err error) {
	it, err := f.db.NewIter(&pebble.IterOptions{LowerBound: entryKey(first), UpperBound: entryKey(last + 1)})
	if err != nil {
		return 0, err
	}
	for valid := it.First(); valid; valid = it.Next() {
		value := it.LazyValue()
		size += int64(value.Len())
	}
	return size, joinClose(it.Error(), it)
}
