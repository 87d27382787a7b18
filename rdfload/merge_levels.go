// Levels of runs: many runs are merged into a larger one.

package rdfload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/triple"
)

// mergeLevels merges the runs of a level into one of the next level if there are too many to be
// open at the same time. Each row is rewritten once a level, so the cost grows with the logarithm
// of the load's size.
func (l *loader) mergeLevels(ctx context.Context) error {
	for level := 0; ; level++ {
		// A level is merged only if it is full; lower levels first, because they may fill the next.
		var group, others []manifestRun
		for _, r := range l.manifest.Runs {
			if r.Level == level {
				group = append(group, r)
			} else {
				others = append(others, r)
			}
		}
		if len(group) == 0 && level > 0 {
			return nil
		}
		if len(group) < l.opts.levelRuns() {
			continue
		}
		made, err := l.mergeGroup(ctx, group)
		if err != nil {
			return fmt.Errorf("merge runs: %w", err)
		}
		// The manifest must be saved before the merged files are removed, because a crash may come
		// between.
		l.manifest.Runs = append(others, made)
		if err := l.manifest.save(l.dir); err != nil {
			return err
		}
		if err := l.removeRuns(group); err != nil {
			return err
		}
	}
}

// mergeGroup merges runs into one of the next level. It returns the new run, durable but not yet in
// the manifest.
func (l *loader) mergeGroup(ctx context.Context, group []manifestRun) (manifestRun, error) {
	l.stage.enter(Merging, 0)
	if l.space != nil { // it is empty, and run readers need the memory
		if err := l.space.renew(); err != nil {
			return manifestRun{}, err
		}
	}
	// 1. Check the disk: the new run needs about as much room as the group.
	size, err := l.sizeOf(group)
	if err == nil {
		err = l.sink.Room(size)
	}
	if err != nil {
		return manifestRun{}, err
	}
	// 2. Merge each order in parallel ranges, each into a run file.
	runs, err := l.openRuns(group)
	if err != nil {
		return manifestRun{}, err
	}
	made := l.newRun(group[0].Level + 1)
	made.Annotations = !slices.ContainsFunc(group, func(r manifestRun) bool { return !r.Annotations })
	for _, o := range triple.Orders {
		if len(runs[o]) == 0 {
			continue
		}
		bounds := mergeBounds(runs[o], l.opts.Workers)
		names := make([]string, len(bounds)+1)
		// Each range has its own file, so the workers need no lock.
		err := parallelErr(len(names), func(i int) error {
			names[i] = made.fileName(o, i)
			var lo, hi []byte
			if i > 0 {
				lo = bounds[i-1]
			}
			if i < len(bounds) {
				hi = bounds[i]
			}
			w, err := createRunFile(filepath.Join(l.dir, names[i]), l.common)
			if err != nil {
				return err
			}
			rows := 0
			// A merge must end soon when ctx is done, so check it every few rows; long values count
			// as more rows.
			err = mergeRuns(runs[o], lo, hi, l.common, func(key, value []byte) error {
				if rows += 1 + len(value)/rowBytes; rows >= checkEvery {
					rows = 0
					if err := ctx.Err(); err != nil {
						return err
					}
				}
				return w.Set(key, value)
			})
			return errors.Join(err, w.Close())
		})
		if err != nil {
			return manifestRun{}, err
		}
		made.Files[o.String()] = names
	}
	return made, atomicfile.SyncDir(l.dir)
}

// sizeOf returns the bytes of the files of runs.
func (l *loader) sizeOf(group []manifestRun) (int64, error) {
	size := int64(0)
	for _, r := range group {
		for _, names := range r.Files {
			for _, name := range names {
				info, err := os.Stat(filepath.Join(l.dir, name))
				if err != nil {
					return 0, err
				}
				size += info.Size()
			}
		}
	}
	return size, nil
}

// removeRuns removes the files of runs. The manifest must not name them any more.
func (l *loader) removeRuns(group []manifestRun) error {
	var errs []error
	for _, r := range group {
		for _, names := range r.Files {
			for _, name := range names {
				errs = append(errs, os.Remove(filepath.Join(l.dir, name)))
			}
		}
	}
	return errors.Join(errs...)
}
