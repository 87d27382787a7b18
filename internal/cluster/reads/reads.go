// The type Reads: its options, its two sides, and its methods for other members.

package reads

import (
	"context"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Peers is the other members, as far as reads need them, besides [member.Member].
type Peers interface {
	// Stream sends a message to another member and returns its answer as a stream.
	Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error)
	// WaitCommitted waits until their sequencers have committed the batches. If they cannot be
	// committed, because a machine is down, it returns store.ErrUnavailable at once.
	WaitCommitted(ctx context.Context, batches []replica.Origin) error
	// Uncommitted returns which of the batches their sequencers have not committed. With ticks, the store then has
	// the ticks of the others, and those of the batches are issued after the call.
	Uncommitted(ctx context.Context, batches []replica.Origin, ticks bool) ([]replica.Origin, error)
	// Now returns the last tick of the cluster.
	Now(ctx context.Context) (triple.Stamp, error)
}

// Store is an owner's store. *replica.Store implements it.
type Store interface {
	Snapshot() (*replica.Snapshot, error)
	// InFlight returns batches with rows in r whose keys pass; nil passes all. They may be in flight.
	InFlight(r triple.Range, pass func(key string) bool) []replica.Origin
	// Undoable divides batches in flight into those that Undo can take away in an epoch, and the others.
	Undoable(batches []replica.Origin, epoch uint64) (undoable, others []replica.Origin)
	// Undo returns the rows of a table before batches and after a tick; false if that cannot be.
	Undo(batches []replica.Origin, tick triple.Stamp, table byte, ranges []triple.Range) (*replica.Undo, bool)
}

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// Ahead bounds the bytes requested ahead by one read of the coordinator; 0 is 8 MiB.
	Ahead int64
	// IdleTimeout is how long a read waits and retries without progress; 0 is readtimeout.Idle.
	IdleTimeout time.Duration
	// CommitTimeout is how long an owner waits for news of operations in flight before it refuses; 0 is half of
	// readtimeout.Idle. It should be less than IdleTimeout.
	CommitTimeout time.Duration
	// MaxScan is how long an owner holds a snapshot of its store for one request. The
	// coordinator then continues with another request. 0 is 10 minutes.
	MaxScan time.Duration
	// DegradedMemory bounds the bytes one read collects from other orders; 0 is 64 MiB.
	DegradedMemory int64
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		option *time.Duration
		value  time.Duration
	}{{&o.IdleTimeout, readtimeout.Idle}, {&o.CommitTimeout, readtimeout.Idle / 2}, {&o.MaxScan, 10 * time.Minute}} {
		if *d.option == 0 {
			*d.option = d.value
		}
	}
	if o.Ahead == 0 {
		o.Ahead = 8 << 20
	}
	if o.DegradedMemory == 0 {
		o.DegradedMemory = 64 << 20
	}
	return o
}

// Validate returns an error if an option is out of range.
func (o Options) Validate() error {
	if o.Ahead < 0 || o.IdleTimeout < 0 || o.CommitTimeout < 0 || o.MaxScan < 0 || o.DegradedMemory < 0 {
		return fmt.Errorf("%w: a negative option of reads", store.ErrInvalid)
	}
	return nil
}

// Reads is both sides of reads on one member. It has no goroutine of its own. Each read must end
// its own goroutines.
type Reads struct {
	*common
	*owner
	*remote
	// gathering holds a token for each read while it gathers the rows of a lost machine from all
	// live ones.
	gathering chan struct{}
}

// common is what both sides of reads share.
type common struct {
	store   Store
	member  member.Member
	peers   Peers
	self    trie.MachineID
	options Options
}

// maxGathering bounds such reads, because each may read a whole order.
const maxGathering = 2

// New returns the reads of the member on machine self.
func New(store Store, m member.Member, p Peers, self trie.MachineID, o Options) (*Reads, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	c := &common{store, m, p, self, o.withDefaults()}
	return &Reads{c, &owner{c}, &remote{c}, make(chan struct{}, maxGathering)}, nil
}

// Methods between members. Package cluster counts calls of the exported ones, because clients
// wait for them.
const (
	MethodScan   = "reads/scan"
	MethodRows   = "reads/rows"
	MethodCount  = "reads/count"
	MethodSkip   = "reads/skip"
	methodSurvey = "reads/survey"

	methodAnnotations = "reads/annotations"
	methodVersions    = "reads/versions"
)

// Register adds the methods of an owner to a server.
func (r *Reads) Register(s *peer.Server) {
	s.HandleStream(MethodScan, r.serveScan)
	s.HandleStream(MethodCount, r.serveCount)
	s.HandleStream(MethodSkip, r.serveSkip)
	s.Handle(MethodRows, r.serveRows)
	s.Handle(methodSurvey, r.serveSurvey)
	s.Handle(methodVersions, r.serveVersions)
	s.Handle(methodAnnotations, r.serveAnnotations)
}
