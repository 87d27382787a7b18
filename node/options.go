package node

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/memory"
)

// Options are the parameters of [Open]. The zero value is ready to use.
type Options struct {
	// ReadOnly opens an existing store and refuses writes.
	ReadOnly bool
	// Member opens a directory that belongs to a member of a cluster; without it
	// that is [ErrMember]. Whoever sets it is that member, or looks at one
	// machine's part alone, as a check does.
	Member bool
	// MaxSegmentBytes is the size on disk beyond which a segment is split; 0 is
	// 256 MiB.
	MaxSegmentBytes int64
	// CacheBytes is the size of the cache of table blocks; 0 is an eighth of
	// memory, from 16 MiB to 4 GiB.
	CacheBytes int64
	// MemTableBytes is the size at which rows in memory are written to a table;
	// 0 is a 32nd of memory, from 4 to 64 MiB. Up to four are in memory at a time. It is no
	// more than a sixteenth of the disk's watermark, or 4 MiB.
	MemTableBytes int64
	// MinFreeBytes is the watermark of free space on the disk, below which writes
	// are refused; 0 is a fiftieth of the disk, from 64 MiB to 2 GiB, and a
	// negative value is none.
	MinFreeBytes int64
	// QueueBytes bounds the writes that wait for the committer; 0 is a 32nd of
	// memory, from 8 to 64 MiB.
	QueueBytes int64
	// WriteTimeout bounds how long a write that has begun waits for the disk
	// before it is [ErrUnknown]; 0 is a minute.
	WriteTimeout time.Duration
	// Version is the program's, for [Status] and backups.
	Version string
	// Logger takes what the store has to say; nil is nobody.
	Logger *slog.Logger
	// OnFatal, where set, is called once, in a goroutine of its own, when a write
	// or sync has failed for good: the process had better end, since what the disk
	// holds is known only after the store has been opened anew.
	OnFatal func(error)
	// Feed names predicates, by their IRIs, whose changes are kept for
	// [Store.ReadFeed] while the store is alone.
	Feed []string
	// CountChanges has [Store.ChangeCount] tell changes, for 4 MiB of memory.
	CountChanges bool
	// Journal names predicates, by their IRIs; [Store.Journal] tells operations on their
	// triples, and [Store.JournalChanges] counts them.
	Journal []string
	// JournalBytes bounds the operations that are kept for [Store.Journal]: the oldest go
	// first. 0 is 64 MiB; with less than 0 they are counted only.
	JournalBytes int64
	// FS is the file system; nil is the disk.
	FS vfs.FS
}

// Limits of options.
const (
	minMemTableBytes   = 64 << 10
	maxMemTableBytes   = 1 << 30
	smallMemTable      = 4 << 20
	defaultSegment     = 256 << 20
	defaultWriteExpiry = time.Minute
)

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case o.MaxSegmentBytes < 0:
		return fmt.Errorf("%w: MaxSegmentBytes is %d", ErrInvalid, o.MaxSegmentBytes)
	case o.CacheBytes < 0:
		return fmt.Errorf("%w: CacheBytes is %d", ErrInvalid, o.CacheBytes)
	case o.QueueBytes < 0:
		return fmt.Errorf("%w: QueueBytes is %d", ErrInvalid, o.QueueBytes)
	case o.WriteTimeout < 0:
		return fmt.Errorf("%w: WriteTimeout is %s", ErrInvalid, o.WriteTimeout)
	case o.MemTableBytes != 0 && (o.MemTableBytes < minMemTableBytes || o.MemTableBytes > maxMemTableBytes):
		return fmt.Errorf("%w: MemTableBytes is %d, not %d to %d", ErrInvalid, o.MemTableBytes, minMemTableBytes, maxMemTableBytes)
	}
	return nil
}

// withDefaults puts the default in every field that is zero, but for
// MinFreeBytes, which depends on the disk.
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
