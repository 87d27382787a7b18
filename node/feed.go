package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// This file is the feed: what commits have changed of the triples with some
// predicates, for those who keep something that is made from them. A commit's
// entry enters the database in the commit's own batch, so that no change is
// missed whenever the process ends.

// ChangeKind tells what became of a triple.
type ChangeKind uint8

const (
	// ChangeAdded is a triple that is there.
	ChangeAdded ChangeKind = iota + 1
	// ChangeDeleted is one that is there no more.
	ChangeDeleted
	// ChangeNoted is one whose annotations changed.
	ChangeNoted
	// ChangeAny stands for more than is told one by one: a bulk load, a cleared
	// graph, a feed that nobody has read for too long. It has no key.
	ChangeAny
)

// Change is one change in the feed.
type Change struct {
	Kind ChangeKind
	// Key is the triple's key in POS.
	Key []byte
	// Value is its version's value, with its long terms; of ChangeAdded only.
	Value []byte
}

const (
	feedPrefix = "feed/"
	// maxFeedBytes bounds what the feed keeps for a reader that does not come.
	maxFeedBytes = 64 << 20
	// maxEntryBytes bounds one commit's entry.
	maxEntryBytes = 16 << 20
)

func feedKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(localKey(feedPrefix), number)
}

// feed writes entries. It is off where no predicate is named. It is guarded by
// Store.commitMu, but for what mu guards.
type feed struct {
	prefixes [][]byte // Pebble keys of POS begin so
	most     int64    // maxFeedBytes, but for tests
	entry    []byte
	recent   recent

	mu      sync.Mutex
	last    uint64 // number of the last entry; 0: there was none
	first   uint64 // of the first one that is kept; last+1 where there is none
	bytes   int64  // of those kept
	changed chan struct{}
}

// rowFeeding holds the predicates that are watched, one after the other as terms.
var rowFeeding = localKey("feeding")

// init reads where the feed is. Where others were watched before, or none, it begins
// with a ChangeAny.
func (f *feed) init(s *Store) error {
	f.changed, f.most = make(chan struct{}), maxFeedBytes
	var watching []byte
	for _, iri := range s.options.Feed {
		term, _ := triple.AppendTerm([]byte{tableStorage, byte(triple.POS)}, triple.NewIRI(iri))
		f.prefixes = append(f.prefixes, append(term, 0x00, 0x01))
		watching = append(watching, f.prefixes[len(f.prefixes)-1][2:]...)
	}
	if err := f.readEntries(s); err != nil || s.options.ReadOnly {
		return err
	}
	f.recent.forget(f.last)
	before, err := s.get(rowFeeding)
	if err != nil || bytes.Equal(before, watching) {
		return err
	}
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
	if err := s.apply(batch); err != nil {
		return err
	}
	done()
	return nil
}

func (f *feed) readEntries(s *Store) error {
	lower, upper := localBounds(feedPrefix)
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

// overlaps reports whether some of the keys from lower up to upper may be of such
// triples.
func (f *feed) overlaps(lower, upper []byte) bool {
	for _, p := range f.prefixes {
		end := append(bytes.Clone(p[:len(p)-1]), p[len(p)-1]+1)
		if bytes.Compare(lower, end) < 0 && bytes.Compare(p, upper) < 0 {
			return true
		}
	}
	return false
}

// note appends the entry of a batch to it, where it has changed something. done is
// to be called when the batch has been committed.
func (f *feed) note(batch *pebble.Batch) (done func(), err error) {
	if len(f.prefixes) == 0 || batch.Empty() {
		return func() {}, nil
	}
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
	if any {
		f.recent.forget(f.last + 1)
		f.entry = append(f.entry[:0], byte(ChangeAny))
	}
	if len(f.entry) == 0 {
		return func() {}, nil
	}
	return f.write(batch)
}

// appendChange appends the change that a row tells of, key and value without the
// table's byte.
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

// write appends the entry at hand to a batch. Where more is kept than may be, all
// of it makes way for one ChangeAny.
func (f *feed) write(batch *pebble.Batch) (done func(), err error) {
	f.mu.Lock()
	number, first, kept := f.last+1, f.first, f.bytes+int64(len(f.entry))
	f.mu.Unlock()
	if first == 0 {
		first = number
	}
	if kept > f.most {
		lower, _ := localBounds(feedPrefix)
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

// any returns the key of an entry that is a ChangeAny, nil where the feed is off,
// and what to call when it is in the database.
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

// moved takes that an entry is there.
func (f *feed) moved(number, first uint64, kept int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last, f.first, f.bytes = number, first, kept
	close(f.changed)
	f.changed = make(chan struct{})
}

// FeedEnd returns the number of the feed's last entry, 0 where it never had one,
// and a channel that is closed when there is another one.
func (s *Store) FeedEnd() (last uint64, more <-chan struct{}) {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.last, s.feed.changed
}

// ReadFeed calls do with the entries of the feed whose numbers are greater than
// after, in order: the changes of one commit after the other. What do gets is valid
// until it returns. Where entries after that number are not kept any more, the first
// one is a ChangeAny.
func (s *Store) ReadFeed(ctx context.Context, after uint64, do func(number uint64, changes []Change) error) error {
	if err := s.uses.begin(); err != nil {
		return wrap("read the feed", err)
	}
	defer s.uses.end()
	s.feed.mu.Lock()
	first, last := s.feed.first, s.feed.last
	s.feed.mu.Unlock()
	if first == 0 || after >= last {
		return nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: feedKey(after + 1), UpperBound: feedKey(last + 1)})
	if err != nil {
		return wrap("read the feed", err)
	}
	err = readFeed(ctx, it, after, do)
	return wrap("read the feed", joinClose(err, it))
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

// parseChanges appends the changes of an entry, which share memory with it.
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

// TrimFeed forgets the entries up to a number, which their reader needs no more.
// It is not durable by itself: after a crash they may be there again.
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
	// The last entry stays: by its number the feed goes on after a restart.
	upTo = min(upTo, last-1)
	size, err := s.feedBytes(first, upTo)
	if err != nil {
		return wrap("trim the feed", err)
	}
	if err := s.db.DeleteRange(feedKey(first), feedKey(upTo+1), pebble.NoSync); err != nil {
		return wrap("trim the feed", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first, f.bytes = upTo+1, max(f.bytes-size, 0)
	return nil
}

// feedBytes returns how much is in the entries from first to last.
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
