// The limits of a query, and its environment.

package exec

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/triple"
)

// Options are the settings of a query's execution. The zero value is usable: no clock and no
// randomness, so NOW, RAND and the like are errors.
type Options struct {
	// Memory is how many bytes the operators of the query may hold; 0 means
	// [memory.DefaultMemory].
	Memory int64
	// Reserve, if not nil, is called before the query holds more bytes, and with a
	// negative number when it holds less. It may wait. An error wraps [memory.ErrMemory] if
	// there is no room for them at present: operators then use temporary files.
	Reserve func(bytes int64) error
	// UnionDefaultGraph makes the default graph the merge of all graphs, if
	// neither the query nor these options name a dataset.
	UnionDefaultGraph bool
	// DefaultGraphs and NamedGraphs are IRIs of the protocol's dataset. If one is not empty, it
	// replaces the dataset of FROM and FROM NAMED, because the protocol's goes first.
	DefaultGraphs, NamedGraphs []string

	// Now is the value of NOW.
	Now time.Time
	// Nanos is a clock for the times of EXPLAIN; nil for none.
	Nanos func() int64
	// Uint64 returns random numbers.
	Uint64 func() uint64

	// Check is called at checkpoints, often. It may wait, and its error ends the query;
	// nil is the context's Err.
	Check func() error

	// Spill makes temporary files; nil for none: if rows do not fit in Memory, the query then
	// ends.
	Spill spill.Storage
	// SpillBytes is how many bytes the temporary files of the query may take at a
	// time; 0 means [spill.DefaultSpillBytes].
	SpillBytes int64
	// Cells keeps the cells of batches for other queries; nil keeps none.
	Cells memory.CellPool
	// Services answers SERVICE; nil turns it off.
	Services Services
	// Changed reports whether triples with a predicate have changes that are not committed, and that only the source has;
	// "" stands for any predicate. nil means that there are none. Links, Text, Literals and LinkEdges know what is committed.
	Changed func(predicate string) bool
	// Links answers the functions of hyperlinks; nil turns them off.
	Links LinkGraph
	// Text answers text:matches; nil turns it off.
	Text TextIndex
	// Literals finds literals by parts of their texts, for filters; nil turns it off.
	Literals LiteralIndex
	// LinkEdges returns a graph of hyperlinks whose links are exactly the triples of LinkPredicate in the
	// default graph of the source, and in the merge of all graphs. An error means that rows must be read.
	// nil is no such graph.
	LinkEdges func(context.Context) (LinkGraph, error)
	// LinkPredicate is the IRI of the links of LinkEdges, and of Links.
	LinkPredicate string
	// Documents answers LOAD of updates; nil turns it off.
	Documents Documents
}

// Validate returns nil if the options can be used.
func (o Options) Validate() error {
	if o.Memory < 0 {
		return fmt.Errorf("the memory of a query is %d bytes", o.Memory)
	}
	if o.SpillBytes < 0 {
		return fmt.Errorf("the temporary files of a query may take %d bytes", o.SpillBytes)
	}
	for _, list := range [][]string{o.DefaultGraphs, o.NamedGraphs} {
		for _, iri := range list {
			if err := triple.CheckIRI(iri); err != nil {
				return fmt.Errorf("graph: %w", err)
			}
		}
	}
	return nil
}
