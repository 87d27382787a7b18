// The interfaces of the store that a load goes into.

package rdfload

import (
	"context"
	"errors"

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
