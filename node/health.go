package node

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// health is what is known of the disk under a store. Its zero value is healthy
// once closing and log are set.
type health struct {
	log     *slog.Logger
	onFatal func(error)
	closing chan struct{} // closed when the store closes

	failOnce sync.Once
	failure  atomic.Pointer[error] // the first error after which nothing may be written
	failed   chan struct{}         // closed with it

	full        atomic.Bool // the last flush or compaction found the disk full
	retrying    atomic.Bool // the last flush or compaction failed
	corruptions atomic.Int64
}

func newHealth(o Options) health {
	return health{log: o.Logger, onFatal: o.OnFatal, closing: make(chan struct{}), failed: make(chan struct{})}
}

// fail records an error after which it is not known what the disk holds.
func (h *health) fail(err error) {
	h.failOnce.Do(func() {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
		h.failure.Store(&err)
		close(h.failed)
		h.log.Error("the store takes no more writes", "error", err)
		if h.onFatal != nil {
			go h.onFatal(err)
		}
	})
}

// err returns the error that ended writes, nil where they go on.
func (h *health) err() error {
	if p := h.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// backgroundError takes the error of a flush or compaction, which Pebble tries
// again and again.
func (h *health) backgroundError(err error) {
	h.retrying.Store(true)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		h.full.Store(true)
	}
	h.log.Error("background error", "error", err)
}

// recovered takes that a flush or compaction has succeeded.
func (h *health) recovered() {
	h.retrying.Store(false)
	h.full.Store(false)
}

// guardedFS is the file system that Pebble works on. Pebble repeats a failed
// flush at once and for ever; new files are held up a little while it does, and
// refused after a failure that is for good.
type guardedFS struct {
	vfs.FS
	health *health
}

const retryPause = 100 * time.Millisecond

// Create implements [vfs.FS]. Pebble calls it without holding locks.
func (g guardedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	err := g.health.err()
	if err != nil || g.health.retrying.Load() {
		pause := time.NewTimer(retryPause)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-g.health.closing:
		}
	}
	if err != nil {
		return nil, err
	}
	return g.FS.Create(name, category)
}

// Unwrap implements [vfs.FS].
func (g guardedFS) Unwrap() vfs.FS { return g.FS }
