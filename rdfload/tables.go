package rdfload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/triple"
)

// tableBytes is the size at which a table is closed and the next one begun.
const tableBytes = 64 << 20

// predicateBytes is the size from which a table of POS ends with its predicate. A
// store estimates ranges by the rows and bytes of tables, and rows of one predicate
// compress alike: tables of few predicates make its estimates good.
const predicateBytes = 512 << 10

// rowSink takes rows in ascending order of keys.
type rowSink interface {
	Set(key, value []byte) error
	Close() error
}

// tableWriter writes rows to sorted tables of the sink, one after the other. The
// tables of writers with different names never meet.
type tableWriter struct {
	ctx   context.Context
	sink  Sink
	name  string // path of the tables but for number and ending
	limit uint64 // bytes of a table
	table Table
	paths []string
	tells bool  // the tables themselves say what is new
	fresh int64 // triples of it
	notes int64 // annotations of it
	since int   // rows and, in units of rows, bytes since the last check

	predicate []byte // how the keys of the last row's predicate begin, in POS
}

// checkEvery is after how many rows a long loop looks whether it should end.
const checkEvery = 1 << 14

// rowBytes is how many bytes of a long row count as one more row.
const rowBytes = 256

func (l *loader) tableWriter(ctx context.Context, name string) *tableWriter {
	return &tableWriter{ctx: ctx, sink: l.sink, name: filepath.Join(l.dir, name), limit: l.opts.limits.tableBytes}
}

func (w *tableWriter) Set(key, value []byte) error {
	if w.since += 1 + len(value)/rowBytes; w.since >= checkEvery {
		w.since = 0
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if w.table != nil && w.table.Bytes() >= w.limit {
			if err := w.closeTable(); err != nil {
				return err
			}
		}
	}
	if len(key) > 0 && triple.Order(key[0]) == triple.POS && (len(w.predicate) == 0 || !bytes.HasPrefix(key, w.predicate)) {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		w.predicate = append(w.predicate[:0], key[:min(1+len(terms[triple.Predicate])+2, len(key))]...) // with the mark behind it
		if w.table != nil && w.table.Bytes() >= predicateBytes {
			if err := w.closeTable(); err != nil {
				return err
			}
		}
	}
	if w.table == nil {
		if err := w.sink.Room(tableBytes); err != nil {
			return err
		}
		path := fmt.Sprintf("%s-%04d.sst", w.name, len(w.paths))
		table, err := w.sink.CreateTable(path)
		if err != nil {
			return fmt.Errorf("create table %s: %w", filepath.Base(path), err)
		}
		w.table = table
		w.paths = append(w.paths, path)
	}
	if err := w.table.Set(key, value); err != nil {
		return fmt.Errorf("write table %s: %w", filepath.Base(w.paths[len(w.paths)-1]), err)
	}
	return nil
}

func (w *tableWriter) closeTable() error {
	table := w.table
	w.table = nil
	if err := table.Close(); err != nil {
		return err
	}
	if t, ok := table.(interface{ New() (int64, int64) }); ok {
		triples, annotations := t.New()
		w.tells = true
		w.fresh += triples
		w.notes += annotations
	}
	return nil
}

// abort ends the last table, of which not all rows came.
func (w *tableWriter) abort() error {
	if t, ok := w.table.(interface{ Abort() error }); ok {
		w.table = nil
		return t.Abort()
	}
	return w.Close()
}

// Close completes the last table.
func (w *tableWriter) Close() error {
	if w.table == nil {
		return nil
	}
	return w.closeTable()
}

// newCounter counts the keys of ascending order that a snapshot does not hold.
type newCounter struct {
	keys        Keys // nil: the store was empty
	valid       bool
	begun       bool
	fresh       int64 // versions
	annotations int64
}

func newCounterOf(snapshot Snapshot) (*newCounter, error) {
	c := &newCounter{}
	if snapshot == nil {
		return c, nil
	}
	var err error
	c.keys, err = snapshot.Keys()
	return c, err
}

// nearSteps is how many steps forward are taken before a seek: a load beside
// the store's keys steps, one among many more of them seeks.
const nearSteps = 8

func (c *newCounter) count(key []byte, annotation bool) error {
	fresh, err := c.isNew(key)
	switch {
	case !fresh:
	case annotation:
		c.annotations++
	default:
		c.fresh++
	}
	return err
}

func (c *newCounter) isNew(key []byte) (bool, error) {
	if c.keys == nil {
		return true, nil
	}
	if !c.begun {
		c.begun = true
		c.valid = c.keys.SeekGE(key)
	}
	for steps := 0; c.valid && bytes.Compare(c.keys.Key(), key) < 0; steps++ {
		if steps == nearSteps {
			c.valid = c.keys.SeekGE(key)
			break
		}
		c.valid = c.keys.Next()
	}
	if !c.valid {
		if err := c.keys.Err(); err != nil {
			return false, fmt.Errorf("read the store's triples: %w", err)
		}
		return true, nil
	}
	return !bytes.Equal(c.keys.Key(), key), nil
}

func (c *newCounter) close() error {
	if c.keys == nil {
		return nil
	}
	return errors.Join(c.keys.Err(), c.keys.Close())
}
