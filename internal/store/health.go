// The health of a store: errors of its disk.

package store

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// health records the errors of a store's disk. Its zero value is healthy when closing and log are
// set.
type health struct {
	log     *slog.Logger
	onFatal func(error)
	closing chan struct{} // closed when the store closes
	opening atomic.Bool   // Open has not returned

	failOnce sync.Once
	failure  atomic.Pointer[error] // the first error after which nothing may be written
	failed   chan struct{}         // closed with it

	full        atomic.Bool  // the last flush or compaction found the disk full
	retrying    atomic.Bool  // the last flush or compaction failed
	reported    atomic.Int64 // when an error of a flush or compaction was last logged, in Unix nanoseconds
	corruptions atomic.Int64
}

// backgroundReport is the time between logged errors of flushes and compactions, because Pebble
// repeats them.
const backgroundReport = time.Minute

func (h *health) init(o Options) {
	h.log, h.onFatal, h.closing, h.failed = o.Logger, o.OnFatal, make(chan struct{}), make(chan struct{})
	h.opening.Store(true)
}

// fail records an error after which the contents of the disk are unknown.
func (h *health) fail(err error) {
	h.failOnce.Do(func() {
		opening := h.opening.Load()
		if !opening || !isFull(err) { // Open describes a full disk
			if isFull(err) {
				err = fmt.Errorf("%w: %w", ErrDiskFull, err)
			}
			err = fmt.Errorf("%w: %w", ErrFailed, err)
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

// NoteDamage counts a row that cannot be decoded, like a corrupt table: the store is damaged from
// then on. See Status.Corruptions.
func (s *Store) NoteDamage() { s.health.corruptions.Add(1) }

// backgroundError records the error of a flush or compaction. Pebble repeats these forever. But
// Open waits for a flush of the log's rows, so a full disk must end Open.
func (h *health) backgroundError(err error) {
	if isFull(err) && h.opening.Load() {
		h.fail(err)
		return
	}
	h.retrying.Store(true)
	if isFull(err) {
		h.full.Store(true)
	}
	last, now := h.reported.Load(), time.Now().UnixNano()
	if now-last >= int64(backgroundReport) && h.reported.CompareAndSwap(last, now) {
		h.log.Error("a flush or compaction failed; it is repeated until it succeeds", "error", err.Error())
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

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
