package node

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
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
		if isFull(err) {
			err = fmt.Errorf("%w: %w", ErrDiskFull, err)
		}
		err = fmt.Errorf("%w: %w", ErrFailed, err)
		h.failure.Store(&err)
		close(h.failed)
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
	if isFull(err) {
		h.full.Store(true)
	}
	h.log.Error("background error", "error", err)
}

// recovered takes that a flush or compaction has succeeded.
func (h *health) recovered() {
	h.retrying.Store(false)
	h.full.Store(false)
}

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
