// Sending the rows of a backfill to other machines.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/writes"
	"github.com/trefoildb/trefoil/trie"
)

// outbox collects the rows that a walk has for one machine and sends them, many
// at a time and some messages at once.
type outbox struct {
	walk  *walk
	to    trie.MachineID
	rows  []node.FillRow
	first position // of rows
	bytes int
	room  chan struct{} // holds a token for each message on its way

	group   sync.WaitGroup
	mu      sync.Mutex
	flights []*flight // from the first that has not arrived
	err     error
	calls   int       // that wait for an answer
	silence time.Time // since when the machine has answered none of them
}

const (
	fillBytes    = 128 << 10 // of one message: short, since writes wait while it is taken in
	fillMessages = 3         // on their way to one machine at a time
	fillAttempt  = 30 * time.Second
	fillPause    = 2 * time.Second // at most, between two tries
)

// send hands a row to the outbox of a machine, and waits while too much is on its
// way to it.
func (w *walk) send(ctx context.Context, to trie.MachineID, row node.FillRow) error {
	box := w.box(to)
	if len(box.rows) == 0 {
		box.first = w.at.clone()
	}
	box.rows = append(box.rows, row)
	box.bytes += len(row.Key) + len(row.Value)
	w.repaired.Add(1)
	if box.bytes < fillBytes {
		return nil
	}
	return box.flush(ctx)
}

// box returns the outbox of a machine.
func (w *walk) box(to trie.MachineID) *outbox {
	box := w.out[to]
	if box == nil {
		box = &outbox{walk: w, to: to, room: make(chan struct{}, fillMessages)}
		w.mu.Lock()
		w.out[to] = box
		w.mu.Unlock()
	}
	return box
}

// flush sends what there is, and returns before it has arrived.
func (b *outbox) flush(ctx context.Context) error {
	rows, size := b.rows, b.bytes
	if len(rows) == 0 {
		return nil
	}
	f := &flight{first: b.first}
	b.mu.Lock()
	b.rows, b.bytes = nil, 0
	b.flights = append(b.flights, f)
	b.mu.Unlock()
	b.walk.shift.idle(func() {
		select {
		case b.room <- struct{}{}:
		case <-ctx.Done():
		}
	})
	if ctx.Err() != nil { // a token that was taken is of no use to anybody
		return ctx.Err()
	}
	if err := b.failed(); err != nil {
		<-b.room
		return err
	}
	b.group.Go(func() {
		defer func() { <-b.room }()
		pause, err := b.deliver(ctx, rows)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.err = errors.Join(b.err, err)
			return
		}
		b.land(f)
		wait(ctx, pause)
	})
	if b.walk.planned { // what nobody waits for leaves room for what somebody does
		pause := time.Duration(float64(size) / float64(b.walk.node.cfg.MoveRate) * float64(time.Second))
		b.walk.shift.idle(func() { wait(ctx, pause) })
	}
	return nil
}

func (b *outbox) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// deliver sends one message until it has arrived or ctx ends: rows may arrive twice. It
// returns how long the machine wants to be left alone then. Rows that no machine can take
// are dropped: they are damaged. All other refusals pass, as a full disk does.
func (b *outbox) deliver(ctx context.Context, rows []node.FillRow) (pause time.Duration, err error) {
	n := b.walk.node
	for rest := workRetry; ; rest = min(2*rest, fillPause) {
		if pause, err = b.offer(ctx, rows); err == nil || ctx.Err() != nil {
			return pause, err
		}
		whole := len(rows)
		rows = slices.DeleteFunc(rows, func(r node.FillRow) bool {
			err := n.store.CheckFill(&r)
			if err != nil {
				b.walk.damage(r.Table, r.Key, err)
			}
			return err != nil
		})
		if len(rows) < whole {
			continue
		}
		if rest == workRetry {
			n.log.Warn("a machine does not take rows of a backfill, trying again", "machine", b.to, "epoch", b.walk.view.Epoch, "error", err)
		}
		wait(ctx, rest)
	}
}

// offer sends one message once.
func (b *outbox) offer(ctx context.Context, rows []node.FillRow) (pause time.Duration, err error) {
	if n := b.walk.node; b.to == n.self {
		return n.fillHere(ctx, b.walk.view.Epoch, rows)
	}
	answer, err := b.call(ctx, methodFill, encodeFill(rows))
	if err != nil {
		return 0, err
	}
	return parsePause(answer)
}

// call sends a message until the machine answers or ctx ends. The next view ends ctx, so
// a machine that is gone is not tried for ever. The error is ctx's, or that of the
// machine, which has then answered.
func (b *outbox) call(ctx context.Context, method string, body []byte) ([]byte, error) {
	n := b.walk.node
	b.begin()
	defer b.end()
	for pause := workRetry; ; pause = min(2*pause, fillPause) {
		timed, cancel := context.WithTimeout(peer.WithEpoch(ctx, b.walk.view.Epoch), fillAttempt)
		answer, err := n.Call(timed, b.to, method, body)
		cancel()
		refusal, failure := (*peer.Refusal)(nil), (*peer.RemoteError)(nil)
		switch {
		case err == nil, errors.As(err, &refusal), errors.As(err, &failure):
			b.answered()
			return answer, err
		case ctx.Err() != nil:
			return nil, err
		}
		if pause == workRetry {
			n.log.Warn("a machine does not answer a backfill, trying again", "machine", b.to, "epoch", b.walk.view.Epoch, "error", err)
		}
		wait(ctx, pause)
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

// owes reports whether the machine has owed answers for so long.
func (b *outbox) owes(after time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls > 0 && time.Since(b.silence) >= after
}

// slow returns the machines that have owed answers to the backfill for so long.
func (w *walk) slow(after time.Duration) (slow []trie.MachineID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for to, box := range w.out {
		if box.owes(after) {
			slow = append(slow, to)
		}
	}
	return slow
}

// finish waits until all has arrived and has the machine make it durable; it returns
// the machine's mark.
func (b *outbox) finish(ctx context.Context) (mark uint64, err error) {
	b.group.Wait()
	if err := b.failed(); err != nil {
		return 0, err
	}
	n := b.walk.node
	if b.to == n.self {
		return n.store.SyncFills(ctx)
	}
	answer, err := b.call(ctx, methodSync, nil)
	if err != nil {
		return 0, fmt.Errorf("fill machine %s: %w", b.to, err)
	}
	d := peer.NewDecoder(answer)
	mark = d.Uvarint()
	return mark, d.End()
}

// fillHere writes rows of a walk, and returns how long its sender is to pause then.
func (n *Node) fillHere(ctx context.Context, epoch uint64, rows []node.FillRow) (pause time.Duration, err error) {
	leave, err := n.Enter(epoch)
	if err != nil {
		return 0, err
	}
	defer leave()
	begun := n.cfg.Clock.Now()
	err = untilKnown(ctx, n.ctx, func(ctx context.Context) error { return n.store.Fill(ctx, rows) }, n.store.Drain)
	return n.pace.after(n.cfg.Clock.Now() - begun), err
}

// handleFill takes rows of a walk in this node's epoch. The answer is how long the
// sender is to pause, in microseconds.
func (n *Node) handleFill(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
	rows, err := parseFill(body)
	if err != nil {
		return nil, err
	}
	pause, err := n.fillHere(ctx, h.Epoch, rows)
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Uvarint(uint64(pause.Microseconds()))
	return e.Data(), nil
}

func parsePause(answer []byte) (time.Duration, error) {
	d := peer.NewDecoder(answer)
	pause := time.Duration(min(d.Uvarint(), uint64(paceLongest.Microseconds()))) * time.Microsecond
	return pause, d.End()
}

// handleSync makes all rows of walks durable and answers with the mark.
func (n *Node) handleSync(ctx context.Context, h peer.Header, _ []byte) ([]byte, error) {
	leave, err := n.Enter(h.Epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	mark, err := n.store.SyncFills(ctx)
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Uvarint(mark)
	return e.Data(), nil
}

// encodeFill encodes rows: a flag byte (1: unsettled) and the table, key and
// value; of an unsettled one its origin and operation.
func encodeFill(rows []node.FillRow) []byte {
	e := peer.NewEncoder(fillBytes + fillBytes/4)
	e.Uvarint(uint64(len(rows)))
	for i := range rows {
		r := &rows[i]
		e.Bool(r.Operation != nil)
		e.Byte(r.Table)
		e.Bytes(r.Key)
		e.Bytes(r.Value)
		if o := r.Operation; o != nil {
			e.Uint64(uint64(r.Unsettled.Sequencer))
			e.Uvarint(r.Unsettled.Incarnation)
			e.Uvarint(r.Unsettled.Batch)
			writes.EncodeOperation(e, o)
		}
	}
	return e.Data()
}

func parseFill(body []byte) ([]node.FillRow, error) {
	d := peer.NewDecoder(body)
	count := d.Count(4)
	rows := make([]node.FillRow, 0, count)
	for range count {
		unsettled := d.Bool()
		r := node.FillRow{Table: d.Byte(), Key: d.Bytes(), Value: d.Bytes()}
		if unsettled {
			r.Unsettled = node.Origin{Sequencer: trie.MachineID(d.Uint64()), Incarnation: d.Uvarint(), Batch: d.Uvarint()}
			o, err := writes.DecodeOperation(d)
			if err != nil {
				return nil, fmt.Errorf("rows of a walk: %w", err)
			}
			r.Operation = &o
		}
		rows = append(rows, r)
	}
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("rows of a walk: %w", err)
	}
	for _, r := range rows {
		if r.Table != node.TableStorage && r.Table != node.TableReplica {
			return nil, fmt.Errorf("rows of a walk: no table %d", r.Table)
		}
	}
	return rows, nil
}
