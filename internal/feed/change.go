// Changes, and the batches in which they arrive.

package feed

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Kind is the kind of a change.
type Kind uint8

const (
	// Add means that the triple exists now.
	Add Kind = iota + 1
	// Delete means that the triple no longer exists. Its annotations are gone, too.
	Delete
	// Annotate means that an application's annotation of the triple was set or removed.
	Annotate
	// Load means that a bulk load was published.
	Load
	// Clear means that a lone store has deleted whole graphs. A cluster deletes their triples one
	// by one.
	Clear
	// Read means that clients have read triples. No log has this kind: read counts are stored as an
	// annotation of their subscription, and [Change.Reads] makes changes of this kind from it.
	Read
)

// Kinds are the kinds of the change feed, in order.
var Kinds = [...]Kind{Add, Delete, Annotate, Load, Clear}

var kindNames = [...]string{Add: "add", Delete: "delete", Annotate: "annotate", Load: "load", Clear: "clear", Read: "read"}

// String returns the name of a kind, as in the HTTP API.
func (k Kind) String() string {
	if k.Valid() || k == Read {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Valid reports whether a log may have changes of the kind.
func (k Kind) Valid() bool { return k >= Add && k <= Clear }

// ParseKind returns the kind with a name.
func ParseKind(name string) (Kind, error) {
	if i := slices.Index(kindNames[:], name); i > 0 {
		return Kind(i), nil
	}
	return 0, fmt.Errorf("kind %q: the kinds are add, delete, annotate, load and clear, and of subscriptions read, too", name)
}

// Change is one change in the feed.
type Change struct {
	Kind Kind
	// Stamp and Sequencer identify the change together with Key. All triples of one request to a
	// lone store share a stamp. Sequencer is 0 in a lone store.
	Stamp     triple.Stamp
	Sequencer trie.MachineID
	// Depth is the number of calls of update functions, one caused by the other, that led to the
	// change. It is 0 if a client made it.
	Depth uint8
	// Time is that of the commit, if the batch has changes of several commits. Otherwise it is zero,
	// and Batch.Time counts.
	Time time.Time
	// Key is the triple's key in SPO; nil of Load and Clear.
	Key []byte
	// Long is the value with the triple's long terms in the form of [triple.AppendValue], of every
	// kind: a consumer must be able to delete what it has. It is nil if the triple has none.
	Long []byte
	// Annotation is set if Kind is Annotate.
	Annotation *Annotation
	// Load is set if Kind is Load.
	Load *LoadInfo
	// Clear is set if Kind is Clear.
	Clear *ClearInfo
	// ReadCount is set if Kind is Read: the members of a JSON object, as package readcount writes it.
	ReadCount []byte
}

// Annotation is what an application has attached to a triple.
type Annotation struct {
	ApplicationID string
	Removed       bool // the annotation is gone; Data is empty
	Data          []byte
}

// LoadInfo describes a published bulk load. Its rows have the stamp of the change.
type LoadInfo struct {
	ID         string     // of a lone store's load, or the decimal number of a cluster's
	New        int64      // triples that the load has added; -1 if unknown
	Predicates Predicates `json:",omitzero"` // of its rows, those that the store had before included
}

// Predicates is the number of rows by predicate, of a load or of cleared graphs. Annotations are
// rows, too. It is nil if there are very many predicates, and for all but the last 32 loads of a cluster.
type Predicates map[string]int64

// MayHave reports whether there may be a row with a predicate. The zero term is any predicate.
func (p Predicates) MayHave(predicate triple.Term) bool {
	if p == nil || predicate.IsZero() {
		return true
	}
	return predicate.Kind() == triple.IRI && p[predicate.Value()] > 0
}

// ClearInfo lists the graphs that were deleted.
type ClearInfo struct {
	All     bool          // every graph
	Default bool          // the default graph
	Graphs  []triple.Term // named graphs
	// Predicates is that of the deleted rows.
	Predicates Predicates `json:",omitzero"`
}

// HasRow reports whether a row with a stamp is of the bulk load c.
func (c *Change) HasRow(stamp triple.Stamp) bool { return slices.Contains(c.RowStamps(), stamp) }

// RowStamps returns the stamps of the rows of the bulk load c. Rows of a lone store's load have its
// stamp. Rows of a cluster's have its number, without an epoch, until a backfill moves them.
func (c *Change) RowStamps() []triple.Stamp {
	stamps := []triple.Stamp{c.Stamp}
	if number, err := strconv.ParseUint(c.Load.ID, 10, 64); err == nil && c.Stamp.Sequence == 0 {
		stamps = append(stamps, triple.Stamp{Sequence: number})
	}
	return stamps
}

// Triple decodes the triple of an Add, a Delete or an Annotate. The triple shares no memory with
// the change.
func (c *Change) Triple() (triple.Triple, error) {
	if c.Key == nil {
		return triple.Triple{}, fmt.Errorf("a change of kind %s has no triple", c.Kind)
	}
	value := c.Long
	if value == nil {
		value = emptyValue
	}
	_, t, err := triple.DecodeKey(c.Key, value)
	return t, err
}

// emptyValue is the value of a row without long terms.
var emptyValue = triple.AppendValue(nil, triple.Stamp{}, triple.Triple{})

// Clone copies what the next step of an iteration overwrites.
func (c *Change) Clone() Change {
	d := *c
	d.Key, d.Long = slices.Clone(c.Key), slices.Clone(c.Long)
	if c.Annotation != nil {
		a := *c.Annotation
		a.Data = slices.Clone(a.Data)
		d.Annotation = &a
	}
	return d
}

// Batch is the changes of some whole commits, or a part of one commit. All changes of one request to a
// lone store are one commit; in a cluster each change is one.
type Batch struct {
	// Time is the last commit's, by the clock of the machine that made it.
	Time time.Time
	// Changes are in order. They may be empty: then the batch only moves the position, because
	// the filter accepts none of the changes before it or because time has passed.
	Changes []Change
	// Position is behind the changes. Only if the batch is continued, it is before all of them. A
	// consumer that has processed the batch stores it.
	Position Position
	// Continued means that the batch is a part of the commit behind Position, and not its end. The
	// position does not move with such a batch. A consumer that leaves here reads the whole commit
	// again, so it must read on: see [Follower.Read]. The batch that ends the commit comes at once, if
	// need be without changes.
	Continued bool
}

// Request selects a part of the feed.
type Request struct {
	// Since is where to begin: behind this position. The zero Position is the oldest change that is
	// retained. See [Source.Position] for the end.
	Since Position
	// Filter selects changes. The zero Filter selects all.
	Filter Filter
	// Follow waits for more changes at the end. Otherwise the end ends the iteration. With Follow
	// the first batch comes at once, empty if there are no changes, because a consumer must learn
	// that its position is valid.
	Follow bool
	// Consistent makes the end a consistent state: if a change was acknowledged before another one was
	// requested, and the end has the other one, then it has both. It also has all that a reader has
	// seen. In a cluster writes pause for some round trips. It has no effect with Follow.
	Consistent bool
	// Heartbeat is the time after which an empty batch is sent if nothing else was; 0 is never. It
	// counts only with Follow.
	Heartbeat time.Duration
	// Positions sends an empty batch whenever the position has moved and the filter has selected
	// nothing, because the consumer has readers that wait for a position. It counts only with Follow.
	Positions bool
	// ForClient ends the iteration with store.ErrUnavailable if there is no progress for readtimeout.Idle, because a
	// client waits for the answer. Otherwise that takes minutes. With Follow it counts until the first batch, because
	// heartbeats come from then on.
	ForClient bool
	// MaxBytes bounds the bytes of one batch, about; 0 is 1 MiB. A batch has at least one change.
	MaxBytes int
}

// Source is a feed: a lone store's or a cluster's, seen from one of its members.
type Source interface {
	// Position returns the current end: every change that is acknowledged when Position is called
	// lies at or before it.
	Position(ctx context.Context) (Position, error)
	// Changes returns the requested changes, in order. A batch is valid until the next step. The
	// iteration ends with the first error. It ends without one when ctx is done and Follow is set,
	// or when all is read and Follow is not set.
	Changes(ctx context.Context, r Request) iter.Seq2[*Batch, error]
}
