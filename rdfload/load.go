package rdfload

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// loader is one load.
type loader struct {
	sink     Sink
	sources  []Source
	opts     Options
	dir      string
	manifest *manifest
	start    Start
	common   []byte // the value of rows without long terms

	space   *runSpace
	rejects *rejectFile
	gate    sync.RWMutex // held to read by who works on a unit, to write by who seals a run
	reach   sync.Mutex   // of manifest.Inputs while units are worked on
	broken  failure

	phase    atomic.Value // Phase
	read     atomic.Int64
	rejected atomic.Int64
	text     atomic.Int64 // decompressed
	done     atomic.Int64 // rows of the phase so far
	total    atomic.Int64 // rows of the phase in all; 0: not known
	watched  watchList
	fresh    atomic.Int64
}

// Load loads the sources into the sink: all of their triples become visible at
// once, durably, when it returns without an error; else the store is unchanged.
// An interrupted load leaves what it has done in the sink's directory, for
// [Options.Resume].
func Load(ctx context.Context, sink Sink, sources []Source, opts Options) (Summary, error) {
	begun := time.Now()
	if err := opts.Validate(); err != nil {
		return Summary{}, err
	}
	if len(sources) == 0 {
		return Summary{}, errors.New("nothing to load: no input")
	}
	l := &loader{sink: sink, sources: sources, opts: opts.withDefaults()}
	l.phase.Store(Reading)
	resumed, err := l.prepare()
	if err != nil {
		return Summary{}, err
	}
	stop := l.report()
	record, err := l.run(ctx)
	stop()
	if err != nil {
		return Summary{}, l.explain(err)
	}
	s := Summary{Record: *record, Bytes: l.text.Load(), Duration: time.Since(begun), PeakMemory: peakMemory(), Runs: l.manifest.RunsMade, Resumed: resumed}
	s.Rate = float64(s.Read) / max(s.Duration.Seconds(), 1e-9)
	return s, nil
}

// explain turns what stopped a load into what its user can do about it, and
// removes what cannot be resumed.
func (l *loader) explain(err error) error {
	var syntax *triple.SyntaxError
	switch {
	case errors.As(err, &syntax):
		err = fmt.Errorf("%w: %w", err, ErrRejected)
	case errors.Is(err, errBudget):
		err = fmt.Errorf("%w: raise --memory", ErrNoMemory)
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && len(l.manifest.Runs) == 0 {
		return errors.Join(err, os.RemoveAll(l.dir))
	}
	return err
}

// prepare finds or makes the load's directory.
func (l *loader) prepare() (resumed bool, err error) {
	inputs := make([]manifestInput, len(l.sources))
	for i, s := range l.sources {
		inputs[i] = manifestInput{Name: s.Name, Size: s.Size, ModTime: s.ModTime, Line: 1}
	}
	settings := settingsOf(&l.opts)
	dir, m, err := findLoad(l.sink.Dir(), inputs)
	if err != nil {
		return false, err
	}
	if m != nil && l.opts.Resume {
		if err := m.unchanged(inputs, settings); err != nil {
			return false, err
		}
		l.dir, l.manifest = dir, m
		return true, nil
	}
	if m != nil { // an abandoned load of the same inputs
		if err := os.RemoveAll(dir); err != nil {
			return false, err
		}
	}
	id := newLoadID()
	l.dir = filepath.Join(l.sink.Dir(), id)
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return false, fmt.Errorf("make the load's directory: %w", err)
	}
	l.manifest = &manifest{Format: manifestFormat, ID: id, Inputs: inputs, Settings: settings}
	return false, l.manifest.save(l.dir)
}

// newLoadID returns 13 letters and digits that no other load has: 64 random bits.
func newLoadID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(random[:]))
}

// blankPrefix returns what the labels of an input's blank nodes begin with.
func blankPrefix(id string, source int) string { return fmt.Sprintf("b%sd%d", id, source) }

func (l *loader) run(ctx context.Context) (_ *Record, err error) {
	if l.start, err = l.sink.Begin(ctx, l.manifest.ID); err != nil {
		return nil, err
	}
	if l.start.Existing != nil {
		defer func() { err = errors.Join(err, l.start.Existing.Close()) }()
	}
	if l.start.Published != nil {
		return l.start.Published, os.RemoveAll(l.dir)
	}
	l.common = (&triple.Value{Stamp: l.start.Stamp}).Append(nil)
	l.read.Store(l.manifest.Read)
	l.rejected.Store(l.manifest.Rejected)
	l.text.Store(l.manifest.Bytes)
	if l.rejects, err = openRejects(l.dir, l.manifest.Rejects); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.rejects.close()) }()

	tables, err := l.makeTables(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.rejects.copyTo(l.opts.Rejects); err != nil {
		return nil, fmt.Errorf("write the report of rejected statements: %w", err)
	}
	l.phase.Store(Publishing)
	read, fresh := l.read.Load(), l.fresh.Load()
	record := &Record{ID: l.manifest.ID, Read: read, New: fresh, Duplicates: read - fresh, Rejected: l.rejected.Load()}
	if err := l.sink.Publish(ctx, *record, tables); err != nil {
		return nil, fmt.Errorf("publish the load: %w", err)
	}
	return record, os.RemoveAll(l.dir)
}

// makeTables reads the inputs and writes the tables of all orders.
func (l *loader) makeTables(ctx context.Context) ([]string, error) {
	if l.manifest.ReadAll {
		return l.merge(ctx)
	}
	var err error
	if l.space, err = newRunSpace(l.opts.Workers, l.runBudget()); err != nil {
		return nil, err
	}
	defer l.releaseSpace()
	if err := l.readInputs(ctx); err != nil {
		return nil, err
	}
	if len(l.manifest.Runs) == 0 {
		return l.writeTables(ctx) // all of it is in memory: no need for run files
	}
	if err := l.spill(ctx, true); err != nil {
		return nil, err
	}
	l.releaseSpace()
	return l.merge(ctx)
}

func (l *loader) releaseSpace() {
	if l.space != nil {
		l.space.release()
		l.space = nil
	}
}

// runBudget returns what a run may take of the memory budget: the rest is for
// blocks in flight, tables being written and the decompressors.
func (l *loader) runBudget() int64 {
	return l.opts.Memory - max(l.opts.Memory/8, 24<<20)
}

// blockBytes returns the size of blocks: small budgets get small ones.
func (l *loader) blockBytes() int {
	return int(min(max(l.opts.Memory/512, 64<<10), 1<<20))
}

// failure keeps what stopped a load: of several malformed statements the first
// in the order of the inputs.
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
	first := f.err == nil
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
