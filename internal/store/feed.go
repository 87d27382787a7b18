// The feed: the changes of each commit to triples with some predicates.

package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// The feed serves readers that derive data from these triples. The entry of a commit is in the
// same batch as its rows. Therefore no change is missed, whenever the process ends.

// ChangeKind is the kind of a change.
type ChangeKind uint8

const (
	// ChangeAdded means that the triple exists now.
	ChangeAdded ChangeKind = iota + 1
	// ChangeDeleted means that the triple no longer exists.
	ChangeDeleted
	// ChangeNoted means that the triple's annotations changed.
	ChangeNoted
	// ChangeAny means that any triple may have changed. Its causes are a bulk load, a cleared
	// graph, or a feed without a reader for too long. It has no key.
	ChangeAny
)

// Change is one change in the feed.
type Change struct {
	Kind ChangeKind
	// Key is the triple's key in POS.
	Key []byte
	// Value is the value of its row, with its long terms; only of ChangeAdded.
	Value []byte
}

const (
	feedPrefix = "feed/"
	// maxFeedBytes limits the entries that wait for a reader.
	maxFeedBytes = 64 << 20
	// maxEntryBytes limits one commit's entry.
	maxEntryBytes = 16 << 20
)

func feedKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(keyspace.LocalKey(feedPrefix), number)
}

// feed writes entries. It is off if no predicate is set. Store.commitMu guards it, except for the
// fields under mu.
type feed struct {
	prefixes [][]byte // prefixes of Pebble keys in POS
	most     int64    // maxFeedBytes, except in tests
	entry    []byte
	recent   recent

	mu      sync.Mutex
	last    uint64 // number of the last entry; 0 if there was none
	first   uint64 // of the first kept entry; last+1 if none is kept
	bytes   int64  // of the kept entries
	changed chan struct{}
}

// rowFeeding holds the watched predicates, one after the other as terms.
var rowFeeding = keyspace.LocalKey("feeding")

// init reads the state of the feed. If other predicates were watched before, or none, it begins
// with a ChangeAny.
func (f *feed) init(s *Store) error {
	f.changed, f.most = make(chan struct{}), maxFeedBytes
	// 1. Encode the predicates and find the entries on disk.
	var watching []byte
	for _, iri := range s.options.Feed {
		term, _ := triple.AppendTerm([]byte{keyspace.Storage, byte(triple.POS)}, triple.NewIRI(iri))
		f.prefixes = append(f.prefixes, append(term, 0x00, 0x01))
		watching = append(watching, f.prefixes[len(f.prefixes)-1][2:]...)
	}
	if err := f.readEntries(s); err != nil || s.options.ReadOnly {
		return err
	}
	f.recent.forget(f.last)
	// 2. If the predicates are the same as before, the feed continues.
	before, err := s.db.Value(rowFeeding)
	if err != nil || bytes.Equal(before, watching) {
		return err
	}
	// 3. Otherwise write a ChangeAny, because changes of the new predicates may be missing. It
	// must commit together with the predicates.
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(rowFeeding, watching, nil); err != nil {
		return err
	}
	entry, done := f.any()
	if entry != nil {
		if err := batch.Set(entry, []byte{byte(ChangeAny)}, nil); err != nil {
			return err
		}
	}
	if err := s.db.Commit(batch, true); err != nil {
		return err
	}
	done()
	return nil
}

func (f *feed) readEntries(s *Store) error {
	lower, upper := keyspace.LocalBounds(feedPrefix)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		number, ok := feedNumber(it.Key())
		if !ok {
			return joinClose(fmt.Errorf("%w: the key of an entry of the feed: % X", ErrCorrupt, it.Key()), it)
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

func feedNumber(key []byte) (uint64, bool) {
	name := key[1+len(feedPrefix):]
	if len(name) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(name), true
}

// watches reports whether a Pebble key is of a triple with one of the predicates.
func (f *feed) watches(key []byte) bool {
	for _, p := range f.prefixes {
		if bytes.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// overlaps reports whether keys between lower and upper may be of watched triples.
func (f *feed) overlaps(lower, upper []byte) bool {
	for _, p := range f.prefixes {
		end := append(bytes.Clone(p[:len(p)-1]), p[len(p)-1]+1)
		if bytes.Compare(lower, end) < 0 && bytes.Compare(p, upper) < 0 {
			return true
		}
	}
	return false
}

// note appends the feed's entry to a batch if the batch changes a watched triple. done must be
// called when the batch is committed.
func (f *feed) note(batch *pebble.Batch) (done func(), err error) {
	if len(f.prefixes) == 0 || batch.Empty() {
		return func() {}, nil
	}
	// 1. Collect the changes of watched rows. A range deletion cannot be listed, and a long entry
	// may not be.
	f.entry = f.entry[:0]
	any := false
	for reader := batch.Reader(); !any; {
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
			any = f.overlaps(key, value)
		}
		any = any || len(f.entry) > maxEntryBytes
	}
	// 2. In both cases a ChangeAny replaces the changes.
	if any {
		f.recent.forget(f.last + 1)
		f.entry = append(f.entry[:0], byte(ChangeAny))
	}
	if len(f.entry) == 0 {
		return func() {}, nil
	}
	return f.write(batch)
}

// appendChange appends the change of a row. key and value have no table byte.
func appendChange(dst []byte, deleted bool, key, value []byte) []byte {
	kind := ChangeAdded
	version, _, isNote := triple.CutAnnotation(key)
	switch {
	case isNote:
		kind, key = ChangeNoted, version
	case deleted || triple.IsTombstone(value):
		kind = ChangeDeleted
	}
	dst = appendSized(append(dst, byte(kind)), key)
	if kind == ChangeAdded {
		dst = appendSized(dst, value)
	}
	return dst
}

func appendSized(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// write appends f.entry to a batch. If the feed is too large, one ChangeAny replaces all entries.
func (f *feed) write(batch *pebble.Batch) (done func(), err error) {
	f.mu.Lock()
	number, first, kept := f.last+1, f.first, f.bytes+int64(len(f.entry))
	f.mu.Unlock()
	if first == 0 {
		first = number
	}
	if kept > f.most {
		lower, _ := keyspace.LocalBounds(feedPrefix)
		if err := batch.DeleteRange(lower, feedKey(number), nil); err != nil {
			return nil, err
		}
		f.entry = append(f.entry[:0], byte(ChangeAny))
		first, kept = number, 1
	}
	if err := batch.Set(feedKey(number), f.entry, nil); err != nil {
		return nil, err
	}
	return func() { f.moved(number, first, kept) }, nil
}

// any returns the key of a new ChangeAny entry, or nil if the feed is off. done must be called
// when the entry is in the database.
func (f *feed) any() (key []byte, done func()) {
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
	return feedKey(number), func() { f.moved(number, first, kept) }
}

// moved records a new entry and wakes the readers.
func (f *feed) moved(number, first uint64, kept int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.first, f.bytes = number, first, kept
	close(f.changed)
	f.changed = make(chan struct{})
}

// FeedEnd returns the number of the feed's last entry, or 0 if it never had one. The channel is
// closed when the next entry comes.
func (s *Store) FeedEnd() (last uint64, more <-chan struct{}) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.last, s.feed.changed
}

// ReadFeed calls do with the entries after a number, in order, one commit at a time. Each argument
// of do is valid until do returns. If entries after that number are gone, the first one is a
// ChangeAny.
func (s *Store) ReadFeed(ctx context.Context, after uint64, do func(number uint64, changes []Change) error) error {
	if err := s.db.Begin(); err != nil {
		return fault.Wrap("read the feed", err)
	}
	defer s.db.End()
	s.feed.mu.Lock()
	first, last := s.feed.first, s.feed.last
	s.feed.mu.Unlock()
	if first == 0 || after >= last {
		return nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: feedKey(after + 1), UpperBound: feedKey(last + 1)})
	if err != nil {
		return fault.Wrap("read the feed", err)
	}
	err = readFeed(ctx, it, after, do)
	return fault.Wrap("read the feed", joinClose(err, it))
}

func readFeed(ctx context.Context, it *pebble.Iterator, after uint64, do func(number uint64, changes []Change) error) error {
	var changes []Change
	for valid := it.First(); valid; valid = it.Next() {
		number, ok := feedNumber(it.Key())
		if !ok {
			return fmt.Errorf("%w: the key of an entry: % X", ErrCorrupt, it.Key())
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if changes, err = parseChanges(changes[:0], value); err != nil {
			return fmt.Errorf("entry %d: %w", number, err)
		}
		if number != after+1 {
			changes = append(changes[:0], Change{Kind: ChangeAny})
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
		c := Change{Kind: ChangeKind(entry[0])}
		entry = entry[1:]
		ok := true
		switch c.Kind {
		case ChangeAny:
		case ChangeDeleted, ChangeNoted:
			c.Key, entry, ok = cutSized(entry)
		case ChangeAdded:
			if c.Key, entry, ok = cutSized(entry); ok {
				c.Value, entry, ok = cutSized(entry)
			}
		default:
			return nil, fmt.Errorf("%w: a change of kind %d", ErrCorrupt, c.Kind)
		}
		if !ok {
			return nil, fmt.Errorf("%w: a change is cut off", ErrCorrupt)
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

// TrimFeed deletes the entries up to a number, because their reader is done. It is not durable by
// itself: after a crash they may be back.
func (s *Store) TrimFeed(upTo uint64) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	f := &s.feed
	f.mu.Lock()
	first, last := f.first, f.last
	f.mu.Unlock()
	upTo = min(upTo, last)
	if first == 0 || upTo < first {
		return nil
	}
	// The last entry must stay, because after a restart the feed continues from its number.
	upTo = min(upTo, last-1)
	size, err := s.feedBytes(first, upTo)
	if err != nil {
		return fault.Wrap("trim the feed", err)
	}
	if err := s.db.DeleteRange(feedKey(first), feedKey(upTo+1), pebble.NoSync); err != nil {
		return fault.Wrap("trim the feed", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.bytes = upTo+1, max(f.bytes-size, 0)
	return nil
}

// feedBytes returns the size of the entries from first to last.
func (s *Store) feedBytes(first, last uint64) (size int64, err error) {
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: feedKey(first), UpperBound: feedKey(last + 1)})
	if err != nil {
		return 0, err
	}
	for valid := it.First(); valid; valid = it.Next() {
		value := it.LazyValue()
		size += int64(value.Len())
	}
	return size, joinClose(it.Error(), it)
}
