// Outboxes: sending the rows of a backfill to one machine.

package backfill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/trie"
)

// outbox collects a pass's rows for one machine. It sends them many at a time, and several
// messages at once.
type outbox struct {
	pass  *pass
	to    trie.MachineID
	rows  []replica.FillRow
	first position // of rows
	bytes int
	room  chan struct{} // has a token for each message on its way

	group   sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	flights []*flight  // from the first that has not arrived
	err     error
	calls   int       // calls without an answer
	silence time.Time // since when the machine has answered none of them
}

const (
	// MessageBytes is the size of one message: short, because writes wait while its
	// receiver applies it.
	MessageBytes  = 128 << 10
	maxMessages   = 3 // on their way to one machine at a time
	callTimeout   = 30 * time.Second
	maxRetryPause = 2 * time.Second
)

// flush sends the collected rows, and returns before they have arrived.
func (b *outbox) flush(ctx context.Context) error {
	// 1. Take the rows, and wait for room. Time spent waiting is no work of this shift.
	rows, size := b.rows, b.bytes
	if len(rows) == 0 {
		return nil
	}
	sent := &flight{first: b.first}
	b.mu.Lock()
	b.rows, b.bytes = nil, 0
	b.flights = append(b.flights, sent)
	b.mu.Unlock()
	b.pass.shift.Exclude(func() {
		select {
		case b.room <- struct{}{}:
		case <-ctx.Done():
		}
	})
	if ctx.Err() != nil { // the token is not returned, because no later message is sent
		return ctx.Err()
	}
	if err := b.failed(); err != nil {
		<-b.room
		return err
	}
	// 2. Send in the background. The token is kept while the receiver wants a pause.
	b.group.Go(func() {
		defer func() { <-b.room }()
		pause, err := b.deliver(ctx, rows)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.err = errors.Join(b.err, err)
			return
		}
		b.land(sent)
		retry.Sleep(ctx, pause)
	})
	if b.pass.planned { // no client waits for a planned move, so it must leave room for requests
		pause := time.Duration(float64(size) / float64(b.pass.filler.options.MoveRate) * float64(time.Second))
		b.pass.shift.Exclude(func() { retry.Sleep(ctx, pause) })
	}
	return nil
}

func (b *outbox) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// deliver sends one message until it has arrived or ctx ends. Rows may arrive twice. It returns
// how long to pause then. If a row is damaged, it is dropped, because no machine can take it. All
// other refusals pass with time, also if a disk is full.
func (b *outbox) deliver(ctx context.Context, rows []replica.FillRow) (pause time.Duration, err error) {
	f := b.pass.filler
	rest := retry.Backoff{First: retryPause, Last: maxRetryPause}
	for warned := false; ; {
		if pause, err = b.offer(ctx, rows); err == nil || ctx.Err() != nil {
			return pause, err
		}
		whole := len(rows)
		rows = slices.DeleteFunc(rows, func(r replica.FillRow) bool {
			err := f.store.CheckFill(&r)
			if err != nil {
				b.pass.damage(r.Table, r.Key, err)
			}
			return err != nil
		})
		if len(rows) < whole {
			continue
		}
		if !warned {
			warned = true
			f.log.Warn("a machine does not take rows of a backfill, trying again", "machine", b.to, "epoch", b.pass.view.Epoch, "error", err)
		}
		rest.Wait(ctx)
	}
}

// offer sends one message once.
func (b *outbox) offer(ctx context.Context, rows []replica.FillRow) (pause time.Duration, err error) {
	if f := b.pass.filler; b.to == f.gate.MachineID() {
		return f.apply(ctx, b.pass.view.Epoch, rows)
	}
	answer, err := b.call(ctx, MethodFill, EncodeRows(rows))
	if err != nil {
		return 0, err
	}
	return parsePause(answer)
}

// call sends a message until the machine answers or ctx ends. The next view ends ctx, because a
// dead machine must not be called for ever. The error is the one of ctx, or of the machine's
// answer.
func (b *outbox) call(ctx context.Context, method string, body []byte) ([]byte, error) {
	f := b.pass.filler
	b.begin()
	defer b.end()
	pause := retry.Backoff{First: retryPause, Last: maxRetryPause}
	for warned := false; ; {
		timed, cancel := context.WithTimeout(peer.WithEpoch(ctx, b.pass.view.Epoch), callTimeout)
		answer, err := f.peers.Call(timed, b.to, method, body)
		cancel()
		refusal, failure := (*peer.Refusal)(nil), (*peer.RemoteError)(nil)
		switch {
		case err == nil, errors.As(err, &refusal), errors.As(err, &failure):
			b.answered()
			return answer, err
		case ctx.Err() != nil:
			return nil, err
		}
		if !warned {
			warned = true
			f.log.Warn("a machine does not answer a backfill, trying again", "machine", b.to, "epoch", b.pass.view.Epoch, "error", err)
		}
		pause.Wait(ctx)
	}
}

func (b *outbox) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls == 0 {
		b.silence = time.Now()
	}
	b.calls++
}

func (b *outbox) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls--
}

func (b *outbox) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silence = time.Now()
}

// isOverdue reports whether the machine has owed answers for the given time.
func (b *outbox) isOverdue(after time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls > 0 && time.Since(b.silence) >= after
}

// finish waits until all rows have arrived, makes the machine sync them, and returns the
// machine's mark.
func (b *outbox) finish(ctx context.Context) (mark uint64, err error) {
	b.group.Wait()
	if err := b.failed(); err != nil {
		return 0, err
	}
	f := b.pass.filler
	if b.to == f.gate.MachineID() {
		return f.store.SyncFills(ctx)
	}
	answer, err := b.call(ctx, MethodSync, nil)
	if err != nil {
		return 0, fmt.Errorf("fill machine %s: %w", b.to, err)
	}
	d := peer.NewDecoder(answer)
	mark = d.Uvarint()
	return mark, d.End()
}

// flight is a message on its way.
type flight struct {
	first   position // of its rows
	arrived bool
}

// answeredUntil returns the position before which everything owed to the machine has arrived, if the pass
// has reached a position and no message is on its way any more.
func (b *outbox) answeredUntil(at position) position {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.flights {
		if !f.arrived {
			return f.first
		}
	}
	if len(b.rows) > 0 {
		return b.first
	}
	return at
}

// land records the arrival of a message, and drops the leading arrived ones.
func (b *outbox) land(f *flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.arrived = true
	for len(b.flights) > 0 && b.flights[0].arrived {
		b.flights = b.flights[1:]
	}
}
