// Building the segments of a predicate from rows.

package textsearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

// eachDocument calls do with the encoded objects of a predicate that are texts. A key is valid until the next one. A
// literal with several rows comes several times, one after the other.
func (x *Index) eachDocument(ctx context.Context, predicate string, do func(key []byte) error) error {
	r, err := x.Node.Reader()
	if err != nil {
		return err
	}
	return errors.Join(eachDocumentOf(ctx, r, predicate, do), r.Close())
}

// eachDocumentOf is eachDocument for the rows of a reader.
func eachDocumentOf(ctx context.Context, r store.Reader, predicate string, do func(key []byte) error) error {
	return eachRow(ctx, r, predicate, func(key, value []byte) error {
		text, err := textOf(key, value)
		if err != nil || text == nil {
			return err
		}
		return do(text)
	})
}

// eachRow calls do with the rows of a predicate, by object. They are valid until the next one.
func eachRow(ctx context.Context, r store.Reader, predicate string, do func(key, value []byte) error) (err error) {
	keys, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(predicate)}}.KeyRange()
	if err != nil {
		return err
	}
	rows, err := r.Source().Scan(ctx, keys.Range, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for n := 1; rows.Next(); n++ {
		if n%(1<<12) == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := do(rows.Row()); err != nil {
			return err
		}
	}
	return rows.Err()
}

// textOf returns the encoded object of a row if it is a text, and nil if it is not.
func textOf(key, value []byte) ([]byte, error) {
	_, terms, err := triple.SplitKey(key)
	if err != nil || !isText(terms[triple.Object]) {
		return nil, err
	}
	if terms, err = triple.WholeTerms(terms, value); err != nil {
		return nil, err
	}
	return terms[triple.Object], nil
}

// missing returns a predicate to build and its missing partitions. It leaves out predicates whose build failed a moment
// ago; if these are the only ones, it returns an error of theirs.
func (x *Index) missing() (predicate string, set derived.Partitions, err error) {
	s, now := x.state.Load(), time.Now()
	l, wanted := x.wanted()
	if s == nil || s.layout != l {
		return "", 0, nil
	}
	for _, p := range s.predicates {
		set := wanted &^ s.complete[p]
		pause := x.pauses[p]
		switch {
		case set == 0:
			delete(x.pauses, p)
		case now.Before(pause.until) && pause.settings.equal(s.settings):
			err = cmp.Or(err, pause.err)
		default:
			return p, set, nil
		}
	}
	return "", 0, err
}

// pause is the time after a build that failed. Builds must not take more than a tenth of the time.
type pause struct {
	until    time.Time
	settings settings // the next build need not wait if they are others
	err      error
}

// buildMissing builds the predicates whose partitions are missing, and returns an error if one cannot be built. One
// that fails does not stop the others.
func (x *Index) buildMissing(ctx context.Context) error {
	for {
		predicate, set, err := x.missing()
		if set == 0 {
			return err
		}
		began, settings := time.Now(), x.state.Load().settings
		x.files.begin()
		if err := x.buildNext(ctx, predicate, set); err != nil {
			x.files.discard(x)
			now := time.Now()
			x.pauses[predicate] = pause{now.Add(max(9*now.Sub(began), time.Millisecond)), settings, err}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// buildNext builds the missing partitions of a predicate.
func (x *Index) buildNext(ctx context.Context, predicate string, set derived.Partitions) error {
	began := time.Now()
	x.builds.Add(1)
	s := x.state.Load()
	// 1. The position is that before the first row is read. Rows may be newer.
	at, err := x.Node.Feed().Position(ctx)
	if err != nil {
		return err
	}
	parts, documents, err := x.build(ctx, s, predicate, set)
	if err != nil {
		return fmt.Errorf("build the text index of %s: %w", predicate, err)
	}
	// A row may have gone with the only machine that had it, so all must be of one epoch.
	end, err := x.Node.Feed().Position(ctx)
	if err != nil {
		return err
	}
	if end.Epoch != at.Epoch && s.layout > 0 {
		return errMoved
	}
	// 2. Publish them with the changes since. All parts take these in, because they may be applied again.
	unlock, err := x.changing.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	now := x.state.Load()
	if now == nil || now.layout != s.layout || now.hasTrigrams(predicate) != s.hasTrigrams(predicate) {
		return errMoved
	}
	next := now.clone()
	next.drop(func(p string, i int) bool { return p == predicate && set.Has(i) })
	next.complete[predicate] |= set
	next.parts = append(next.parts, parts...)
	next.at = now.at.Common(at)
	if err := x.checkMemory(next); err != nil {
		return err
	}
	for more := true; more; {
		if next, more, err = x.step(ctx, next); err != nil {
			return err
		}
	}
	x.publish(next)
	x.files.urgent = true
	x.Log.Info("the text index of a predicate is built", "predicate", predicate, "literals", documents, "took", time.Since(began))
	return nil
}

// checkMemory returns an error if a state is too large.
func (x *Index) checkMemory(s *state) error {
	if n := s.bytes(); x.o.Memory > 0 && n > x.o.Memory {
		return x.tooLarge(fmt.Sprintf("%d bytes, ", n))
	}
	return nil
}

// tooLarge returns the error of an index that needs more memory than it may use.
func (x *Index) tooLarge(needs string) error {
	return fmt.Errorf("%w: it needs %smore than the %d bytes of memory that --text-memory allows. Start the node with a greater --text-memory, or make the index smaller: trefoil text list shows the bytes of each predicate, "+
		"trefoil text remove PREDICATE ends one, and trefoil text add PREDICATE without --trigrams drops its trigrams", ErrTooLarge, needs, x.o.Memory)
}

// literals are encoded literals on their way to a worker.
type literals struct {
	keys []byte
	ends []int
}

// literalsBytes is the size from which literals are sent to a worker.
const literalsBytes = 256 << 10

// newBuilder returns a builder of a segment for a place.
func (s *state) newBuilder(a *textindex.Analyzer, at place) *textindex.Builder {
	b := textindex.NewBuilder(a, at.predicate, uint32(at.partition))
	if s.hasTrigrams(at.predicate) {
		b.AddTrigrams()
	}
	return b
}

// build returns the segments of a predicate in some partitions, under the layout and the settings of a state.
func (x *Index) build(ctx context.Context, s *state, predicate string, set derived.Partitions) (parts []*part, documents int, err error) {
	// 1. Workers analyze, one goroutine reads.
	work := make(chan *literals, x.o.Workers)
	group := newGroup(ctx)
	ctx = group.ctx
	made := make([][]*part, x.o.Workers)
	room := &atomic.Int64{}
	room.Store(x.o.Memory - x.state.Load().bytes())
	for i := range made {
		group.run(func() (err error) {
			made[i], err = x.analyzeLiterals(ctx, s, predicate, work, room)
			return err
		})
	}
	group.run(func() error {
		defer close(work)
		list := &literals{}
		send := func() error {
			select {
			case work <- list:
				list = &literals{}
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		var last []byte
		err := x.eachDocument(ctx, predicate, func(key []byte) error {
			if bytes.Equal(key, last) || !set.Has(s.layout.partitionOf(textindex.Hash(key))) {
				return nil
			}
			last = append(last[:0], key...)
			documents++
			list.keys = append(list.keys, key...)
			list.ends = append(list.ends, len(list.keys))
			if len(list.keys) < literalsBytes {
				return nil
			}
			return send()
		})
		if err != nil {
			return err
		}
		return send()
	})
	if err := group.wait(); err != nil {
		return nil, 0, err
	}
	// 2. Few segments are better than many.
	byPartition := map[int][]*part{}
	for _, list := range made {
		for _, p := range list {
			byPartition[p.partition()] = append(byPartition[p.partition()], p)
		}
	}
	for _, list := range byPartition {
		merged, err := x.mergeList(list, maxSmall)
		if err != nil {
			return nil, 0, err
		}
		parts = append(parts, merged...)
	}
	return parts, documents, nil
}

// analyzeLiterals makes segments of the literals of a channel. room is the memory that all workers have left for them.
func (x *Index) analyzeLiterals(ctx context.Context, s *state, predicate string, work <-chan *literals, room *atomic.Int64) (parts []*part, err error) {
	// 1. A builder for each partition. If one is full, it becomes a segment.
	analyzer := textindex.NewAnalyzer()
	builders := map[int]*textindex.Builder{}
	limit := int(x.o.BuildMemory) / x.o.Workers
	finish := func(partition int) error {
		segment, err := builders[partition].Finish()
		if err != nil {
			return err
		}
		delete(builders, partition)
		if room.Add(-int64(len(segment.Body()))) < 0 && x.o.Memory > 0 {
			return x.tooLarge("")
		}
		p := &part{Part: &textindex.Part{Segment: segment}}
		// The documents of a large segment wait in its file.
		if err := x.files.write(x, p); err != nil {
			return err
		}
		parts = append(parts, p)
		return nil
	}
	add := func(key []byte) error {
		d, err := documentOf(key)
		if err != nil {
			return err
		}
		partition := s.layout.partitionOf(textindex.Hash(key))
		b := builders[partition]
		if b == nil {
			b = s.newBuilder(analyzer, place{predicate, partition})
			builders[partition] = b
		}
		if err := b.Add(d); !errors.Is(err, textindex.ErrFull) {
			return err
		}
		if err := finish(partition); err != nil {
			return err
		}
		builders[partition] = s.newBuilder(analyzer, place{predicate, partition})
		return builders[partition].Add(d)
	}
	// 2. Take literals until there are no more.
	for list := range work {
		begin := 0
		for _, end := range list.ends {
			if err := add(list.keys[begin:end]); err != nil {
				return nil, err
			}
			begin = end
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// The largest builder makes room.
		for total, largest := memoryOf(builders); total > limit; total, largest = memoryOf(builders) {
			if err := finish(largest); err != nil {
				return nil, err
			}
		}
	}
	for partition := range builders {
		if err := finish(partition); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// memoryOf returns the bytes of some builders, and the largest one.
func memoryOf(builders map[int]*textindex.Builder) (total, largest int) {
	most := -1
	for partition, b := range builders {
		n := b.Bytes()
		total += n
		if n > most {
			most, largest = n, partition
		}
	}
	return total, largest
}
