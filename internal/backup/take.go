// Taking a backup: the rows, and the feed behind them.

package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Source is a store that can be backed up.
type Source interface {
	Reader() (store.Reader, error)
	Feed() feed.Source
}

// ErrNoEnd means that bulk loads were published all the time, so that no end of the archive was
// found.
var ErrNoEnd = errors.New("bulk loads were published during the whole backup; take it when they pause")

// Limits of a backup.
const (
	// maxRounds is how often the end is moved behind another bulk load.
	maxRounds = 8
	// maxScanTries is how often a read is repeated without one more row. Each try of a cluster waits
	// some seconds by itself.
	maxScanTries = 6
)

// taker takes one backup.
type taker struct {
	ctx    context.Context
	source Source
	out    *writer
	counts Counts
	now    func() time.Time
}

// Full writes a full archive of a store. version is the program's. If Full fails, the output must not
// be used, and [Restore] rejects it.
func Full(ctx context.Context, s Source, version string, w io.Writer) error {
	t, err := newTaker(ctx, s, version, feed.Position{}, w)
	if err == nil {
		err = t.full()
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

// Increment writes the changes behind the end of an earlier archive. If the feed does not reach back
// to it, the error is a [feed.GoneError], and a full archive is necessary.
func Increment(ctx context.Context, s Source, since feed.Position, version string, w io.Writer) error {
	t, err := newTaker(ctx, s, version, since, w)
	if err == nil {
		err = t.tail(since)
	}
	if err != nil {
		return fmt.Errorf("incremental backup: %w", err)
	}
	return nil
}

func newTaker(ctx context.Context, s Source, version string, from feed.Position, w io.Writer) (*taker, error) {
	t := &taker{ctx: ctx, source: s, now: time.Now}
	h := header{Format: format, Version: version, Created: t.now().UTC().Truncate(time.Millisecond)}
	if !from.IsZero() {
		h.From = from.String()
	}
	var err error
	t.out, err = newWriter(w, h)
	return t, err
}

func (t *taker) full() error {
	begin, err := t.source.Feed().Position(t.ctx)
	if err != nil {
		return err
	}
	err = t.scan(func(_ store.Reader, row store.Row) error {
		t.counts.Triples++
		t.counts.Annotations += int64(len(row.Annotations))
		return t.out.triple(kindRows, row.Key, row.Value, row.Annotations)
	})
	if err != nil {
		return err
	}
	return t.tail(begin)
}

// scan calls f with all rows of SPO, each as of some moment after the call began. A read of a cluster
// may end early, because a machine failed or a load was published. It then continues behind its last
// row.
func (t *taker) scan(f func(store.Reader, store.Row) error) error {
	var after []byte
	tries := 0
	for {
		r, err := t.source.Reader()
		if err != nil {
			return err
		}
		var failed error // of f
		for row, err2 := range r.Range(t.ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{After: after, Annotations: true}) {
			if err = err2; err != nil {
				break
			}
			if failed = f(r, row); failed != nil {
				break
			}
			after, tries = append(after[:0], row.Key...), 0
		}
		if failed = errors.Join(failed, r.Close()); failed != nil {
			return failed
		}
		if tries++; err == nil || !errors.Is(err, store.ErrUnavailable) || tries == maxScanTries {
			return err
		}
	}
}

// tail writes the feed from a position to its end, and the trailer.
func (t *taker) tail(from feed.Position) error {
	// 1. Write the feed up to its present end. If it had a load, its rows were read after the end of
	// the feed, so the archive must go on to a later end.
	end := from
	var complete time.Time
	for round := 0; ; round++ {
		if round == maxRounds {
			return ErrNoEnd
		}
		complete = t.now()
		loads := t.counts.Loads
		err := feed.Each(t.ctx, t.source.Feed(), feed.Request{Since: end, Consistent: true}, func(batch *feed.Batch) (bool, error) {
			end = batch.Position.Clone()
			return false, t.batch(batch)
		})
		if err != nil {
			return err
		}
		if t.counts.Loads == loads {
			break
		}
	}
	// 2. The trailer shows that the archive is whole.
	return t.out.end(trailer{Position: end.String(), Complete: complete.UTC(), Ended: t.now().UTC(), Counts: t.counts})
}

// batch writes a batch of the feed, and the rows of its loads.
func (t *taker) batch(b *feed.Batch) error {
	for i := range b.Changes {
		c := &b.Changes[i]
		if err := t.out.change(c, b.Time, b.Position); err != nil {
			return err
		}
		if c.Kind != feed.Load {
			t.counts.Changes++
			continue
		}
		t.counts.Loads++
		if err := t.load(c); err != nil {
			return fmt.Errorf("rows of load %s: %w", c.Load.ID, err)
		}
	}
	return nil
}

// load writes the rows of a bulk load.
func (t *taker) load(c *feed.Change) error {
	// Rows of a load into a cluster have epoch 0 and the number of the load.
	stamp, other := c.Stamp, c.Stamp
	if number, err := strconv.ParseUint(c.Load.ID, 10, 64); err == nil {
		other = triple.Stamp{Sequence: number}
	}
	return t.scan(func(r store.Reader, row store.Row) error {
		v, err := triple.DecodeValue(row.Value)
		if err != nil {
			return err
		}
		// 1. In a cluster an add that changes nothing gives a row of the load its own stamp. The feed has
		// that add, but the annotations of the load are here only. They end with a delete, so a triple that
		// has them existed all the time.
		loaded := v.Stamp == stamp || v.Stamp == other
		if !loaded && (len(row.Annotations) == 0 || !stamp.Less(v.Stamp)) {
			return nil
		}
		annotations, err := t.annotationsBefore(r, row, stamp)
		if err != nil || !loaded && len(annotations) == 0 {
			return err
		}
		// 2. Write it as the load made it.
		t.counts.LoadRows++
		return t.out.triple(kindLoad, row.Key, row.Value, annotations)
	})
}

// annotationsBefore returns the annotations of a row that are not later than a load. Later ones are in
// the feed, behind the load.
func (t *taker) annotationsBefore(r store.Reader, row store.Row, load triple.Stamp) (all []store.Annotation, err error) {
	if len(row.Annotations) == 0 {
		return nil, nil
	}
	// The rows of a cluster come without versions.
	of, err := row.Triple()
	if err != nil {
		return nil, err
	}
	for a, err := range r.Annotations(t.ctx, of) {
		if err != nil {
			return nil, err
		}
		if !load.Less(a.Version) {
			all = append(all, a)
		}
	}
	return all, nil
}
