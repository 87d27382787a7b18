// Writing of runs: as tables if the load is one run, otherwise as run files.

package rdfload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/internal/atomicfile"
	"github.com/trefoildb/trefoil/triple"
)

// writeTables writes the run in memory as tables. It must be the whole load.
func (l *loader) writeTables(ctx context.Context) ([]string, error) {
	// 1. Sort the run, then write each order in one share for each worker.
	run := l.sealRun()
	l.stage.enter(Writing, run.rows())
	var tables []string
	err := run.eachOrder(func(o triple.Order, quads []quad) error {
		shares := split(len(quads), l.opts.Workers)
		paths := make([][]string, len(shares))
		predicates := make([]PredicateCounter, len(shares))
		err := parallelErr(len(shares), func(i int) (err error) {
			// 2. Only order SPO counts new triples. Each share counts its own and adds them at the
			// end.
			var counter *newCounter
			if o == triple.SPO {
				if counter, err = newCounterOf(l.start.Existing); err != nil {
					return err
				}
				defer func() {
					l.fresh.Add(counter.fresh)
					err = errors.Join(err, counter.close())
				}()
			}
			w := l.tableWriter(ctx, fmt.Sprintf("table-%s-%d", o, i))
			err = l.writeRows(w, run.newRowMaker(o, l.start.Stamp), quads[shares[i].lo:shares[i].hi], counter)
			paths[i], predicates[i] = w.paths, w.predicates
			return err
		})
		if o == triple.POS {
			for i := range predicates {
				l.predicates.addAll(predicates[i].Counts())
			}
		}
		// 3. Tables are listed in order even if a share has failed.
		for _, p := range paths {
			tables = append(tables, p...)
		}
		return err
	})
	return tables, err
}

// sealRun sorts the current run.
func (l *loader) sealRun() *run {
	l.stage.enter(Sorting, 0)
	return l.space.seal()
}

// writeRows writes the rows of quads to w and closes it. If counter is not nil, it counts new keys.
func (l *loader) writeRows(w rowSink, maker *rowMaker, quads []quad, counter *newCounter) error {
	for i, q := range quads {
		key, value := maker.row(q)
		if counter != nil {
			if err := counter.count(key, false); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if err := w.Set(key, value); err != nil {
			return errors.Join(err, w.Close())
		}
		if i%checkEvery == checkEvery-1 {
			l.stage.step(checkEvery)
		}
	}
	return w.Close()
}

// parallelErr is parallel for functions that can fail. If several fail, it returns one error
// because they usually have the same cause. It prefers another error to the end of a context,
// because the first failure often stops the others by a context.
func parallelErr(n int, f func(i int) error) (err error) {
	errs := make([]error, n)
	parallel(n, func(i int) { errs[i] = f(i) })
	for _, e := range errs {
		if err == nil || interrupted(err) && e != nil && !interrupted(e) {
			err = e
		}
	}
	return err
}

// spill writes the current run to run files and records in the manifest how far the inputs are in
// runs. last must be true if the inputs are read to their ends.
//
// It does not stop when a context is done. Sealing changes the run in place, so it must be
// completed. An interrupted load ends with it anyway.
func (l *loader) spill(last bool) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	return l.spillLocked(last)
}

func (l *loader) spillLocked(last bool) error {
	if !l.space.empty() {
		if err := l.spillRun(); err != nil {
			return fmt.Errorf("write a sorted run: %w", err)
		}
	}
	if err := l.space.reset(); err != nil {
		return err
	}
	m := l.manifest
	size, err := l.rejects.sync()
	if err != nil {
		return err
	}
	m.Read, m.Rejected, m.Rejects, m.Bytes = l.read.Load(), l.rejected.Load(), size, l.text.Load()
	m.Skipped, m.Labelled = l.skipped.Load(), l.labelled.Load()
	m.ReadAll = last
	return m.save(l.dir)
}

func (l *loader) spillRun() error {
	// 1. Check the disk for three orders: prefixes and compression leave about half of a term's
	// bytes, and a few more of each row.
	if err := l.sink.Room(3 * l.space.takes() / 4); err != nil {
		return err
	}
	// 2. Sort the run, and write each order in one file for each worker.
	run := l.sealRun()
	l.stage.enter(Writing, run.rows())
	made := l.newRun(0)
	err := run.eachOrder(func(o triple.Order, quads []quad) error {
		shares := split(len(quads), l.opts.Workers)
		names := make([]string, len(shares))
		err := parallelErr(len(shares), func(i int) error {
			names[i] = made.fileName(o, i)
			w, err := createRunFile(filepath.Join(l.dir, names[i]), l.common)
			if err != nil {
				return err
			}
			return l.writeRows(w, run.newRowMaker(o, l.start.Stamp), quads[shares[i].lo:shares[i].hi], nil)
		})
		made.Files[o.String()] = names
		return err
	})
	if err != nil {
		return err
	}
	// 3. Annotations form a run of their own. Files are durable only when the directory is synced.
	l.manifest.Runs = append(l.manifest.Runs, made)
	if l.space.annotated() {
		if err := l.spillAnnotations(run); err != nil {
			return err
		}
	}
	return atomicfile.SyncDir(l.dir)
}

// newRun returns a new run with a unique name. It is not in the manifest yet.
func (l *loader) newRun(level int) manifestRun {
	l.manifest.RunsMade++
	return manifestRun{Name: fmt.Sprintf("run-%06d", l.manifest.RunsMade), Level: level, Files: make(map[string][]string)}
}

func (r *manifestRun) fileName(o triple.Order, piece int) string {
	return fmt.Sprintf("%s-%s-%d", r.Name, o, piece)
}
