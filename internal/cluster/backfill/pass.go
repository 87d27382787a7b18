// One pass over the rows of this machine, for one view.

package backfill

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// pass reads once those rows of this machine which may fill a place of the target layout, and
// sends them if a place lacks them. One goroutine runs it; others read the counters and out.
type pass struct {
	filler   *Filler
	view     *view.View
	planned  bool // no machine is down: its rate is bounded
	start    time.Time
	total    int64 // rows at the start, estimated
	rows     atomic.Int64
	repaired atomic.Int64 // rows sent, and made here
	damaged  atomic.Int64 // rows that cannot be decoded, and are skipped
	resumed  atomic.Int64 // rows that have arrived before: see earlierPasses
	at       position     // of the current row
	earlier  *earlierPasses
	resolver *recovery.Resolver
	backfill *recovery.Backfill // which rows are read
	seek     []byte
	// inFlight has the operations in flight by the keys of their rows in SPO. They must be
	// sent with these rows.
	inFlight map[string]pending
	key      []byte
	shift    *throttle.Shift

	mu  sync.Mutex // must be held to change out, and by other goroutines to read it
	out map[trie.MachineID]*outbox
}

// pending is an operation in flight.
type pending struct {
	origin    replica.Origin
	operation replica.Operation
}

// addInFlight remembers the operations of a batch in flight. If there are several on one
// triple, the newest one counts, because its rows are the ones in the snapshot.
func (p *pass) addInFlight(b replica.InFlightBatch) {
	for _, o := range b.Operations {
		if !o.Kind.Changes() {
			continue // it has the key of another operation, and no row
		}
		key := o.Key
		if o.Annotation != nil {
			key = triple.AppendAnnotationKey(nil, key, o.Annotation.ApplicationID)
		}
		if before, ok := p.inFlight[string(key)]; !ok || before.operation.Stamp.Less(o.Stamp) {
			p.inFlight[string(key)] = pending{b.Origin, o}
		}
	}
}

// estimate returns about how many rows the pass will read, without extra copies.
func (p *pass) estimate(ctx context.Context, snapshot *replica.Snapshot) (total int64, err error) {
	for i, o := range triple.Orders {
		rows, _, err := snapshot.EstimateRange(triple.OrderRange(o))
		if err != nil {
			return 0, err
		}
		total += int64(float64(rows) * p.backfill.Shares[i])
	}
	return total, ctx.Err()
}

// run reads the ranges of the backfill and sends each row if a place lacks it.
func (p *pass) run(ctx context.Context, snapshot *replica.Snapshot) error {
	var key []byte // a copy, because the position outlives the row
	// 1. Read the ranges. If a range is sparse, skip to the next possible source.
	for _, span := range p.backfill.Ranges {
		table := store.TableStorage
		if span.Replica {
			table = store.TableReplica
		}
		err := snapshot.EachRaw(ctx, table, span.Range, func(row store.RawRow) (seek []byte, err error) {
			p.rows.Add(1)
			key = append(key[:0], row.Key...)
			p.at = positionOf(table, key)
			suffix, ok := p.resolve(table, row.Key, row.Value)
			if ok {
				err = p.row(ctx, recovery.Place{Machine: p.filler.gate.MachineID(), Order: triple.Order(row.Key[0]), Extra: span.Replica}, suffix, row.Value)
			}
			p.shift.Row(ctx)
			if ok && err == nil && span.Sparse {
				if seek = p.backfill.Skip(p.seek, row.Key, p.resolver.Key(triple.OSP)); seek != nil {
					p.seek = seek
				}
			}
			return seek, err
		})
		if err != nil {
			return err
		}
	}
	// 2. Send the rest. The position is now behind the last row.
	p.at = position{table: 2}
	for _, box := range p.out {
		if err := box.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxDamageLogged bounds the damaged rows in the log of one backfill.
const maxDamageLogged = 16

// damage records a row if it cannot be decoded. The backfill continues without it. This machine
// reports a damaged disk, the leader excludes it if the others have the same rows, and they
// regenerate the row.
func (p *pass) damage(table byte, key []byte, err error) {
	p.filler.store.Database().CountDamage()
	if p.damaged.Add(1) <= maxDamageLogged {
		p.filler.log.Error("a damaged row is passed over in a backfill", "epoch", p.view.Epoch, "table", table, "key", fmt.Sprintf("%X", key), "error", err)
	}
}

// resolve makes the resolver answer for the triple of a row. suffix is the part of an
// annotation's key behind the key of its triple. ok is false if the row is damaged.
func (p *pass) resolve(table byte, key, value []byte) (suffix []byte, ok bool) {
	version := key
	if triple.IsAnnotation(value) {
		v, _, ok := triple.CutAnnotation(key)
		if !ok {
			p.damage(table, key, fmt.Errorf("%w: an annotation's key", store.ErrCorrupt))
			return nil, false
		}
		version, suffix = v, key[len(v):]
	}
	if err := p.resolver.Resolve(version); err != nil {
		p.damage(table, key, err)
		return nil, false
	}
	return suffix, true
}

// row sends the resolved row, from one place of this machine, to each place if it lacks the row.
func (p *pass) row(ctx context.Context, from recovery.Place, suffix, value []byte) error {
	r := p.resolver
	fills := r.Fills(from)
	if len(fills) == 0 {
		return nil
	}
	pending := p.pending(suffix)
	p.earlier.reset()
	for _, slot := range fills {
		// Rows of an operation in flight must always be sent, because no earlier pass knows which
		// machines have it.
		if pending == nil && p.earlier.arrived(p.at, r, from, slot) {
			p.box(slot.Machine) // it must be synced in the end, because its mark is relied on
			p.resumed.Add(1)
			continue
		}
		to := store.TableStorage
		if slot.Extra {
			to = store.TableReplica
		}
		row := replica.FillRow{Table: to, Key: append(append([]byte(nil), r.Key(slot.Order)...), suffix...), Value: append([]byte(nil), value...)}
		if pending != nil {
			row.InFlight, row.Operation = pending.origin, &pending.operation
		}
		if err := p.send(ctx, slot.Machine, row); err != nil {
			return err
		}
	}
	return nil
}

// pending returns the operation in flight of the resolved row, or of its annotation if its key
// has a suffix; nil if there is none.
func (p *pass) pending(suffix []byte) *pending {
	if len(p.inFlight) == 0 {
		return nil
	}
	p.key = append(append(p.key[:0], p.resolver.Key(triple.SPO)...), suffix...)
	if found, ok := p.inFlight[string(p.key)]; ok {
		return &found
	}
	return nil
}

// send puts a row into the outbox of a machine. It waits while too many messages to this machine
// are on their way.
func (p *pass) send(ctx context.Context, to trie.MachineID, row replica.FillRow) error {
	box := p.box(to)
	if len(box.rows) == 0 {
		box.first = p.at.clone()
	}
	box.rows = append(box.rows, row)
	box.bytes += len(row.Key) + len(row.Value)
	p.repaired.Add(1)
	if box.bytes < MessageBytes {
		return nil
	}
	return box.flush(ctx)
}

// box returns the outbox of a machine.
func (p *pass) box(to trie.MachineID) *outbox {
	box := p.out[to]
	if box == nil {
		box = &outbox{pass: p, to: to, room: make(chan struct{}, maxMessages)}
		p.mu.Lock()
		p.out[to] = box
		p.mu.Unlock()
	}
	return box
}

// slow returns the machines with an overdue answer to the backfill for the given time.
func (p *pass) slow(after time.Duration) (slow []trie.MachineID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for to, box := range p.out {
		if box.isOverdue(after) {
			slow = append(slow, to)
		}
	}
	return slow
}

// progress returns how far the pass came. Nothing of it may run any more.
func (p *pass) progress() passProgress {
	at := p.at.clone()
	s := passProgress{view: p.view, until: map[trie.MachineID]position{}, rest: at}
	for to, box := range p.out {
		s.until[to] = box.answeredUntil(at)
	}
	return s
}

// finish waits until all rows have arrived everywhere and are durable, and returns the marks
// of their machines.
func (p *pass) finish(ctx context.Context) (marks map[trie.MachineID]uint64, err error) {
	marks = map[trie.MachineID]uint64{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for to, box := range p.out {
		group.Go(func() {
			mark, failed := box.finish(ctx)
			mu.Lock()
			defer mu.Unlock()
			marks[to], err = mark, cmp.Or(err, failed)
		})
	}
	group.Wait()
	return marks, err
}
