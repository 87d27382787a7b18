// The first phase: feeders and workers turn inputs into runs.

package rdfload

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// readInputs parses the unread part of the inputs into runs; the last run stays in memory. If ctx
// is done, it writes the statements read so far to disk, because a later load may resume.
func (l *loader) readInputs(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	l.broken.cancel = cancel
	units := make(chan unit)
	var feeders, workers sync.WaitGroup
	feeders.Go(func() { l.feedAll(inner, units) })
	for i := range l.opts.Workers {
		workers.Go(func() { l.work(inner, i, units) })
	}
	feeders.Wait()
	close(units)
	workers.Wait()
	err := l.broken.get()
	if ctx.Err() == nil || err != nil && !interrupted(err) {
		return err
	}
	err = ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if l.manifest.resumable() {
		err = errors.Join(err, l.spill(false))
	}
	return err
}

// feedAll feeds all inputs, at most Workers of them at the same time. It returns when all feeders
// have ended.
func (l *loader) feedAll(ctx context.Context, units chan<- unit) {
	send := func(u unit) error {
		select {
		case units <- u:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// 1. Skip finished inputs, and wait for a slot for each of the others.
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, l.opts.Workers)
	for i := range l.sources {
		from := l.inputState(i)
		if from.Done {
			l.watched.skip(from.Size)
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			l.broken.set(ctx.Err(), i, 0)
			return
		}
		// 2. Feed the input. An error is recorded with the number of the unit that comes next,
		// because the first malformed statement must win.
		wg.Go(func() {
			defer func() { <-slots }()
			f := feeder{source: i, input: l.sources[i], from: from, options: &l.opts,
				block: l.opts.limits.blockBytes}
			if !l.opts.Stored {
				f.prefix = blankPrefix(l.manifest.ID, i)
			}
			number := from.Units
			err := f.feed(ctx, func(r byteCounter) { l.watched.add(i, r) }, func(u unit) error {
				number = u.number + 1
				return send(u)
			})
			l.watched.finish(i)
			if err != nil {
				l.broken.set(err, i, number)
			}
		})
	}
}

func (l *loader) inputState(i int) manifestInput {
	l.reach.Lock()
	defer l.reach.Unlock()
	return l.manifest.Inputs[i]
}

// work turns units into quads until the channel is closed. It continues after a failure, until the
// feeders have ended.
func (l *loader) work(ctx context.Context, i int, units <-chan unit) {
	w := &worker{dictionary: l.space.dictionaries[i], quads: l.space.writers[i], annotations: l.space.annotations[i], graph: l.opts.Graph, keepGoing: l.opts.KeepGoing,
		permits: l.opts.CheckAnnotation, permitsGraph: l.opts.CheckGraph}
	if l.opts.Links != nil {
		w.predicate = l.opts.Links.predicate()
	}
	for more := true; more; {
		var full bool
		if more, full = l.workOne(w, units); full {
			if err := l.spillIfFull(ctx); err != nil {
				l.broken.set(err, 0, 0)
			}
		}
	}
}

// workOne takes one unit and adds it to the run. The gate is read-locked before a unit is taken. If
// a goroutine holds it alone, all taken units are therefore done.
func (l *loader) workOne(w *worker, units <-chan unit) (more, full bool) {
	l.gate.RLock()
	defer l.gate.RUnlock()
	u, ok := <-units
	if !ok {
		return false, false
	}
	// Only one big unit at a time, because its memory is not in the budget of each worker.
	if u.bytes > bigBytes {
		l.big.Lock()
		defer l.big.Unlock()
	}
	// Add the statements of the unit, by its kind. Rejects of parsed units are known already.
	var n tally
	var err error
	if u.block != nil {
		n, err = w.block(u.block, u.source, u.prefix, l.rejects.add)
	} else {
		for _, r := range u.rejects {
			l.rejects.add(r)
		}
		if u.links != nil {
			n, err = w.links(u.links)
		} else {
			n, err = w.triples(&u)
		}
		n.rejected = int64(len(u.rejects))
	}
	// The counters change under the gate, so they are complete when a run is sealed.
	w.dictionary.publish()
	l.read.Add(n.read)
	l.rejected.Add(n.rejected)
	l.skipped.Add(u.skipped)
	l.labelled.Add(u.labelled)
	l.text.Add(u.bytes)
	if err != nil {
		l.broken.set(err, u.source, u.number)
		return true, false
	}
	l.reach.Lock()
	defer l.reach.Unlock()
	// Units of one input are taken in order, but may be finished in another. The position must only
	// grow.
	if in := &l.manifest.Inputs[u.source]; u.number >= in.Units {
		in.Units, in.Offset, in.Line, in.Skip, in.Done = u.number+1, u.offset, u.line, u.skip, u.last
		in.Annotated = in.Annotated || u.block != nil && u.block.Annotated()
	}
	return true, l.full()
}

// full reports whether the current run must be sealed. The caller must hold the gate.
func (l *loader) full() bool {
	return l.space.quads.next.Load()*quadBlock >= l.opts.runLimit(len(l.manifest.Runs)) ||
		l.space.takes()+l.opts.reserve() > l.opts.runBudget()
}

func (l *loader) spillIfFull(ctx context.Context) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	if l.broken.get() != nil || !l.full() {
		return nil
	}
	defer l.stage.enter(Reading, 0)
	if err := l.spillLocked(false); err != nil {
		return err
	}
	return l.mergeLevels(ctx)
}
