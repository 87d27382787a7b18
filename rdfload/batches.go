package rdfload

// This file loads documents into a store that takes no sorted tables, as one that
// is spread over machines: by adding their triples in batches.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// A batch ends when it has so many triples or, terms added up, so many bytes.
const (
	batchTriples = 5000
	batchBytes   = 4 << 20
)

// batchWriters is how many batches are being added at a time, beside the one that
// is being read: an add waits for disks and networks more than it computes.
const batchWriters = 4

// Add adds triples to a store, durably when it returns, and returns how many of
// them were new, of those too that it has added before an error. It does not keep
// the slice.
type Add func(ctx context.Context, triples []triple.Triple) (added int64, err error)

// LoadBatches loads the sources by adding batches of up to 5,000 triples, some at a
// time. Blank nodes, malformed statements and progress are as in [Load]. But the
// load is not one step: each batch is visible as soon as it is added, an error
// leaves those before it in the store, and nothing can be resumed. The summary is
// of what was added, with an error too. Memory is that of five batches, each of 4 MiB
// and a statement at most, and of the document's parser.
func LoadBatches(ctx context.Context, add Add, sources []Source, opts Options) (Summary, error) {
	begun := time.Now()
	if err := opts.Validate(); err != nil {
		return Summary{}, err
	}
	switch {
	case opts.Resume:
		return Summary{}, errors.New("a load in batches cannot be resumed: load the documents again")
	case len(sources) == 0:
		return Summary{}, errors.New("nothing to load: no input")
	}
	l := &batchLoader{loader: loader{sources: sources, opts: opts.withDefaults()}, add: add, id: newLoadID()}
	l.stage.enter(Reading, 0)
	stop := l.report()
	err := l.run(ctx)
	stop()
	read, fresh := l.read.Load(), l.fresh.Load()
	s := Summary{
		Record: Record{ID: l.id, Read: read, New: fresh, Duplicates: max(read-fresh, 0), Rejected: l.rejected.Load()},
		Bytes:  l.text.Load(), Duration: time.Since(begun), PeakMemory: peakMemory(),
	}
	s.Rate = float64(s.Read) / max(s.Duration.Seconds(), 1e-9)
	return s, err
}

// batchLoader is a load by batches. Of the loader it has what tells how far it is.
type batchLoader struct {
	loader
	add Add
	id  string
}

// run reads in this goroutine and adds in others.
func (l *batchLoader) run(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	l.broken.cancel = cancel
	batches := make(chan []triple.Triple)
	var writers sync.WaitGroup
	for range batchWriters {
		writers.Go(func() {
			for batch := range batches {
				l.addOne(inner, batch)
			}
		})
	}
	err := l.parse(inner, batches)
	close(batches)
	// A malformed statement does not take back what comes before it: batches that
	// are on their way are added.
	writers.Wait()
	if failed := l.broken.get(); failed != nil {
		return failed
	}
	var syntax *triple.SyntaxError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("%w: %w", err, ErrRejected)
	}
	return err
}

// addOne adds a batch, unless the load has failed.
func (l *batchLoader) addOne(ctx context.Context, batch []triple.Triple) {
	if ctx.Err() != nil {
		return
	}
	added, err := l.add(ctx, batch)
	l.fresh.Add(added)
	if err != nil {
		l.broken.set(err, 0, 0)
		return
	}
	l.read.Add(int64(len(batch)))
}

// parse hands out the triples of all sources in batches.
func (l *batchLoader) parse(ctx context.Context, batches chan<- []triple.Triple) error {
	b := batch{send: func(triples []triple.Triple) error {
		select {
		case batches <- triples:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	for i := range l.sources {
		if err := l.parseOne(ctx, i, &b); err != nil {
			return err
		}
	}
	return b.flush()
}

// parseOne puts the triples of one source into batches, and its malformed
// statements into the report.
func (l *batchLoader) parseOne(ctx context.Context, i int, b *batch) (err error) {
	source := l.sources[i]
	r, err := source.Open()
	if err != nil {
		return err
	}
	l.watched.add(i, r)
	defer func() {
		l.text.Add(r.BytesOut())
		err = errors.Join(err, r.Close())
		l.watched.finish(i)
	}()
	s, err := l.opts.syntaxOf(source, r)
	if err != nil {
		return err
	}
	all := syntax.Parse(ctx, r, s, l.opts.parsing(source.Name, blankPrefix(l.id, i)))
	for t, err := range all {
		var reject *Reject
		switch {
		case errors.As(err, &reject) && l.opts.KeepGoing:
			l.rejected.Add(1)
			if l.opts.Rejects != nil {
				_, err = writeReject(l.opts.Rejects, *reject)
			} else {
				err = nil
			}
		case err == nil:
			if t.Graph.IsZero() {
				t.Graph = l.opts.Graph
			}
			err = b.put(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// batch gathers triples and sends them when they are enough.
type batch struct {
	send    func([]triple.Triple) error
	triples []triple.Triple
	size    int
}

func (b *batch) put(t triple.Triple) error {
	if b.triples == nil {
		b.triples = make([]triple.Triple, 0, batchTriples)
	}
	b.triples = append(b.triples, t)
	b.size += sizeOf(&t)
	if len(b.triples) < batchTriples && b.size < batchBytes {
		return nil
	}
	return b.flush()
}

func (b *batch) flush() error {
	if len(b.triples) == 0 {
		return nil
	}
	full := b.triples
	b.triples, b.size = nil, 0
	return b.send(full)
}
