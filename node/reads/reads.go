package reads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Cluster is what reads need of the member that makes them.
type Cluster interface {
	Self() trie.MachineID
	// View returns the view that reads go by: the adopted one, or what is left of it if this
	// member answers without others. That is of the same epoch.
	View() *view.View
	// Newer waits until View returns another one. Where none can be
	// expected, as this member is cut off, it returns node.ErrUnavailable at once.
	Newer(ctx context.Context, than *view.View) error
	// Enter keeps the adopted view from changing until leave is called; a
	// *peer.Refusal where it is not that of epoch.
	Enter(epoch uint64) (leave func(), err error)
	// Lease returns nil while this member holds a lease for the adopted view, or needs none.
	Lease() error
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	Stream(ctx context.Context, to trie.MachineID, method string, body []byte) (*peer.Stream, error)
	// WaitSettled waits until the batches are settled. If that is not to be expected it returns
	// node.ErrUnavailable at once.
	WaitSettled(ctx context.Context, batches []node.Origin) error
}

// Store is what an owner reads: *node.Store is one.
type Store interface {
	Snapshot() (*node.Snapshot, error)
	// Unsettled returns batches with rows in r that may not be settled.
	Unsettled(r triple.Range) []node.Origin
}

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// Ahead bounds the bytes that one read of the coordinator asks ahead of time;
	// 0 is 8 MiB.
	Ahead int64
	// Patience is for how long a read tries again without getting further, and how
	// long it waits for an owner that sends nothing; 0 is 10 s.
	Patience time.Duration
	// Settle is for how long an owner waits for operations to be settled before it
	// refuses; 0 is 5 s. It should be less than Patience.
	Settle time.Duration
	// MaxScan is for how long an owner holds a snapshot of its store for one
	// request; the coordinator goes on with another. 0 is 10 minutes.
	MaxScan time.Duration
	// DegradedMemory bounds the bytes that are collected from other orders for one
	// read; 0 is 64 MiB.
	DegradedMemory int64
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		option *time.Duration
		value  time.Duration
	}{{&o.Patience, 10 * time.Second}, {&o.Settle, 5 * time.Second}, {&o.MaxScan, 10 * time.Minute}} {
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

// Validate says what is wrong with the options.
func (o Options) Validate() error {
	if o.Ahead < 0 || o.Patience < 0 || o.Settle < 0 || o.MaxScan < 0 || o.DegradedMemory < 0 {
		return fmt.Errorf("%w: a negative option of reads", node.ErrInvalid)
	}
	return nil
}

// Reads is both sides of reads on one member. It has no goroutine of its own:
// each read ends its own.
type Reads struct {
	store   Store
	cluster Cluster
	options Options
	// gathering holds a token for each read of this machine that gathers what a dead one
	// had from all that live.
	gathering chan struct{}
}

// maxGathering is how many such reads run at a time, because each may read a whole order.
const maxGathering = 2

// New returns the reads of a member.
func New(store Store, c Cluster, o Options) (*Reads, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return &Reads{store, c, o.withDefaults(), make(chan struct{}, maxGathering)}, nil
}

// Methods of this package between nodes. Those that read rows are known outside.
const (
	MethodScan   = "reads/scan"
	MethodRows   = "reads/rows"
	MethodCount  = "reads/count"
	methodSurvey = "reads/survey"
	methodNotes  = "reads/notes"

	methodAnnotations = "reads/annotations"
)

// Register makes a server answer what owners are asked.
func (r *Reads) Register(s *peer.Server) {
	s.HandleStream(MethodScan, r.serveScan)
	s.HandleStream(MethodCount, r.serveCount)
	s.Handle(MethodRows, r.serveRows)
	s.Handle(methodSurvey, r.serveSurvey)
	s.Handle(methodNotes, r.serveNotes)
	s.Handle(methodAnnotations, r.serveAnnotations)
}

// errMoved: the view under which rows were asked for is not the adopted one any more.
var errMoved = errors.New("the view has changed")

// errTooLong: a snapshot of a store was held for Options.MaxScan.
var errTooLong = errors.New("the read took too long to hold a snapshot any longer")

// errPublished: a bulk load shows since the first rows were read: those that come
// would have its triples, and those before have not.
var errPublished = fmt.Errorf("%w: a bulk load was published in the middle of the read: begin it again", node.ErrUnavailable)

// remoteError is what went wrong between two machines, and may go well the next time.
type remoteError struct {
	machine trie.MachineID
	err     error
}

func (e *remoteError) Error() string { return fmt.Sprintf("machine %s: %v", e.machine, e.err) }
func (e *remoteError) Unwrap() error { return e.err }

// passing reports whether a read may go well if it is tried again.
func passing(err error) bool {
	var refusal *peer.Refusal
	if errors.As(err, &refusal) {
		switch refusal.Code {
		case peer.CodeStranger, peer.CodeMethod, peer.CodeTooLarge:
			return false
		}
		return true
	}
	if errors.Is(err, errMoved) || errors.Is(err, errTooLong) || errors.Is(err, node.ErrCorrupt) {
		return true // a machine whose disk is damaged is excluded: others are asked then
	}
	var failed *peer.RemoteError // the handler's own error: it would come again
	var remote *remoteError
	return errors.As(err, &remote) && !errors.As(err, &failed)
}

// trial counts the tries of one read.
type trial struct {
	reads *Reads
	since time.Time // of the first failure since the read got further last
	pause time.Duration
}

// further tells that the read has got further.
func (t *trial) further() { t.since, t.pause = time.Time{}, 0 }

// again waits before another try of a read that failed under a view; the error
// is that of the read, where there is to be none. A newer view ends the wait.
func (t *trial) again(ctx context.Context, under *view.View, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !passing(err) {
		return err
	}
	now := time.Now()
	if t.since.IsZero() {
		t.since = now
	}
	left := t.reads.options.Patience - now.Sub(t.since)
	if left <= 0 {
		return fmt.Errorf("%w: no progress within %s: %w", node.ErrUnavailable, t.reads.options.Patience, err)
	}
	if errors.Is(err, errTooLong) {
		return nil
	}
	t.pause = min(max(2*t.pause, 5*time.Millisecond), 500*time.Millisecond)
	var refusal *peer.Refusal
	if errors.As(err, &refusal) && refusal.Code == peer.CodeEpoch && refusal.Epoch > under.Epoch {
		t.pause = left // nothing helps but the newer view
	}
	wait, cancel := context.WithTimeout(ctx, min(t.pause, left))
	defer cancel()
	var closed error
	if err := turns.Wait(ctx, func() error { closed = t.reads.cluster.Newer(wait, under); return nil }); err != nil {
		return err
	}
	if closed != nil && wait.Err() == nil {
		return fmt.Errorf("%w: %w", closed, err) // it will not wait any more
	}
	return ctx.Err() // with or without a newer view it is tried again
}
