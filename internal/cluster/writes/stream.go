// Streams: batches on their way to one holder.

package writes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/tracing"
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
	flight *inFlight
	era    *era
	to     trie.MachineID
	wake   notify.Wake // if there may be something to send
	// witness is true if the holder also gets the last answers of all holders.
	witness bool

	// Guarded by inFlight.mu.
	parts    []part
	reported uint64    // number of commits in the reports that the holder has
	full     bool      // the disk of the holder is full
	since    time.Time // first try of the message under way; zero if there is none
}

// message is a delivery and its parts. If parts is empty, it only reports committed batches.
type message struct {
	parts      []part
	operations []replica.Operation
}

// origin returns the origin of the first part that has one, because a message has one origin.
func (m *message) origin() (o *tracing.Origin) {
	for _, p := range m.parts {
		o = cmp.Or(o, p.batch.origin)
	}
	return o
}

// messageBytes is about the maximum size of a message. A single part may exceed it.
const messageBytes = 4 << 20

// put adds a part. The caller holds mu.
func (s *stream) put(p part) {
	s.parts = append(s.parts, p)
	s.wake.Send()
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
	fl := s.flight
	var due <-chan time.Time // set while a report waits for parts
	for {
		fl.mu.Lock()
		if len(s.parts) > 0 {
			m := s.take()
			fl.mu.Unlock()
			return m, true
		}
		unreported := s.reported < fl.commits.count()
		fl.mu.Unlock()
		if unreported && due == nil {
			timer := time.NewTimer(fl.options.Heartbeat)
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
	fl := s.flight
	// since is set over all tries, because Slow must find a holder if it does not answer.
	fl.mu.Lock()
	s.since = time.Now()
	fl.mu.Unlock()
	pause := backoff()
	for {
		reported, err := s.try(m)
		if err == nil {
			fl.mu.Lock()
			s.reported, s.full, s.since = max(s.reported, reported), false, time.Time{}
			fl.mu.Unlock()
			if len(m.parts) > 0 {
				fl.answered(s, m.parts)
			}
			return true
		}
		if s.era.ctx.Err() != nil {
			return false
		}
		// A full disk is recorded, because new operations for it must be refused.
		fl.stats.retries.Add(1)
		if errors.Is(err, store.ErrDiskFull) {
			fl.mu.Lock()
			s.full = true
			fl.mu.Unlock()
		}
		if pause.Wait(s.era.ctx) != nil {
			return false
		}
	}
}

// try sends m once. It returns the number of commits by its report.
func (s *stream) try(m message) (reported uint64, err error) {
	fl := s.flight
	// 1. The report of committed batches, as of now.
	fl.mu.Lock()
	before := s.reported
	fl.mu.Unlock()
	report := fl.commitReport(s.witness, before)
	reported = report.commits
	local := s.to == fl.self.Machine
	if len(m.parts) == 0 && local {
		fl.store.RecordCommitted(report.upTo, report.open, report.acks, report.ticks)
		return reported, nil
	}
	ctx, cancel := context.WithTimeout(m.origin().Context(s.era.ctx), fl.options.Attempt)
	defer cancel()
	// 2. Without parts the message is a watermark.
	if len(m.parts) == 0 {
		body, err := fl.member.Call(ctx, s.to, methodWatermark, peer.Encode(report.size(), report.fields))
		if err != nil {
			return 0, err
		}
		var room store.Room
		if err := peer.Decode(body, func(c *peer.Coder) { peer.Byte(c, &room) }); err != nil {
			return 0, err
		}
		fl.diskRooms.set(s.to, room)
		return reported, nil
	}
	// 3. With parts it is a delivery. Its answer has the room of the holder.
	d := &replica.Delivery{Origin: report.upTo, Committed: report.upTo.Batch, Open: report.open, Acks: report.acks, Ticks: report.ticks, Operations: m.operations}
	d.Origin.Batch = m.parts[len(m.parts)-1].number
	for _, p := range m.parts {
		d.Parts = append(d.Parts, replica.Part{Batch: p.number, Operations: len(p.operations)})
	}
	if local {
		return reported, fl.holder.deliver(ctx, s.era.view.Epoch, d)
	}
	body, err := fl.member.Call(ctx, s.to, MethodDeliver, encodeDelivery(s.era.view.Epoch, d))
	if err != nil {
		return 0, err
	}
	var a delivered
	if err := peer.Decode(body, a.fields); err != nil {
		return 0, err
	}
	fl.diskRooms.set(s.to, store.Room(a.room))
	if a.outcome == diskFull {
		return 0, fmt.Errorf("machine %s: %w", s.to, store.ErrDiskFull)
	}
	return reported, nil
}

// full reports whether a holder could not take operations in flight, because its disk is full.
func (fl *inFlight) full(m trie.MachineID) bool {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	s := fl.era.streams[m]
	return s != nil && s.full
}

// Slow returns the holders without an answer to a message for some time, and the oracle if it has issued no tick for
// as long. This machine may be among them. If a holder has a full disk, it answers, so it is not slow.
func (fl *inFlight) Slow(after time.Duration) (slow []trie.MachineID) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	if fl.era == nil {
		return nil
	}
	for m, stream := range fl.era.streams {
		if !stream.since.IsZero() && !stream.full && time.Since(stream.since) >= after {
			slow = append(slow, m)
		}
	}
	if began := fl.era.completed.requested; !began.IsZero() && time.Since(began) >= after {
		slow = append(slow, fl.era.view.Oracle())
	}
	slices.Sort(slow)
	return slices.Compact(slow)
}
