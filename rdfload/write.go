package rdfload

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/triple"
)

// writeTables writes the run in memory, which is the whole load, as tables.
func (l *loader) writeTables(ctx context.Context) ([]string, error) {
	run := l.sealRun()
	l.stage.enter(Writing, run.rows())
	var tables []string
	err := run.eachOrder(func(o triple.Order, quads []quad) error {
		shares := split(len(quads), l.opts.Workers)
		paths := make([][]string, len(shares))
		err := parallelErr(len(shares), func(i int) (err error) {
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
			paths[i] = w.paths
			return err
		})
		for _, p := range paths {
			tables = append(tables, p...)
		}
		return err
	})
	return tables, err
}

// sealRun sorts the run under construction.
func (l *loader) sealRun() *run {
	l.stage.enter(Sorting, 0)
	return l.space.seal()
}

// writeRows writes the rows of quads to w and closes it. counter may be nil.
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

// parallelErr is parallel for functions that can fail. Of several errors, which
// have the same cause as a rule, it returns one: rather not the end of a context,
// by which one has stopped the others.
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

// spill writes the run under construction to run files and notes in the
// manifest what of the inputs is in them. last tells that the inputs are read to
// their ends.
//
// It does not end with a context: sealing changes the run in its place, so that
// what has begun must be completed, and an interrupted load ends with it anyway.
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
	// Three orders, in which prefixes and compression leave about half of a term's
	// bytes and a few more of each row.
	if err := l.sink.Room(3 * l.space.takes() / 4); err != nil {
		return err
	}
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
	l.manifest.Runs = append(l.manifest.Runs, made)
	if l.space.annotated() {
		if err := l.spillAnnotations(run); err != nil {
			return err
		}
	}
	return syncDir(l.dir)
}

// newRun names a new run.
func (l *loader) newRun(level int) manifestRun {
	l.manifest.RunsMade++
	return manifestRun{Name: fmt.Sprintf("run-%06d", l.manifest.RunsMade), Level: level, Files: make(map[string][]string)}
}

func (r *manifestRun) fileName(o triple.Order, piece int) string {
	return fmt.Sprintf("%s-%s-%d", r.Name, o, piece)
}
