// The contract of lone stores and clusters, and its errors.

package store

import (
	"context"
	"io"
	"iter"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// Errors of a store. Test with [errors.Is]. Package fault describes them.
var (
	ErrNotFound       = fault.ErrNotFound
	ErrReadOnly       = fault.ErrReadOnly
	ErrClosed         = fault.ErrClosed
	ErrDiskFull       = fault.ErrDiskFull
	ErrLocked         = fault.ErrLocked
	ErrVersion        = fault.ErrVersion
	ErrCorrupt        = fault.ErrCorrupt
	ErrBackup         = fault.ErrBackup
	ErrFailed         = fault.ErrFailed
	ErrBusy           = fault.ErrBusy
	ErrUnknown        = fault.ErrUnknown
	ErrBegun          = fault.ErrBegun
	ErrDone           = fault.ErrDone
	ErrTooLarge       = fault.ErrTooLarge
	ErrMember         = fault.ErrMember
	ErrUnavailable    = fault.ErrUnavailable
	ErrLost           = fault.ErrLost
	ErrSnapshotTooOld = fault.ErrSnapshotTooOld
	ErrInvalid        = fault.ErrInvalid
	ErrRejected       = fault.ErrRejected
)

// The tables of a store's database, see package keyspace.
const (
	TableStorage = keyspace.Storage // rows of this machine's segments
	TableReplica = keyspace.Replica // extra copies: rows of SPO
)

// Triples is a store of triples: a lone [*Store], or a cluster seen from one of its members. All
// methods are safe for concurrent use.
type Triples interface {
	// Reader returns a view of the triples. The caller must close it.
	Reader() (Reader, error)
	// StateReader returns a view whose rows are all of one state. If those of that state are not kept any more, a read
	// returns [ErrSnapshotTooOld], and after the call of release rows of later states. In a cluster of two it is
	// Reader. The caller must close it.
	StateReader() (r Reader, release func(), err error)
	Writer
	Upkeep
	// Isolation returns the isolation of queries and updates.
	Isolation() Isolation
	// Sink receives bulk loads, see [rdfload.Load].
	Sink() rdfload.Sink
	// Feed returns the change feed.
	Feed() feed.Source
}

// Position is a position of the change feed.
type Position = feed.Position

// Reader reads triples until it is closed. The Reader of a lone store shows one moment. The Reader
// of a cluster does not; see package reads.
type Reader interface {
	Matcher
	AnnotationReader
	// Source returns the rows for queries. It is valid until the Reader is closed.
	Source() sparql.Source
	// Position returns the position of the change feed that the rows belong to. ok is false if they are
	// not of one moment.
	Position() (at Position, ok bool, err error)
	// OneMoment reports whether all rows so far are of one state of the store. It may be called after Close.
	OneMoment() bool
	// Degraded reports whether a row came from another order because the owner was down. The
	// answer is complete even then. It may be called after Close.
	Degraded() bool
	Close() error
}

// Matcher reads and counts the rows of patterns and ranges.
type Matcher interface {
	// Match returns the rows of p in the best order for it.
	Match(ctx context.Context, p triple.Pattern, o ReadOptions) iter.Seq2[Row, error]
	// Range returns the rows within bounds.
	Range(ctx context.Context, b triple.Bounds, o ReadOptions) iter.Seq2[Row, error]
	// Count returns the sum of the numbers of rows of all patterns. In a cluster those of a subject or a graph are one round.
	Count(ctx context.Context, all ...triple.Pattern) (int64, error)
	// Estimate returns about how many rows p has, and whether the number is exact.
	Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error)
}

// AnnotationReader reads the annotations of triples.
type AnnotationReader interface {
	// Annotation returns the annotation of an application on t, or nil.
	// Its Version is set.
	Annotation(ctx context.Context, t triple.Triple, applicationID string) (*Annotation, error)
	// Annotations returns all annotations of t with their versions, sorted by application ID.
	Annotations(ctx context.Context, t triple.Triple) iter.Seq2[Annotation, error]
}

// Upkeep is for operators.
type Upkeep interface {
	Backup(ctx context.Context, w io.Writer) error
	// Check verifies every row and changes nothing.
	Check(ctx context.Context) (api.CheckReport, error)
	Status() api.Status
	// Where returns the places of a triple, and which machines have it. The triple need not be
	// stored.
	Where(ctx context.Context, t triple.Triple) (api.Whereabouts, error)
	// SegmentMap returns the owners of the partitions, and of at most limit segments behind the first
	// offset ones.
	SegmentMap(ctx context.Context, offset, limit int) (SegmentMap, error)
	// Err returns the error that ended writes, or nil.
	Err() error
	// RegisterMetrics must be called at most once for a registry.
	RegisterMetrics(r prometheus.Registerer) error
}

var _ Triples = (*Store)(nil)

// Reader returns [Store.Snapshot] as a Reader.
func (s *Store) Reader() (Reader, error) {
	sn, err := s.Snapshot()
	if err != nil {
		return nil, err // not sn, because an interface with a nil pointer is not nil
	}
	return sn, nil
}

// StateReader is Reader.
func (s *Store) StateReader() (r Reader, release func(), err error) {
	r, err = s.Reader()
	return r, func() {}, err
}

// Degraded returns false, because a lone store has all orders.
func (sn *Snapshot) Degraded() bool { return false }

// OneMoment returns true.
func (sn *Snapshot) OneMoment() bool { return true }

// Isolation describes how queries and updates see each other. docs/GUARANTEES.md has examples for each.
type Isolation string

// The isolations.
const (
	// IsolationSnapshot is the isolation of a lone node: a query sees one state, and an update is
	// atomic.
	IsolationSnapshot Isolation = "snapshot"
	// IsolationTriple is the isolation of a cluster: operations on one triple are linearizable, and an
	// update is atomic, with limits. Not all parts of a query are promised to be of one state.
	IsolationTriple Isolation = "triple"
)

// Explain returns the meaning of an isolation in one line for people.
func (i Isolation) Explain() string {
	switch i {
	case IsolationSnapshot:
		return "a query sees one state, and an update is atomic"
	case IsolationTriple:
		return "each triple is linearizable, and an update is atomic; not all of a query is promised to be of one state"
	}
	return "unknown: the server does not say"
}

// Isolation returns IsolationSnapshot, because the store is opened by itself.
func (s *Store) Isolation() Isolation { return IsolationSnapshot }
