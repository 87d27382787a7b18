// The tables that a load hands to the store, and the interfaces of that store.

package rdfload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/trefoildb/trefoil/triple"
)

// Sink is the store that a load goes into. Package node implements it.
type Sink interface {
	// Dir returns the directory for the files of loads; each load has its own directory in it. It
	// must be on the store's filesystem, because tables are moved into the store.
	Dir() string

	// Begin starts the load with an ID, or resumes it after an interruption.
	Begin(ctx context.Context, id string) (Start, error)

	// Room returns an error if writing bytes more would reduce the disk's free space below its
	// watermark.
	Room(bytes int64) error

	// CreateTable starts a sorted table in a new file at path. Several tables may be written at the
	// same time.
	CreateTable(path string) (Table, error)

	// Publish makes the rows of the tables and the record of the load visible, all at once and
	// durably. Keys of different tables must not overlap. Afterwards the table files belong to the
	// store.
	Publish(ctx context.Context, record Record, tables []string) error
}

// Spread is what a [Sink] has besides if it sends rows to several machines: [Start.Spread]. Some of
// them may change or fail during a load. The load must therefore keep its sorted runs until it is
// published, because it may have to make tables again. If a call for a table, or Publish, returns
// [ErrMoved], the load calls Place again. If tables were completed for the same place before, they
// still count.
//
// A table may have two more methods. Abort() error is called instead of Close if the table will not
// be completed. New() (triples, annotations int64) is called after Close. It returns how many of
// its rows in SPO the store did not hold. Start.Existing may be nil then.
type Spread interface {
	// Place waits until tables can be made, and returns the name of their place.
	Place(ctx context.Context, sample Sample) (place string, err error)
	// End ends a load that was begun but is not published; kept is true if it can be resumed.
	End(id string, kept bool)
}

// ErrMoved is returned by a [Sink] with a [Spread] if rows no longer belong to the machines that received them.
var ErrMoved = errors.New("the tables have to be made anew for other machines")

// Sample describes the distribution of a load's rows over the space of keys.
type Sample struct {
	// Keys ascend. Between two keys of one order there are about the same bytes of rows. If there
	// are few rows, there are few keys.
	Keys [][]byte
	// Bytes is the approximate size of all rows, lightly compressed.
	Bytes int64
}

// Start is the state of the store at the start of a load.
type Start struct {
	// Stamp is the stamp of all rows of the load.
	Stamp triple.Stamp
	// Existing is the store's content when the load began; nil if it was empty. The load must close
	// it.
	Existing Snapshot
	// Spread is nil if all rows go to one machine.
	Spread Spread
	// Published is the load's record if the load is already in the store. Nothing is left to do
	// then.
	Published *Record
}

// Snapshot is a consistent state of a store. Several goroutines may use its iterators, but each
// iterator must be used by only one.
type Snapshot interface {
	Keys() (Keys, error)
	Close() error
}

// Keys iterates over the keys of a snapshot's rows and annotations in ascending order. A key is
// valid until the next call.
type Keys interface {
	SeekGE(key []byte) bool
	Next() bool
	Key() []byte
	Err() error
	Close() error
}

// Table is a sorted table that is being written.
type Table interface {
	// Set appends a row. Keys must ascend strictly. The table copies both slices.
	Set(key, value []byte) error
	// Bytes returns the approximate size of the file so far.
	Bytes() uint64
	// Close completes the file and syncs it.
	Close() error
}

// Record is the row of a load in the store. The load is done when it is visible.
type Record struct {
	ID         string `json:"id"`
	Read       int64  `json:"read"`       // statements read, without rejected ones
	New        int64  `json:"new"`        // distinct triples that the store did not hold
	Duplicates int64  `json:"duplicates"` // the others: in the store before, or read before
	Rejected   int64  `json:"rejected"`   // malformed statements left out
	// Annotations counts the loaded annotations; NewAnnotations counts those that the store did not
	// hold. An annotation is new if it is of another application or on another triple.
	Annotations    int64 `json:"annotations,omitempty"`
	NewAnnotations int64 `json:"new_annotations,omitempty"`
	// Predicates is the number of rows of each predicate, annotations included; nil if there are very
	// many predicates.
	Predicates map[string]int64 `json:"predicates,omitzero"`
}

// tableBytes is the size in bytes at which a table is closed and the next begins.
const tableBytes = 64 << 20

// predicateBytes is the size in bytes from which a table of POS ends with its predicate. A store
// estimates ranges by the rows and bytes of tables. If a table has few predicates, the estimates
// are good, because rows of one predicate compress alike.
const predicateBytes = 512 << 10

// rowSink receives rows; the keys must ascend.
type rowSink interface {
	Set(key, value []byte) error
	Close() error
}

// tableWriter writes rows to sorted tables of the sink, one after the other. Writers must have
// different names, because their tables must not collide.
type tableWriter struct {
	ctx         context.Context
	sink        Sink
	name        string // path of the tables without number and suffix
	limit       uint64 // bytes of a table
	table       Table
	paths       []string
	countsRows  bool  // true if the tables themselves count new rows
	fresh       int64 // new triples, if tells
	annotations int64 // new annotations, if tells
	since       int   // rows since the last check; rowBytes count as one more

	predicate  []byte // first bytes of the keys of the last row's predicate, in POS
	predicates PredicateCounter
}

// checkEvery is the number of rows after which a long loop checks its context.
const checkEvery = 1 << 14

// rowBytes is the number of bytes of a long row that count as one more row.
const rowBytes = 256

func (l *loader) tableWriter(ctx context.Context, name string) *tableWriter {
	return &tableWriter{ctx: ctx, sink: l.sink, name: filepath.Join(l.dir, name), limit: l.opts.limits.tableBytes}
}

func (w *tableWriter) Set(key, value []byte) error {
	// 1. Check the context and the table's size, but only every checkEvery rows.
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
	// 2. In POS, a large table must end when the predicate changes.
	if len(key) > 0 && triple.Order(key[0]) == triple.POS && (len(w.predicate) == 0 || !bytes.HasPrefix(key, w.predicate)) {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return err
		}
		// The prefix includes the mark after the predicate.
		w.predicate = append(w.predicate[:0], key[:min(1+len(terms[triple.Predicate])+2, len(key))]...)
		w.predicates.Begin(terms[triple.Predicate])
		if w.table != nil && w.table.Bytes() >= predicateBytes {
			if err := w.closeTable(); err != nil {
				return err
			}
		}
	}
	w.predicates.Count()
	// 3. Open a table when there is a row for it, because an empty one must not be made.
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
		w.countsRows = true
		w.fresh += triples
		w.annotations += annotations
	}
	return nil
}

// abort ends the last table without all its rows. If the table has no Abort, it is closed.
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

// newCounter counts the keys that a snapshot does not hold. The keys must come in ascending order.
type newCounter struct {
	keys        Keys // nil if the store was empty
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

// nearSteps is the number of steps forward before a seek. If the load's keys are close to the
// store's keys, steps are faster. If they are few among many, seeks are faster.
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
