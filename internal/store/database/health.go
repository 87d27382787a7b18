// The health of a store: errors of its disk.

package database

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// health records the errors of a store's disk.
type health struct {
	log     *slog.Logger
	onFatal func(error)
	closing chan struct{} // closed when the store closes
	opening atomic.Bool   // the store's Open has not returned

	roomToCompact func() error // returns an error if a compaction must make no file; nil if each may

	failOnce sync.Once
	failure  atomic.Pointer[error] // the first error after which nothing may be written
	failed   chan struct{}         // closed with it

	full     atomic.Bool  // the last flush or compaction found the disk full
	retrying atomic.Bool  // the last flush or compaction failed
	unable   atomic.Int64 // since when all flushes have failed, in Unix nanoseconds; 0 if the last one did not
	reported atomic.Int64 // when an error of a flush or compaction was last logged, in Unix nanoseconds
}

// backgroundReport is the time between logged errors of flushes and compactions, because Pebble
// repeats them.
const backgroundReport = time.Minute

func (h *health) init(o *Options) {
	h.log, h.onFatal, h.closing, h.failed = o.Logger, o.OnFatal, make(chan struct{}), make(chan struct{})
	h.opening.Store(true)
}

// fail records an error after which the contents of the disk are unknown.
func (h *health) fail(err error) {
	h.failOnce.Do(func() {
		opening := h.opening.Load()
		if !opening || !fault.IsDiskFull(err) { // Open describes a full disk
			if fault.IsDiskFull(err) {
				err = fmt.Errorf("%w: %w", fault.ErrDiskFull, err)
			}
			err = fmt.Errorf("%w: %w", fault.ErrFailed, err)
		}
		h.failure.Store(&err)
		close(h.failed)
		if opening {
			return // Open returns the error
		}
		h.log.Error("the store takes no more writes", "error", err)
		if h.onFatal != nil && !h.isClosing() {
			go h.onFatal(err)
		}
	})
}

func (h *health) isClosing() bool {
	select {
	case <-h.closing:
		return true
	default:
		return false
	}
}

// err returns the error that ended writes, or nil.
func (h *health) err() error {
	if p := h.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// backgroundError records the error of a flush or compaction. Pebble repeats these forever. But
// Open waits for a flush of the log's rows, so a full disk must end Open.
func (h *health) backgroundError(err error) {
	if fault.IsDiskFull(err) && h.opening.Load() {
		h.fail(err)
		return
	}
	h.retrying.Store(true)
	if fault.IsDiskFull(err) {
		h.full.Store(true)
	}
	last, now := h.reported.Load(), time.Now().UnixNano()
	if now-last >= int64(backgroundReport) && h.reported.CompareAndSwap(last, now) {
		h.log.Error("a flush or compaction failed; it is repeated until it succeeds", "error", err.Error())
	}
}

// flushTimeout is how long flushes may fail before the store does.
const flushTimeout = 10 * time.Second

// flushed records the end of a flush. Pebble repeats a failed one forever, and writes wait for it. If the disk is
// full, they wait until there is room. If flushes fail for another reason, the store fails after [flushTimeout],
// because a writer could not learn of it otherwise.
func (h *health) flushed(err error) {
	if err == nil || fault.IsDiskFull(err) {
		h.unable.Store(0)
		return
	}
	now := time.Now().UnixNano()
	if h.unable.CompareAndSwap(0, now); now-h.unable.Load() >= int64(flushTimeout) {
		h.fail(fmt.Errorf("flushes have failed for %s: %w", flushTimeout, err))
	}
}

// recovered records that a flush or compaction has succeeded.
func (h *health) recovered() {
	if h.retrying.Swap(false) {
		h.reported.Store(0)
		h.log.Info("flushes and compactions succeed again")
	}
	h.full.Store(false)
}
