// The type Reads: its options, its methods for other members, and retries.

package reads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Peers is the other members, as far as reads need them, besides [member.Member].
type Peers interface {
	// Stream sends a message to another member and returns its answer as a stream.
	Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error)
	// WaitSettled waits until their sequencers have committed the batches. If they cannot be
	// committed, because a machine is down, it returns store.ErrUnavailable at once.
	WaitSettled(ctx context.Context, batches []replica.Origin) error
}

// Store is an owner's store. *replica.Store implements it.
type Store interface {
	Snapshot() (*replica.Snapshot, error)
	// Unsettled returns batches with rows in r. They may be in flight.
	Unsettled(r triple.Range) []replica.Origin
}

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// Ahead bounds the bytes requested ahead by one read of the coordinator; 0 is 8 MiB.
	Ahead int64
	// IdleTimeout is how long a read retries without progress, and how long it waits for a silent
	// owner; 0 is 10 s.
	IdleTimeout time.Duration
	// Settle is how long an owner waits for operations in flight before it refuses; 0 is
	// 5 s. It should be less than IdleTimeout.
	Settle time.Duration
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
	}{{&o.IdleTimeout, 10 * time.Second}, {&o.Settle, 5 * time.Second}, {&o.MaxScan, 10 * time.Minute}} {
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
	if o.Ahead < 0 || o.IdleTimeout < 0 || o.Settle < 0 || o.MaxScan < 0 || o.DegradedMemory < 0 {
		return fmt.Errorf("%w: a negative option of reads", store.ErrInvalid)
	}
	return nil
}

// Reads is both sides of reads on one member. It has no goroutine of its own. Each read must end
// its own goroutines.
type Reads struct {
	store   Store
	member  member.Member
	peers   Peers
	self    trie.MachineID
	options Options
	// gathering holds a token for each read while it gathers the rows of a lost machine from all
	// live ones.
	gathering chan struct{}
}

// maxGathering bounds such reads, because each may read a whole order.
const maxGathering = 2

// New returns the reads of the member on machine self.
func New(store Store, m member.Member, p Peers, self trie.MachineID, o Options) (*Reads, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Reads{store, m, p, self, o.withDefaults(), make(chan struct{}, maxGathering)}, nil
}

// Methods between members. Package cluster counts calls of the exported ones, because clients
// wait for them.
const (
	MethodScan   = "reads/scan"
	MethodRows   = "reads/rows"
	MethodCount  = "reads/count"
	methodSurvey = "reads/survey"
	methodNotes  = "reads/notes"

	methodAnnotations = "reads/annotations"
)

// Register adds the methods of an owner to a server.
func (r *Reads) Register(s *peer.Server) {
	s.HandleStream(MethodScan, r.serveScan)
	s.HandleStream(MethodCount, r.serveCount)
	s.Handle(MethodRows, r.serveRows)
	s.Handle(methodSurvey, r.serveSurvey)
	s.Handle(methodNotes, r.serveNotes)
	s.Handle(methodAnnotations, r.serveAnnotations)
}

// errMoved is returned if the view of a request is no longer the adopted one.
var errMoved = errors.New("the view has changed")

// errTooLong is returned if a snapshot of a store was held for Options.MaxScan.
var errTooLong = errors.New("the read took too long to hold a snapshot any longer")

// errPublished is returned if a bulk load was published after the first rows were read: the rows
// before lack its triples, and the rows after would have them.
var errPublished = fmt.Errorf("%w: a bulk load was published in the middle of the read: begin it again", store.ErrUnavailable)

// remoteError is a failure between two machines. A retry may succeed.
type remoteError struct {
	machine trie.MachineID
	err     error
}

func (e *remoteError) Error() string { return fmt.Sprintf("machine %s: %v", e.machine, e.err) }
func (e *remoteError) Unwrap() error { return e.err }

// passing reports whether a retry of a read may succeed.
func passing(err error) bool {
	var refusal *peer.Refusal
	if errors.As(err, &refusal) {
		switch refusal.Code {
		case peer.CodeStranger, peer.CodeMethod, peer.CodeTooLarge:
			return false
		}
		return true
	}
	if errors.Is(err, errMoved) || errors.Is(err, errTooLong) || errors.Is(err, store.ErrCorrupt) {
		return true // a machine with a damaged disk is excluded, and others answer then
	}
	var failed *peer.RemoteError // an error of the handler itself would come again
	var remote *remoteError
	return errors.As(err, &remote) && !errors.As(err, &failed)
}

// trial bounds the retries of one read.
type trial struct {
	reads *Reads
	since time.Time // first failure since the last progress
	pause time.Duration
}

// further records progress: the timeout begins again.
func (t *trial) further() { t.since, t.pause = time.Time{}, 0 }

// again waits before a retry of a read after a failure under a view. A newer view ends the wait.
// If there must be no retry, it returns the error of the read.
func (t *trial) again(ctx context.Context, under *view.View, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !passing(err) {
		return err
	}
	// 1. Give up if there was no progress for the timeout.
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
	}
	left := t.reads.options.IdleTimeout - now.Sub(t.since)
	if left <= 0 {
		return fmt.Errorf("%w: no progress within %s: %w", store.ErrUnavailable, t.reads.options.IdleTimeout, err)
	}
	if errors.Is(err, errTooLong) {
		return nil
	}
	// 2. Wait for a newer view or for a pause; the pause doubles with each retry.
	t.pause = min(max(2*t.pause, 5*time.Millisecond), 500*time.Millisecond)
	var refusal *peer.Refusal
	if errors.As(err, &refusal) && refusal.Code == peer.CodeEpoch && refusal.Epoch > under.Epoch {
		t.pause = left // only the newer view helps
	}
	wait, cancel := context.WithTimeout(ctx, min(t.pause, left))
	defer cancel()
	var closed error
	if err := turns.Wait(ctx, func() error { closed = t.reads.member.Newer(wait, under); return nil }); err != nil {
		return err
	}
	if closed != nil && wait.Err() == nil {
		return fmt.Errorf("%w: %w", closed, err) // this member is isolated or closed
	}
	return ctx.Err() // retry, even if no newer view has come
}
