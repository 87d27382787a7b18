// The type Writes: its options, its state, and its methods for other members.

package writes

import (
	"context"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Store is this package's part of [replica.Store].
type Store interface {
	Deliver(ctx context.Context, d *replica.Delivery, j *recovery.Joint) error
	// Drain waits until every begun write has ended.
	Drain(ctx context.Context) error
	Settle(upTo replica.Origin, open []uint64, acks map[trie.MachineID]uint64)
	UnsettledBatches() []replica.UnsettledBatch
	Forget(ctx context.Context, batches []replica.UnsettledBatch) error
	States(ctx context.Context, spoKeys [][]byte) ([]replica.RowState, error)
	SetFloors(f replica.Floors)
	HasTokens(tokens []store.Token) ([]bool, error)
	Room() store.Room
}

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// MaxInFlight bounds the bytes of operations in flight or in the queue of this machine. If
	// they exceed it, further requests wait. 0 is 64 MiB.
	MaxInFlight int64
	// RetryTimeout is how long a coordinator retries if it is refused; 0 is 20 s.
	RetryTimeout time.Duration
	// Heartbeat is how long a report of committed batches waits for a delivery; 0 is 50 ms.
	Heartbeat time.Duration
	// Attempt is the timeout of one message to a holder; 0 is 15 s.
	Attempt time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64 << 20
	}
	if o.RetryTimeout <= 0 {
		o.RetryTimeout = 20 * time.Second
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 50 * time.Millisecond
	}
	if o.Attempt <= 0 {
		o.Attempt = 15 * time.Second
	}
	return o
}

// Writes is one machine's part in writes: it is coordinator, sequencer and holder. Its methods
// may be called at the same time.
type Writes struct {
	store   Store
	member  member.Member
	options Options
	self    member.Process

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup

	room     room
	queue    queue
	incoming turns // deliveries, by sequencer
	waiting  [waits]chan struct{}
	stats    counters

	mu     sync.Mutex
	closed bool
	era    *era // nil before the first view
	// last is the number of the last batch of this incarnation. open has the batches in flight
	// by number, and numbers has their numbers, ascending.
	//
	// Invariant: numbers are the keys of open, and n <= last for each.
	last    uint64
	open    map[uint64]*batch
	numbers []uint64
	changes uint64                 // number of batches committed so far
	olds    int                    // batches in flight of older epochs or from a handover
	keys    map[string]*keyState   // by SPO key, of operations in flight
	tokens  map[store.Token]*batch // of operations in flight
	acks    map[trie.MachineID]uint64
	rooms   map[trie.MachineID]store.Room // of members without room for everything
	changed chan struct{}                 // closed and made anew when a view is adopted or entries are forgotten
}

// Kinds of waiting requests of other members. The number of each must be bounded, because
// deliveries must always find a free handler.
const (
	waitSubmit = iota
	waitSettled
	waitHandover
	waits
)

var waitLimits = [waits]int{128, 128, 32}

// New returns the writes of a member. The incarnation of self must be new, because batches are
// numbered from 1. The caller must close the result.
func New(db Store, m member.Member, self member.Process, opts Options) *Writes {
	w := &Writes{
		store: db, member: m, options: opts.withDefaults(), self: self,
		open:    map[uint64]*batch{},
		keys:    map[string]*keyState{},
		tokens:  map[store.Token]*batch{},
		acks:    map[trie.MachineID]uint64{},
		changed: make(chan struct{}),
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.room.init(w.options.MaxInFlight)
	w.queue.init()
	for i := range w.waiting {
		w.waiting[i] = make(chan struct{}, waitLimits[i])
	}
	if v := m.View(); v != nil {
		w.Adopted(nil, v)
	}
	w.running.Go(w.sequence)
	return w
}

// Close ends all goroutines. Callers waiting for operations in flight get [store.ErrUnknown],
// because the next incarnation or another machine may commit them.
func (w *Writes) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.queue.close()
	w.running.Wait()
}

// Methods between members. Package cluster counts calls of the exported ones, because clients
// wait for them.
const (
	MethodSubmit    = "writes/submit"
	MethodDeliver   = "writes/deliver"
	methodSettled   = "writes/settled"
	methodWatermark = "writes/watermark"
	methodHandover  = "writes/handover"
	methodTokens    = "writes/tokens"
)

// Register adds the methods of this package to s.
func (w *Writes) Register(s *peer.Server) {
	for method, handle := range w.handlers() {
		s.Handle(method, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
			return handle(ctx, body)
		})
	}
}

// handlers returns the handler of each method.
func (w *Writes) handlers() map[string]func(context.Context, []byte) ([]byte, error) {
	return map[string]func(context.Context, []byte) ([]byte, error){
		MethodSubmit:    w.handleSubmit,
		MethodDeliver:   w.handleDeliver,
		methodSettled:   w.handleSettled,
		methodWatermark: w.handleWatermark,
		methodHandover:  w.handleHandover,
		methodTokens:    w.handleTokens,
	}
}

// wait admits a waiting request, or refuses it if too many of its kind wait.
func (w *Writes) wait(kind int) (done func(), err error) {
	select {
	case w.waiting[kind] <- struct{}{}:
		return func() { <-w.waiting[kind] }, nil
	default:
		return nil, peer.Refuse(peer.CodeBusy, 0, "%d requests wait already", waitLimits[kind])
	}
}

// alive reports whether the sequencer of a batch is a member in the same incarnation.
func alive(v *view.View, o replica.Origin) bool { return v.Has(o.Sequencer, o.Incarnation) }
