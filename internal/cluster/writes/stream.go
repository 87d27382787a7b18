// Streams: batches on their way to one holder.

package writes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// part is the operations of a batch for one holder.
type part struct {
	batch      *batch
	number     uint64
	operations []replica.Operation
	size       int64
}

// stream sends batches to one holder, by ascending number. The holder may be this machine. The
// stream ends with its era.
type stream struct {
	writes *Writes
	era    *era
	to     trie.MachineID
	wake   chan struct{} // holds a token if there may be something to send
	// witness is true if the holder also gets the last answers of all holders.
	witness bool

	// Guarded by Writes.mu.
	parts []part
	told  uint64    // Writes.changes at the last report that the holder has
	full  bool      // the disk of the holder is full
	since time.Time // first try of the message under way; zero if there is none
}

// message is a delivery and its parts. If parts is empty, it only reports committed batches.
type message struct {
	parts      []part
	operations []replica.Operation
}

// messageBytes is about the maximum size of a message. A single part may exceed it.
const messageBytes = 4 << 20

// Pauses between two tries to send a message.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// put adds a part. The caller holds mu.
func (s *stream) put(p part) {
	s.parts = append(s.parts, p)
	signal(s.wake)
}

// run sends until the era ends.
func (s *stream) run() {
	for {
		m, ok := s.next()
		if !ok || !s.send(m) {
			return
		}
	}
}

// next returns the next message: the waiting parts or, after Options.Heartbeat, a report alone.
func (s *stream) next() (message, bool) {
	w := s.writes
	var due <-chan time.Time // set while a report waits for parts
	for {
		w.mu.Lock()
		if len(s.parts) > 0 {
			m := s.take()
			w.mu.Unlock()
			return m, true
		}
		untold := s.told < w.changes
		w.mu.Unlock()
		if untold && due == nil {
			timer := time.NewTimer(w.options.Heartbeat)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-s.wake:
		case <-due:
			return message{}, true
		case <-s.era.ctx.Done():
			return message{}, false
		}
	}
}

// take makes one message of the waiting parts, up to messageBytes. The caller must hold mu.
func (s *stream) take() message {
	n, size, count := 0, int64(0), 0
	for _, p := range s.parts {
		if n > 0 && size+p.size > messageBytes {
			break
		}
		n++
		size += p.size
		count += len(p.operations)
	}
	m := message{parts: s.parts[:n:n], operations: s.parts[0].operations}
	if n > 1 {
		m.operations = make([]replica.Operation, 0, count)
		for _, p := range m.parts {
			m.operations = append(m.operations, p.operations...)
		}
	}
	s.parts = s.parts[n:]
	if len(s.parts) == 0 {
		s.parts = nil
	}
	return m
}

// send sends m until the holder has it. It returns false if the era ends first.
func (s *stream) send(m message) bool {
	w := s.writes
	// since is set over all tries, because Slow must find a holder if it does not answer.
	w.mu.Lock()
	s.since = time.Now()
	w.mu.Unlock()
	pause := firstPause
	for {
		told, err := s.try(m)
		if err == nil {
			w.mu.Lock()
			s.told, s.full, s.since = max(s.told, told), false, time.Time{}
			w.mu.Unlock()
			if len(m.parts) > 0 {
				w.answered(s, m.parts)
			}
			return true
		}
		if s.era.ctx.Err() != nil {
			return false
		}
		// A full disk is recorded, because new operations for it must be refused.
		w.stats.retries.Add(1)
		if errors.Is(err, store.ErrDiskFull) {
			w.mu.Lock()
			s.full = true
			w.mu.Unlock()
		}
		if !sleep(s.era.ctx, jitter(pause)) {
			return false
		}
		pause = min(2*pause, lastPause)
	}
}

// try sends m once. It returns the count of committed batches in the message's report.
func (s *stream) try(m message) (told uint64, err error) {
	w := s.writes
	// 1. The report of committed batches, as of now.
	w.mu.Lock()
	settled := w.settlement(s.witness)
	w.mu.Unlock()
	told = settled.changes
	local := s.to == w.self.Machine
	if len(m.parts) == 0 && local {
		w.store.Settle(settled.upTo, settled.open, settled.acks)
		return told, nil
	}
	ctx, cancel := context.WithTimeout(s.era.ctx, w.options.Attempt)
	defer cancel()
	// 2. Without parts the message is a watermark.
	if len(m.parts) == 0 {
		body, err := w.member.Call(ctx, s.to, methodWatermark, peer.Encode(settled.size(), settled.fields))
		if err != nil {
			return 0, err
		}
		var room store.Room
		if err := peer.Decode(body, func(c *peer.Coder) { peer.Byte(c, &room) }); err != nil {
			return 0, err
		}
		w.setRoom(s.to, room)
		return told, nil
	}
	// 3. With parts it is a delivery. Its answer has the room of the holder.
	d := &replica.Delivery{Origin: settled.upTo, Settled: settled.upTo.Batch, Open: settled.open, Acks: settled.acks, Operations: m.operations}
	d.Origin.Batch = m.parts[len(m.parts)-1].number
	for _, p := range m.parts {
		d.Parts = append(d.Parts, replica.Part{Batch: p.number, Operations: len(p.operations)})
	}
	if local {
		return told, w.deliver(ctx, s.era.view.Epoch, d)
	}
	body, err := w.member.Call(ctx, s.to, MethodDeliver, encodeDelivery(s.era.view.Epoch, d))
	if err != nil {
		return 0, err
	}
	var a delivered
	if err := peer.Decode(body, a.fields); err != nil {
		return 0, err
	}
	w.setRoom(s.to, store.Room(a.room))
	if a.outcome == diskFull {
		return 0, fmt.Errorf("machine %s: %w", s.to, store.ErrDiskFull)
	}
	return told, nil
}

// handleWatermark answers writes/watermark.
func (w *Writes) handleWatermark(_ context.Context, body []byte) ([]byte, error) {
	var s settlement
	if err := peer.Decode(body, s.fields); err != nil {
		return nil, malformed(err)
	}
	if v := w.member.View(); v == nil || !alive(v, s.upTo) {
		return nil, peer.Refuse(peer.CodeStranger, 0, "machine %s is no member in incarnation %d", s.upTo.Sequencer, s.upTo.Incarnation)
	}
	w.store.Settle(s.upTo, s.open, s.acks)
	return []byte{byte(w.store.Room())}, nil
}

// sleep returns false if ctx ends before the pause.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns a random duration from d/2 to d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }
