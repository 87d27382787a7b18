// The log of a store: opening it, its bounds, and the consumers that wait for more.

package changefeed

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Names of rows of local state.
const (
	logPrefix   = "changes/log/"
	blockPrefix = "changes/block/"
)

var (
	rowBegin  = keyspace.LocalKey("changes/begin")
	rowSource = keyspace.LocalKey("changes/source")
)

// Options are the parameters of [Open].
type Options struct {
	Retention Retention
	// Watched lists predicates, by their IRIs, whose recent changes are kept in memory for
	// [Feed.StillAbsent].
	Watched []string
	// UUID identifies the data directory. If it has changed, positions of before are invalid.
	UUID directory.UUID
	// NewSource makes positions of before invalid, because the directory is a copy of the past.
	NewSource bool
	// Last is a stamp that no earlier change exceeds.
	Last triple.Stamp
	// Commits is the lock of commits. A consistent read waits for it, because readers see a commit before
	// it is durable and in the feed. If it is nil, nobody commits meanwhile.
	Commits sync.Locker
	// Now returns the time; nil is time.Now.
	Now func() time.Time
}

// Feed is the log of a store. It implements [feed.Source]. The methods of commits are Begin, Load,
// StillAbsent and the ones of a [Commit]: their caller must hold the lock of commits. The others are
// safe for concurrent use.
type Feed struct {
	db        *database.Database
	commits   sync.Locker
	retention Retention
	now       func() time.Time
	source    uint64
	retired   chan struct{} // closed by Retire
	retire    sync.Once

	// These belong to commits.
	encoder Encoder
	watched [][]byte // prefixes of Pebble keys in POS
	recent  recent
	blocks  []block      // closed ones, from the oldest
	newest  block        // the one that grows; zero if it has no row
	trimmed triple.Stamp // position up to which rows are deleted

	mu    sync.Mutex
	begin mark             // changes up to it are not in the log, or will soon not be
	end   triple.Stamp     // position of the last change, or begin's
	more  notify.Broadcast // the end moves
	size  int64            // bytes of all blocks; only commits change it
	added int64            // bytes since the log was opened
}

// logKey returns the key of a row of the log.
func logKey(at triple.Stamp, part uint32) []byte {
	return binary.BigEndian.AppendUint32(stampKey(logPrefix, at), part)
}

// RowBounds returns the bounds of all rows of the log, for an iterator.
func RowBounds() *pebble.IterOptions {
	lower, upper := keyspace.LocalBounds(logPrefix)
	return &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
}

func stampKey(prefix string, at triple.Stamp) []byte {
	key := append(make([]byte, 0, 40), keyspace.Local)
	key = binary.BigEndian.AppendUint64(append(key, prefix...), at.Epoch)
	return binary.BigEndian.AppendUint64(key, at.Sequence)
}

// parseStampKey reads the stamp of a key, which has rest more bytes.
func parseStampKey(prefix string, key []byte, rest int) (triple.Stamp, error) {
	at := 1 + len(prefix)
	if len(key) != at+16+rest {
		return triple.Stamp{}, fmt.Errorf("%w: the key of a row of the change feed: % X", fault.ErrCorrupt, keyspace.Clip(key))
	}
	return triple.Stamp{Epoch: binary.BigEndian.Uint64(key[at:]), Sequence: binary.BigEndian.Uint64(key[at+8:])}, nil
}

// nextStamp returns the least stamp above s in its epoch.
func nextStamp(s triple.Stamp) triple.Stamp {
	return triple.Stamp{Epoch: s.Epoch, Sequence: s.Sequence + 1}
}

// Open returns the log of an opened database.
func Open(db *database.Database, o Options) (*Feed, error) {
	f := &Feed{db: db, commits: o.Commits, retention: o.Retention.WithDefaults(), now: o.Now, retired: make(chan struct{})}
	if f.now == nil {
		f.now = time.Now
	}
	for _, iri := range o.Watched {
		term, _ := triple.AppendTerm([]byte{keyspace.Storage, byte(triple.POS)}, triple.NewIRI(iri))
		f.watched = append(f.watched, append(term, 0x00, 0x01))
	}
	if err := f.open(&o); err != nil {
		return nil, fmt.Errorf("open the change feed: %w", err)
	}
	f.recent.forget(f.end.Sequence)
	return f, nil
}

func (f *Feed) open(o *Options) error {
	// 1. Prepare what a new log needs.
	batch := f.db.NewBatch()
	defer batch.Close()
	if err := f.openSource(batch, o); err != nil {
		return err
	}
	if err := f.openBegin(batch, o); err != nil {
		return err
	}
	if !batch.Empty() && !f.db.ReadOnly {
		if err := f.db.Commit(batch, true); err != nil {
			return err
		}
	}
	// 2. Read the closed blocks, then the rows after them: they are the newest block.
	f.end, f.trimmed = f.begin.Stamp, f.begin.Stamp
	err := f.db.EachLocal(blockPrefix, func(key, value []byte) (err error) {
		d := decoder{rest: value}
		b := block{bytes: int64(d.uvarint()), ends: time.UnixMilli(int64(d.uvarint()))}
		if b.last, err = parseStampKey(blockPrefix, key, 0); err == nil && (d.failed || len(d.rest) > 0) {
			err = keyspace.LocalError(value)
		}
		if b.last.Compare(f.begin.Stamp) <= 0 {
			return err // a log that begins anew, and is only read
		}
		f.blocks = append(f.blocks, b)
		f.end, f.size = b.last, f.size+b.bytes
		return err
	})
	if err != nil {
		return err
	}
	return f.openNewest()
}

// openNewest reads the rows after the closed blocks.
func (f *Feed) openNewest() error {
	_, upper := keyspace.LocalBounds(logPrefix)
	it, err := f.db.NewIter(&pebble.IterOptions{LowerBound: logKey(nextStamp(f.end), 0), UpperBound: upper})
	if err != nil {
		return err
	}
	for valid := it.First(); valid && err == nil; valid = it.Next() {
		err = f.countRow(it)
	}
	return errors.Join(err, it.Error(), it.Close())
}

func (f *Feed) countRow(it *pebble.Iterator) error {
	at, err := parseStampKey(logPrefix, it.Key(), 4)
	if err != nil {
		return err
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	row, err := DecodeRow(value)
	if err != nil {
		return err
	}
	size := int64(len(it.Key()) + len(value))
	f.newest.add(at, size, row.Time)
	f.end, f.size = at, f.size+size
	return nil
}

// add adds rows to a block.
func (b *block) add(last triple.Stamp, bytes int64, at time.Time) {
	if b.bytes == 0 {
		b.first = at
	}
	b.last, b.bytes, b.ends = last, b.bytes+bytes, at
}

// openSource reads the source of positions, or makes a new one. If the UUID has changed, the
// directory is a copy. Its positions must differ from the ones of the original.
func (f *Feed) openSource(batch *pebble.Batch, o *Options) error {
	value, err := f.db.Value(rowSource)
	if err != nil {
		return err
	}
	if value != nil && len(value) != 8+len(o.UUID) {
		return keyspace.LocalError(value)
	}
	if value == nil || o.NewSource || string(value[8:]) != string(o.UUID[:]) {
		value = make([]byte, 8, 8+len(o.UUID))
		rand.Read(value) // never fails
		value = append(value, o.UUID[:]...)
		if err := batch.Set(rowSource, value, nil); err != nil {
			return err
		}
	}
	f.source = binary.BigEndian.Uint64(value)
	return nil
}

// openBegin reads the end of the trimmed part. A new log begins after the last stamp in use.
func (f *Feed) openBegin(batch *pebble.Batch, o *Options) error {
	value, err := f.db.Value(rowBegin)
	if err != nil {
		return err
	}
	if value != nil {
		f.begin, err = parseMark(value)
		return err
	}
	f.begin = mark{o.Last, f.now(), reasonNew}
	return batch.Set(rowBegin, f.begin.append(nil), nil)
}

// End returns the sequence of the last position. The channel is closed when the next change comes.
func (f *Feed) End() (last uint64, more <-chan struct{}) {
	at, more := f.wait()
	return at.Sequence, more
}

func (f *Feed) wait() (triple.Stamp, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.end, f.more.Next()
}

// moved records a new end, and wakes the consumers that wait for it.
func (f *Feed) moved(end triple.Stamp, size, added int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end, f.size = end, size
	f.added += added
	f.more.Send()
}

// Retire says that no change follows, because the store has become part of a cluster. Consumers get
// all changes, and then [fault.ErrMember].
func (f *Feed) Retire() { f.retire.Do(func() { close(f.retired) }) }

// SourceID returns the source of the positions.
func (f *Feed) SourceID() uint64 { return f.source }

// Retention returns the limits of the log.
func (f *Feed) Retention() Retention { return f.retention }

// Size returns the bytes in the log, and the bytes added since it was opened. Rows are compressed on
// disk, so they take less there.
func (f *Feed) Size() (kept, added int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size, f.added
}

// At returns the position of a sequence.
func (f *Feed) At(sequence uint64) feed.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.position(triple.Stamp{Epoch: f.end.Epoch, Sequence: sequence})
}

func (f *Feed) position(at triple.Stamp) feed.Position {
	p := feed.Position{Source: f.source, Epoch: at.Epoch}
	if at.Sequence > 0 {
		p.Marks = []feed.Mark{{Sequence: at.Sequence}}
	}
	return p
}
