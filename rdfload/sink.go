package rdfload

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/triple"
)

// Sink is the store that a load goes into. Package node implements it.
type Sink interface {
	// Dir returns the directory in which loads keep their files, each in one of
	// its own. It is on the store's filesystem, so that tables can be moved in.
	Dir() string

	// Begin starts, or after an interruption resumes, the load with an id.
	Begin(ctx context.Context, id string) (Start, error)

	// Room returns an error where writing so many more bytes would take the disk
	// below its watermark of free space.
	Room(bytes int64) error

	// CreateTable starts a sorted table in a new file at path. Several may be
	// written at a time.
	CreateTable(path string) (Table, error)

	// Publish makes the rows of the tables and the record of the load visible, all
	// at once and durably. Keys of different tables do not overlap. The table
	// files belong to the store afterwards.
	Publish(ctx context.Context, record Record, tables []string) error
}

// Spread is a [Sink] whose rows go to several machines, of which some may change,
// or fail, while a load is made. The load keeps its sorted runs until it is
// published, so that tables can be made anew: where a call for a table, or Publish,
// returns an error that is [ErrMoved], Place is asked again. Tables of the same
// place that were completed before then still count.
//
// A table may have a method Abort() error, which is called instead of Close where
// it will not be completed, and New() (triples, annotations int64), which after Close
// tells how many of its rows in SPO the store did not hold: Start.Existing need not
// be there then.
type Spread interface {
	Sink
	// Place waits until tables can be made, and names what they are made for.
	Place(ctx context.Context, sample Sample) (place string, err error)
	// End says that the making of a load, which was begun, is over without its being
	// published; kept tells that it can be resumed.
	End(id string, kept bool)
}

// ErrMoved is what a [Spread] returns where rows do not belong any more where they
// were put.
var ErrMoved = errors.New("the tables have to be made anew for other machines")

// Sample tells how the rows of a load are spread over the space of keys.
type Sample struct {
	// Keys ascend; between two of one order lie about as many bytes of rows. There
	// are few where there are few rows.
	Keys [][]byte
	// Bytes is about how long all rows are, compressed lightly.
	Bytes int64
}

// Start is what a load starts from.
type Start struct {
	// Stamp is the stamp of all rows of the load.
	Stamp triple.Stamp
	// Existing is what the store held when the load began; nil where it was
	// empty. The load closes it.
	Existing Snapshot
	// Published is the load's record where it is in the store already: there is
	// nothing left to do.
	Published *Record
}

// Snapshot is a consistent state of a store. Its iterators may be used in
// parallel, one by each goroutine.
type Snapshot interface {
	Keys() (Keys, error)
	Close() error
}

// Keys iterates over the keys of a snapshot's versions and annotations in ascending
// order. A key is valid until the next call.
type Keys interface {
	SeekGE(key []byte) bool
	Next() bool
	Key() []byte
	Err() error
	Close() error
}

// Table is a sorted table that is being written.
type Table interface {
	// Set appends a row. Keys ascend strictly. The table copies both slices.
	Set(key, value []byte) error
	// Bytes returns about how long the file is so far.
	Bytes() uint64
	// Close completes the file and syncs it.
	Close() error
}

// Record is what a store remembers of a load: the row that makes it done.
type Record struct {
	ID         string `json:"id"`
	Read       int64  `json:"read"`       // statements read, rejected ones not counted
	New        int64  `json:"new"`        // distinct triples that the store did not hold
	Duplicates int64  `json:"duplicates"` // the others: held already, or read before
	Rejected   int64  `json:"rejected"`   // malformed statements left out
	// Annotations are those that were loaded, NewAnnotations those of them that the
	// store did not hold: of another application or on another triple.
	Annotations    int64 `json:"annotations,omitempty"`
	NewAnnotations int64 `json:"new_annotations,omitempty"`
}
