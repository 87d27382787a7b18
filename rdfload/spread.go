// Loads into a cluster: tables are spread over its machines.

package rdfload

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/triple"
)

// movedPause is the time that a load waits before it makes tables again.
const movedPause = 100 * time.Millisecond

// loadSpread makes the tables from runs and publishes them. If machines have changed, it makes them
// again, until they are published or ctx is done.
func (l *loader) loadSpread(ctx context.Context) (*Record, error) {
	if err := l.makeRuns(ctx); err != nil {
		return nil, err
	}
	sample, err := l.sample()
	if err != nil {
		return nil, err
	}
	for {
		record, err := l.tryPlace(ctx, sample)
		if err == nil || !errors.Is(err, ErrMoved) {
			return record, err
		}
		if err := retry.Sleep(ctx, movedPause); err != nil {
			return nil, err
		}
	}
}

// makeRuns reads all inputs into run files. They are necessary because tables may have to be made
// again.
func (l *loader) makeRuns(ctx context.Context) (err error) {
	if l.manifest.ReadAll {
		return nil
	}
	if l.space, err = newRunSpace(l.opts.Workers, l.opts.runBudget()); err != nil {
		return err
	}
	defer l.releaseSpace()
	if err := l.readInputs(ctx); err != nil {
		return err
	}
	return l.spillLast(ctx)
}

// tryPlace makes the missing tables of the current place, and publishes them. If the place has
// changed, it makes all tables.
func (l *loader) tryPlace(ctx context.Context, sample Sample) (*Record, error) {
	l.stage.enter(Merging, 0)
	place, err := l.start.Spread.Place(ctx, sample)
	if err != nil {
		return nil, err
	}
	if m := l.manifest; m.Place != place {
		m.Place, m.Merged = place, nil
		if err := m.save(l.dir); err != nil {
			return nil, err
		}
	}
	tables, err := l.merge(ctx)
	if err != nil {
		return nil, err
	}
	return l.publish(ctx, tables)
}

// sample returns the sample of the rows, from the indexes of the runs.
func (l *loader) sample() (s Sample, err error) {
	// Annotations are left out, because they stay with their triples if the space is split.
	versions := slices.DeleteFunc(slices.Clone(l.manifest.Runs), func(r manifestRun) bool { return r.Annotations })
	runs, err := l.openRuns(versions)
	if err != nil {
		return s, err
	}
	for _, o := range triple.Orders {
		for _, pieces := range runs[o] {
			for _, p := range pieces {
				s.Bytes += p.end
				for _, e := range p.index {
					s.Keys = append(s.Keys, e.key)
				}
			}
		}
	}
	sortKeys(s.Keys)
	s.Keys = slices.CompactFunc(s.Keys, func(a, b []byte) bool { return string(a) == string(b) })
	return s, nil
}

// Clean removes the remains of loads that cannot be resumed from dir, a [Sink.Dir]. It returns the
// IDs of the loads that can be resumed or are running.
func Clean(dir string) (ids []string, err error) {
	running.preparing.Lock()
	defer running.preparing.Unlock()
	if _, _, err := findLoad(dir, nil, false); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}
