// The options of a store.

package store

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
)

// Options are the parameters of [Open]. The zero value is ready to use.
type Options struct {
	// ReadOnly opens an existing store and rejects writes.
	ReadOnly bool
	// Member opens the directory of a cluster member; without it, Open returns [ErrMember]. It
	// must be set only by that member, or to inspect one machine's part, as a check does.
	Member bool
	// MaxSegmentBytes is the size on disk above which a segment is split; 0 is 256 MiB.
	MaxSegmentBytes int64
	// CacheBytes is the size of the cache of table blocks; 0 is an eighth of memory, from 16 MiB
	// to 4 GiB.
	CacheBytes int64
	// MemTableBytes is the size at which rows in memory are written to a table; 0 is a 32nd of
	// memory, from 4 to 64 MiB. Up to four are in memory at a time. It is at most a sixteenth of
	// the disk's watermark, or 4 MiB.
	MemTableBytes int64
	// MinFreeBytes is the watermark of free space on the disk. Below it, writes are rejected. 0 is
	// a fiftieth of the disk, from 64 MiB to 2 GiB; a negative value is none.
	MinFreeBytes int64
	// QueueBytes limits the writes that wait for the committer; 0 is a 32nd of memory, from 8 to
	// 64 MiB.
	QueueBytes int64
	// WriteTimeout limits the wait of a begun write for the disk, before it returns [ErrUnknown];
	// 0 is a minute.
	WriteTimeout time.Duration
	// Version is the program's version, for [Status] and backups.
	Version string
	// Logger receives messages of the store; nil discards them.
	Logger *slog.Logger
	// OnFatal, if set, is called once, in its own goroutine, when a write or sync has failed for
	// good. The process should then end, because the contents of the disk are unknown until the
	// store is opened again.
	OnFatal func(error)
	// FeedRetention limits the change feed of a lone store, see [Store.Feed].
	FeedRetention changefeed.Retention
	// Watched lists predicates, by their IRIs. Their recent changes are kept in memory, for
	// Steps.Absent.
	Watched []string
	// ColumnBytes bounds the columns of a lone store in memory, see package columncache; 0 is none.
	ColumnBytes int64
	// FS is the file system; nil is the disk.
	FS vfs.FS
}

// Limits of options.
const (
	minMemTableBytes   = 64 << 10
	maxMemTableBytes   = 1 << 30
	defaultSegment     = 256 << 20
	defaultWriteExpiry = time.Minute
)

// Validate returns an error if an option is invalid.
func (o Options) Validate() error {
	switch {
	case o.MaxSegmentBytes < 0:
		return fmt.Errorf("%w: MaxSegmentBytes is %d", ErrInvalid, o.MaxSegmentBytes)
	case o.ColumnBytes < 0:
		return fmt.Errorf("%w: ColumnBytes is %d", ErrInvalid, o.ColumnBytes)
	case o.CacheBytes < 0:
		return fmt.Errorf("%w: CacheBytes is %d", ErrInvalid, o.CacheBytes)
	case o.QueueBytes < 0:
		return fmt.Errorf("%w: QueueBytes is %d", ErrInvalid, o.QueueBytes)
	case o.WriteTimeout < 0:
		return fmt.Errorf("%w: WriteTimeout is %s", ErrInvalid, o.WriteTimeout)
	case o.FeedRetention.Validate() != nil:
		return fmt.Errorf("%w: FeedRetention: %w", ErrInvalid, o.FeedRetention.Validate())
	case o.MemTableBytes != 0 && (o.MemTableBytes < minMemTableBytes || o.MemTableBytes > maxMemTableBytes):
		return fmt.Errorf("%w: MemTableBytes is %d, not %d to %d", ErrInvalid, o.MemTableBytes, minMemTableBytes, maxMemTableBytes)
	}
	return nil
}

// withDefaults sets the default in every zero field, except MinFreeBytes, because that depends on
// the disk.
func (o Options) withDefaults() Options {
	if o.MaxSegmentBytes == 0 {
		o.MaxSegmentBytes = defaultSegment
	}
	shares := memory.Divide(memory.Available())
	if o.CacheBytes == 0 {
		o.CacheBytes = shares.Cache
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = shares.MemTable
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = shares.Queue
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = defaultWriteExpiry
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	return o
}
