// The merge of runs into tables, by several workers.

package rdfload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/triple"
)

func sortKeys(keys [][]byte) { slices.SortFunc(keys, bytes.Compare) }

// mergeTask is a range of one order that one worker merges.
type mergeTask struct {
	name   string // the same in every session of the load
	order  triple.Order
	lo, hi []byte
}

// merge merges all runs into tables, every order in several ranges. It saves the manifest after
// each range, because a resumed load must not merge it again.
func (l *loader) merge(ctx context.Context) ([]string, error) {
	l.stage.enter(Merging, 0)
	// 1. Cut the merge into tasks, and skip those that an earlier session has finished.
	runs, err := l.openRuns(l.manifest.Runs)
	if err != nil {
		return nil, err
	}
	tasks, err := l.mergeTasks(runs)
	if err != nil {
		return nil, err
	}
	l.stage.enter(Merging, int64(len(tasks)))
	l.stage.step(int64(len(l.manifest.Merged)))
	next := make(chan mergeTask, len(tasks))
	for _, t := range tasks {
		if _, ok := l.manifest.Merged[t.name]; !ok {
			next <- t
		}
	}
	close(next)
	// 2. Merge the tasks in parallel. The manifest is shared, so its lock must be held.
	var mu sync.Mutex // of the manifest
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	err = parallelErr(l.opts.mergers(len(l.manifest.Runs)), func(int) error {
		for t := range next {
			part, err := l.mergeRange(inner, t, runs[t.order])
			if err != nil {
				cancel() // stop the other workers
				return err
			}
			mu.Lock()
			l.manifest.Merged[t.name] = part
			err = l.manifest.save(l.dir)
			mu.Unlock()
			if err != nil {
				return err
			}
			l.stage.step(1)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("merge the sorted runs: %w", err)
	}
	// 3. Sum up the parts, in the order of the tasks.
	var tables []string
	fresh := int64(0)
	l.annotations, l.freshAnnotations, l.predicates = 0, 0, PredicateCounter{}
	for _, t := range tasks {
		part := l.manifest.Merged[t.name]
		fresh += part.Fresh
		l.annotations += part.Annotations
		l.freshAnnotations += part.FreshAnnotations
		if t.order == triple.POS && part.Rows > 0 {
			l.predicates.addAll(part.Predicates)
		}
		for _, name := range part.Tables {
			tables = append(tables, filepath.Join(l.dir, name))
		}
	}
	l.fresh.Store(fresh)
	return tables, nil
}

// openRuns reads the indexes of runs, by order.
func (l *loader) openRuns(of []manifestRun) (map[triple.Order][][]runPiece, error) {
	runs := make(map[triple.Order][][]runPiece)
	for _, r := range of {
		for _, o := range triple.Orders {
			pieces, err := l.openPieces(r.Files[o.String()])
			if err != nil {
				return nil, err
			}
			if len(pieces) > 0 {
				runs[o] = append(runs[o], pieces)
			}
		}
	}
	return runs, nil
}

func (l *loader) openPieces(names []string) ([]runPiece, error) {
	var pieces []runPiece
	for _, name := range names {
		p := runPiece{path: filepath.Join(l.dir, name)}
		var err error
		if p.index, p.end, err = readRunIndex(p.path); err != nil {
			return nil, err
		}
		if p.end > 0 {
			pieces = append(pieces, p)
		}
	}
	return pieces, nil
}

// mergeTasks cuts the merge of each order into ranges. The number of ranges is twice the number of
// workers, because then none waits long for another.
func (l *loader) mergeTasks(runs map[triple.Order][][]runPiece) ([]mergeTask, error) {
	// The bounds must be durable before the first range is merged, because task names depend on
	// them.
	m := l.manifest
	if m.Bounds == nil {
		m.Bounds = make(map[string][][]byte)
		m.Merged = make(map[string]merged)
		for o, r := range runs {
			m.Bounds[o.String()] = mergeBounds(r, 2*l.opts.Workers)
		}
		if err := m.save(l.dir); err != nil {
			return nil, err
		}
	}
	if m.Merged == nil {
		m.Merged = make(map[string]merged)
	}
	// An order without rows has no tasks.
	var tasks []mergeTask
	for _, o := range triple.Orders {
		if len(runs[o]) == 0 {
			continue
		}
		bounds := m.Bounds[o.String()]
		for i := range len(bounds) + 1 {
			t := mergeTask{name: fmt.Sprintf("%s-%02d", o, i), order: o}
			if i > 0 {
				t.lo = bounds[i-1]
			}
			if i < len(bounds) {
				t.hi = bounds[i]
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// mergeRange merges one range into tables. In order SPO it also counts the rows that the store
// lacks.
func (l *loader) mergeRange(ctx context.Context, t mergeTask, runs [][]runPiece) (part merged, err error) {
	// 1. Only order SPO counts new triples, because the other orders have the same ones.
	counter := &newCounter{}
	if t.order == triple.SPO {
		if counter, err = newCounterOf(l.start.Existing); err != nil {
			return part, err
		}
	}
	// 2. Merge into tables, without the places that only run files have.
	w := l.tableWriter(ctx, "table-"+t.name)
	err = mergeRuns(runs, t.lo, t.hi, l.common, func(key, value []byte) error {
		part.Rows++
		if t.order == triple.SPO {
			annotation := triple.IsAnnotation(value)
			if annotation {
				part.Annotations++
			}
			if err := counter.count(key, annotation); err != nil {
				return err
			}
		}
		stored, err := withoutPlace(value)
		if err != nil {
			return err
		}
		return w.Set(key, stored)
	})
	// 3. Close or abort the tables. If the sink has counted the new rows, its counts are used.
	if err != nil {
		err = errors.Join(err, w.abort())
	} else {
		err = w.Close()
	}
	err = errors.Join(err, counter.close())
	switch {
	case w.countsRows:
		part.Fresh, part.FreshAnnotations = w.fresh, w.annotations
	case t.order == triple.SPO:
		part.Fresh, part.FreshAnnotations = counter.fresh, counter.annotations
	}
	if t.order == triple.POS {
		part.Predicates = w.predicates.Counts()
	}
	for _, path := range w.paths {
		part.Tables = append(part.Tables, filepath.Base(path))
	}
	return part, err
}
