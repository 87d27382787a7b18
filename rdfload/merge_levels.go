package rdfload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// mergeLevels merges the runs of a level into one of the next level where they
// have become too many to be open at the same time. Each row is thereby
// rewritten once a level: a logarithm of the load's size.
func (l *loader) mergeLevels(ctx context.Context) error {
	for level := 0; ; level++ {
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
		if len(group) < l.opts.maxRuns() {
			continue
		}
		made, err := l.mergeGroup(ctx, group)
		if err != nil {
			return fmt.Errorf("merge runs: %w", err)
		}
		l.manifest.Runs = append(others, made)
		if err := l.manifest.save(l.dir); err != nil {
			return err
		}
		if err := l.removeRuns(group); err != nil {
			return err
		}
	}
}

// mergeGroup merges runs into one.
func (l *loader) mergeGroup(ctx context.Context, group []manifestRun) (manifestRun, error) {
	l.total.Store(0)
	defer l.phase.Store(l.phase.Swap(Merging))
	runs, err := l.openRuns(group)
	if err != nil {
		return manifestRun{}, err
	}
	made := l.newRun(group[0].Level + 1)
	for _, o := range triple.Orders {
		if len(runs[o]) == 0 {
			continue
		}
		bounds := mergeBounds(runs[o], l.opts.Workers)
		names := make([]string, len(bounds)+1)
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
			err = mergeRuns(runs[o], lo, hi, func(key, value []byte) error {
				if rows++; rows%checkEvery == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				if value == nil {
					value = l.common
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
	return made, syncDir(l.dir)
}

// removeRuns removes the files of runs that the manifest does not name any more.
func (l *loader) removeRuns(group []manifestRun) error {
	var errs []error
	for _, r := range group {
		for _, names := range r.Files {
			for _, name := range slices.Compact(names) {
				errs = append(errs, os.Remove(filepath.Join(l.dir, name)))
			}
		}
	}
	return errors.Join(errs...)
}
