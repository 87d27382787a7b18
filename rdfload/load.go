// The phases of a load, from its directory to the summary.

package rdfload

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/memory"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// loader is one load, in one session: a resumed load has a new loader.
type loader struct {
	sink     Sink
	sources  []input.Source
	opts     Options
	dir      string
	manifest *manifest
	start    Start
	begun    bool   // Begin has returned a start to this session
	reported bool   // the rejected statements have been copied to Options.Rejects
	common   []byte // the value of rows without long terms

	space   *runSpace
	rejects *rejectFile
	gate    sync.RWMutex // read-locked while working on a unit, write-locked while sealing a run
	reach   sync.Mutex   // guards manifest.Inputs while units are worked on
	big     sync.Mutex   // locked by the one worker that works on a unit of many megabytes
	broken  failure

	stage    stage
	read     atomic.Int64
	rejected atomic.Int64
	skipped  atomic.Int64
	labelled atomic.Int64
	text     atomic.Int64 // decompressed
	watched  watchList
	fresh    atomic.Int64

	annotations, freshAnnotations int64            // set by merge
	predicates                    PredicateCounter // set by merge or writeTables
}

// Load loads the sources into the sink. When it returns without an error, all triples are visible,
// at once and durably; otherwise the store is unchanged. If the error wraps [ErrKept], a later Load
// with [Options.Resume] continues with the work done so far.
func Load(ctx context.Context, sink Sink, sources []input.Source, opts Options) (Summary, error) {
	begun := time.Now()
	if err := opts.Validate(); err != nil {
		return Summary{}, err
	}
	if len(sources) == 0 {
		return Summary{}, errors.New("nothing to load: no input")
	}
	l := &loader{sink: sink, sources: sources, opts: opts.withDefaults()}
	l.stage.enter(Reading, 0)
	resumed, err := l.prepare()
	if err != nil {
		return Summary{}, err
	}
	defer running.remove(l.dir)
	l.opts.Prefix = l.manifest.Declared.recordTo(l.opts.Prefix)
	stop := l.report()
	record, err := l.run(ctx)
	stop()
	if err != nil {
		return Summary{}, l.explain(err)
	}
	s := Summary{Record: *record, Bytes: l.text.Load(), Duration: time.Since(begun), PeakMemory: memory.Peak(), Runs: l.manifest.RunsMade, Skipped: l.skipped.Load(), Labelled: l.labelled.Load(), Resumed: resumed, Warnings: l.opts.warnings.list}
	s.Rate = float64(s.Read) / max(s.Duration.Seconds(), 1e-9)
	return s, nil
}

// explain returns an error with advice for the user. It removes the load's directory if the load
// cannot be resumed: because nothing is in runs yet, or because the inputs must change.
func (l *loader) explain(err error) error {
	var syntax *triple.SyntaxError
	switch {
	case errors.As(err, &syntax):
		err = fmt.Errorf("%w: %w", err, ErrRejected)
	case errors.Is(err, errBudget):
		err = fmt.Errorf("%w: raise --memory", ErrNoMemory)
	}
	kept := l.manifest.resumable() && len(l.manifest.Runs) > 0 && !errors.Is(err, ErrRejected) && !errors.Is(err, ErrChanged)
	if l.begun && l.start.Spread != nil {
		l.start.Spread.End(l.manifest.ID, kept)
	}
	if kept {
		return fmt.Errorf("%w; %w", err, ErrKept)
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// newLoadID returns a unique ID of 13 letters and digits: 64 random bits.
func newLoadID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:]))
}

// blankPrefix returns the prefix of the labels of an input's blank nodes.
func blankPrefix(id string, source int) string { return fmt.Sprintf("b%sd%d", id, source) }

func (l *loader) run(ctx context.Context) (_ *Record, err error) {
	// 1. Begin in the sink. If an earlier session has published this load, only its files are left
	// to remove.
	if l.start, err = l.sink.Begin(ctx, l.manifest.ID); err != nil {
		return nil, err
	}
	if l.start.Existing != nil {
		defer func() { err = errors.Join(err, l.start.Existing.Close()) }()
	}
	if l.start.Published != nil {
		return l.published()
	}
	// 2. A resumed load must use the stamp of its first session, because the rows in runs have it.
	if l.manifest.Stamp == nil {
		l.manifest.Stamp = &l.start.Stamp
	}
	if *l.manifest.Stamp != l.start.Stamp {
		return nil, fmt.Errorf("%w: the store has become another one; load again without --resume", ErrChanged)
	}
	l.begun = true
	// 3. Restore the counters of earlier sessions.
	l.common = (&triple.Value{Stamp: l.start.Stamp}).Append(nil)
	l.read.Store(l.manifest.Read)
	l.rejected.Store(l.manifest.Rejected)
	l.skipped.Store(l.manifest.Skipped)
	l.labelled.Store(l.manifest.Labelled)
	l.text.Store(l.manifest.Bytes)
	if l.rejects, err = openRejects(l.dir, l.manifest.Rejects); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.rejects.close()) }()

	// 4. Make the tables, publish them, and remove the directory.
	record, err := l.makeAndPublish(ctx)
	if err != nil {
		return nil, err
	}
	return record, l.finish()
}

func (l *loader) makeAndPublish(ctx context.Context) (*Record, error) {
	if l.start.Spread != nil {
		return l.loadSpread(ctx)
	}
	tables, err := l.makeTables(ctx)
	if err != nil {
		return nil, err
	}
	return l.publish(ctx, tables)
}

func (l *loader) publish(ctx context.Context, tables []string) (*Record, error) {
	if !l.reported {
		if l.opts.BeforePublish != nil {
			if err := l.opts.BeforePublish(ctx); err != nil {
				return nil, err
			}
		}
		if err := l.rejects.copyTo(l.opts.Rejects); err != nil {
			return nil, fmt.Errorf("write the report of rejected statements: %w", err)
		}
		l.reported = true
	}
	l.stage.enter(Publishing, 0)
	read, fresh := l.read.Load(), l.fresh.Load()
	record := &Record{ID: l.manifest.ID, Read: read, New: fresh, Duplicates: read - fresh, Rejected: l.rejected.Load(),
		Annotations: l.annotations, NewAnnotations: l.freshAnnotations, Predicates: l.predicates.Counts()}
	if err := l.sink.Publish(ctx, *record, tables); err != nil {
		return nil, err
	}
	return record, nil
}

// published ends a load that was interrupted after it was published. The rejects are complete,
// because they were complete before Publish.
func (l *loader) published() (*Record, error) {
	l.text.Store(l.manifest.Bytes)
	l.skipped.Store(l.manifest.Skipped)
	l.labelled.Store(l.manifest.Labelled)
	if err := copyRejects(l.opts.Rejects, l.dir); err != nil {
		return nil, fmt.Errorf("write the report of rejected statements: %w", err)
	}
	return l.start.Published, l.finish()
}

// finish removes the directory of a load when it is in the store.
func (l *loader) finish() error {
	if err := os.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("the load is in the store, but its files cannot be removed: %w", err)
	}
	return nil
}

// makeTables reads the inputs and writes the tables of all orders. It goes straight to the merge if
// all input is in runs.
func (l *loader) makeTables(ctx context.Context) ([]string, error) {
	if l.manifest.ReadAll {
		return l.merge(ctx)
	}
	var err error
	if l.space, err = newRunSpace(l.opts.Workers, l.opts.runBudget()); err != nil {
		return nil, err
	}
	defer l.releaseSpace()
	if err := l.readInputs(ctx); err != nil {
		return nil, err
	}
	if len(l.manifest.Runs) == 0 && !l.space.annotated() {
		return l.writeTables(ctx) // all of it is in memory, so run files are not necessary
	}
	if err := l.spillLast(ctx); err != nil {
		return nil, err
	}
	return l.merge(ctx)
}

// spillLast writes the last run and merges levels if there are too many runs.
func (l *loader) spillLast(ctx context.Context) error {
	if err := l.spill(true); err != nil {
		return err
	}
	l.releaseSpace()
	return l.mergeLevels(ctx)
}

func (l *loader) releaseSpace() {
	if l.space != nil {
		l.space.release()
		l.space = nil
	}
}

// failure keeps the error that stopped a load. If statements are malformed, it keeps the first in
// the order of the inputs. An error replaces the end of a context, because the end of a context is
// often only its consequence.
type failure struct {
	mu     sync.Mutex
	err    error
	source int
	number int64
	cancel context.CancelFunc
}

func (f *failure) set(err error, source int, number int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var syntax *triple.SyntaxError
	first := f.err == nil || interrupted(f.err) && !interrupted(err)
	earlier := errors.As(err, &syntax) && errors.As(f.err, &syntax) &&
		(source < f.source || source == f.source && number < f.number)
	if first || earlier {
		f.err, f.source, f.number = err, source, number
	}
	f.cancel()
}

func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// interrupted reports whether err only means that a context has ended.
func interrupted(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
