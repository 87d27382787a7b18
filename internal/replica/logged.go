// Reading the kept batches: the operations of one sequencer and epoch, in order.

package replica

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// LogQuery requests the operations that one machine stamped in one epoch. Claims and records are left out.
type LogQuery struct {
	Sequencer trie.MachineID
	Epoch     uint64
	After     uint64 // the sequence behind which to begin
	// Batches reads the operations that were sent in the epoch. Late reads those that were sent again
	// in a later one, by any sequencer.
	Batches, Late bool
	// UpTo, if not 0, is the last batch to read of Incarnation. Batches up to From were read before.
	Incarnation, UpTo, From uint64
	// MaxBytes bounds the answer, about. It has at least one operation.
	MaxBytes int
	// Pause, if not nil, is called after each page of rows that were read; see pageBytes. An error
	// ends the call. The caller may let others pass there.
	Pause func() error
}

// Logged is an operation with the time of its commit on this machine, in unix ms.
type Logged struct {
	Operation
	Time int64
}

// LogPart is the answer to a LogQuery.
type LogPart struct {
	// Operations ascend by sequence. None comes twice.
	Operations []Logged
	// Until is the sequence up to which the operations are all that are kept; math.MaxUint64 if
	// there are no more.
	Until uint64
	// Last is the last of the sequencer's batches that was read; 0 if none was.
	Last uint64
}

// ErrTrimmed means that batches were removed that the answer may need.
var ErrTrimmed = errors.New("the batches are not kept any more")

// Log returns the index of the kept batches.
func (s *Store) Log() *batchlog.Log { return s.log }

// Logged returns kept operations. They may be in flight.
func (s *Store) Logged(ctx context.Context, q LogQuery) (LogPart, error) {
	if err := s.db.Begin(); err != nil {
		return LogPart{}, fault.Wrap("read the log", err)
	}
	defer s.db.End()
	q.MaxBytes = max(q.MaxBytes, 1)
	g := &gathering{query: q, until: math.MaxUint64, pages: pages{pause: q.Pause}}
	// 1. The late operations are in no order. The batches of the sequencer itself are.
	if q.Late {
		if err := s.gatherLate(ctx, g); err != nil {
			return LogPart{}, fault.Wrap("read the log", err)
		}
	}
	if q.Batches {
		for _, start := range s.log.Starts(q.Sequencer, q.Epoch, q.After) {
			if err := s.gatherBatches(ctx, g, start); err != nil {
				return LogPart{}, fault.Wrap("read the log", err)
			}
		}
	}
	// 2. A trim may have run meanwhile, so this must come last.
	if hides(s.log.Trimmed(), q) {
		return LogPart{}, fmt.Errorf("epoch %d, behind sequence %d of machine %s: %w", q.Epoch, q.After, q.Sequencer, ErrTrimmed)
	}
	g.cut(math.MaxInt)
	return LogPart{g.all, g.until, g.last}, nil
}

// LoggedSequencers returns the machines with kept operations of an epoch. It may have too many, but
// never too few. next is no greater than the first later epoch with operations. pause is as in
// [LogQuery].
func (s *Store) LoggedSequencers(epoch uint64, pause func() error) (sequencers []trie.MachineID, next uint64, err error) {
	if err := s.db.Begin(); err != nil {
		return nil, 0, fault.Wrap("read the log", err)
	}
	defer s.db.End()
	sequencers, next = s.log.Epoch(epoch)
	err = s.eachLate(epoch, &pages{pause: pause}, func(row *batchRow, from batchlog.Start) error {
		for i := range row.operations {
			if o := &row.operations[i]; o.Stamp.Epoch == epoch {
				sequencers = append(sequencers, o.stampedBy(from.Stream.Machine))
			}
		}
		slices.Sort(sequencers)
		sequencers = slices.Compact(sequencers)
		return nil
	})
	return sequencers, next, fault.Wrap("read the log", err)
}

// stampedBy returns the machine that stamped an operation in a batch of a sequencer.
func (o *Operation) stampedBy(sequencer trie.MachineID) trie.MachineID {
	return cmp.Or(o.Stamper, sequencer)
}

// pageBytes is about how many bytes of rows are read between two calls of LogQuery.Pause. It takes
// some milliseconds.
const pageBytes = 256 << 10

// lateBatches is how many late batches are listed at a time.
const lateBatches = 1 << 10

// pages counts the bytes of rows that a call reads.
type pages struct {
	pause func() error // may be nil
	bytes int
}

// read must be called behind each row.
func (p *pages) read(bytes int) error {
	if p.bytes += bytes; p.bytes < pageBytes || p.pause == nil {
		return nil
	}
	p.bytes = 0
	return p.pause()
}

// eachLate calls do with each batch that has operations of an earlier epoch.
func (s *Store) eachLate(epoch uint64, p *pages, do func(row *batchRow, from batchlog.Start) error) error {
	var from batchlog.Start
	for {
		// List some batches. Others may be added or removed meanwhile.
		some := s.log.LateStarts(epoch, from, lateBatches)
		if len(some) == 0 {
			return nil
		}
		for _, from = range some {
			value, err := s.db.Value(batchlog.Key(from.Stream, from.Number))
			if err != nil {
				return err
			}
			if value == nil {
				continue // forgotten or trimmed meanwhile
			}
			row, err := parseBatchRow(value)
			if err != nil {
				return err
			}
			if err := do(&row, from); err != nil {
				return err
			}
			if err := p.read(len(value)); err != nil {
				return err
			}
		}
	}
}

// gatherLate gathers the operations of late batches.
func (s *Store) gatherLate(ctx context.Context, g *gathering) error {
	return s.eachLate(g.query.Epoch, &g.pages, func(row *batchRow, from batchlog.Start) error {
		for i := range row.operations {
			if o := &row.operations[i]; !row.fresh(o) && o.stampedBy(from.Stream.Machine) == g.query.Sequencer {
				g.add(o, row.time)
			}
		}
		if g.bytes > 2*g.query.MaxBytes {
			g.cut(g.query.MaxBytes)
		}
		return context.Cause(ctx)
	})
}

// gatherBatches gathers the operations of the sequencer's own batches from a start.
func (s *Store) gatherBatches(ctx context.Context, g *gathering, start batchlog.Start) error {
	// 1. Iterate up to the end of the stream, or up to the last requested batch.
	from := start.Number
	end := batchlog.Key(batchlog.Stream{Machine: start.Stream.Machine, Incarnation: start.Stream.Incarnation + 1}, 0)
	if g.query.UpTo != 0 && g.query.Incarnation == start.Stream.Incarnation {
		from = max(from, g.query.From+1)
		if end = batchlog.Key(start.Stream, g.query.UpTo+1); from > g.query.UpTo {
			return nil
		}
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: batchlog.Key(start.Stream, from), UpperBound: end})
	if err != nil {
		return err
	}
	defer it.Close()
	size := 0
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := g.pages.read(len(value)); err != nil {
			return err
		}
		// 2. The epochs of the rows ascend, except for those of backfills, which have none.
		row := batchRow{}
		rest, err := row.parseHeader(value)
		if err != nil {
			return err
		}
		if row.epoch > g.query.Epoch {
			break
		}
		if row.epoch < g.query.Epoch {
			continue
		}
		if row.operations, err = parseOperations(bytes.Clone(rest), 0); err != nil {
			return err
		}
		// 3. Within a row the sequences are contiguous, so a row is taken whole.
		last, before := uint64(0), g.bytes
		if _, g.last, err = batchlog.ParseKey(it.Key()); err != nil {
			return err
		}
		for i := range row.operations {
			if o := &row.operations[i]; row.fresh(o) {
				g.add(o, row.time)
				last = max(last, o.Stamp.Sequence)
			}
		}
		if size += g.bytes - before; size >= g.query.MaxBytes {
			g.until = min(g.until, last)
			break
		}
		if last >= g.until || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(it.Error(), context.Cause(ctx))
}

// gathering collects operations.
type gathering struct {
	query LogQuery
	pages pages
	all   []Logged
	bytes int
	until uint64
	last  uint64 // the last batch of the sequencer that was read
}

// loggedBytes is about what an operation costs beside its key and data.
const loggedBytes = 64

// add adds an operation if it is requested.
func (g *gathering) add(o *Operation, time int64) {
	if !o.Kind.Changes() || o.Stamp.Epoch != g.query.Epoch || o.Stamp.Sequence <= g.query.After || o.Stamp.Sequence > g.until {
		return
	}
	g.all = append(g.all, Logged{*o, time})
	g.bytes += o.loggedSize()
}

func (o *Operation) loggedSize() int {
	size := len(o.Key) + len(o.Long) + loggedBytes
	if o.Annotation != nil {
		size += len(o.Annotation.ApplicationID) + len(o.Annotation.Data)
	}
	return size
}

// cut sorts the operations, removes repetitions, and keeps about the first most bytes.
func (g *gathering) cut(most int) {
	slices.SortFunc(g.all, func(a, b Logged) int {
		return cmp.Or(cmp.Compare(a.Stamp.Sequence, b.Stamp.Sequence), bytes.Compare(a.Key, b.Key))
	})
	g.all = slices.CompactFunc(g.all, func(a, b Logged) bool {
		return a.Stamp == b.Stamp && bytes.Equal(a.Key, b.Key)
	})
	g.bytes = 0
	for i := range g.all {
		// Operations with one sequence stay together, because until is a sequence.
		o := &g.all[i]
		if o.Stamp.Sequence > g.until || g.bytes >= most && o.Stamp.Sequence > g.all[i-1].Stamp.Sequence {
			if g.bytes >= most {
				g.until = min(g.until, g.all[i-1].Stamp.Sequence)
			}
			clear(g.all[i:])
			g.all = g.all[:i]
			return
		}
		g.bytes += o.loggedSize()
	}
}

// hides reports whether a log that has lost this may lack operations of a query.
func hides(t batchlog.Trimmed, q LogQuery) bool {
	if t.Epoch >= q.Epoch {
		return true
	}
	if q.Batches {
		for id, stamp := range t.Streams {
			if id.Machine == q.Sequencer && (triple.Stamp{Epoch: q.Epoch, Sequence: q.After}).Less(stamp) {
				return true
			}
		}
	}
	return false
}
