package writes

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Cluster is what this package needs of the member that it runs in.
type Cluster interface {
	Self() trie.MachineID
	Incarnation() uint64
	// View returns the adopted view; nil before the first.
	View() *view.View
	// Newer waits until a view of a greater epoch is adopted. Where none can be
	// expected, as this member is cut off, it returns node.ErrUnavailable at once.
	Newer(ctx context.Context, epoch uint64) error
	// Enter keeps the view from changing until leave is called. Where another view
	// is adopted, or this process is no member of it, it returns a *peer.Refusal.
	Enter(epoch uint64) (leave func(), err error)
	// Lease returns nil while this member holds a lease for the adopted epoch.
	Lease() error
	// Call sends a message to another member.
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	// Changed returns a channel that is closed when the next view is adopted.
	Changed() <-chan struct{}
}

// Store is what this package needs of a [node.Store].
type Store interface {
	Deliver(ctx context.Context, d *node.Delivery, j *recovery.Joint) error
	// Drain waits until all that was begun has ended.
	Drain(ctx context.Context) error
	Settle(upTo node.Origin, open []uint64, acks map[trie.MachineID]uint64)
	UnsettledBatches() []node.UnsettledBatch
	Forget(ctx context.Context, batches []node.UnsettledBatch) error
	States(ctx context.Context, spoKeys [][]byte) ([]node.RowState, error)
	SetFloors(f node.Floors)
	HasTokens(tokens []node.Token) ([]bool, error)
	Room() node.Room
}

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// MaxInFlight bounds the bytes of operations that this machine has stamped, or
	// is about to, and that are not settled; further ones wait. 0 is 64 MiB.
	MaxInFlight int64
	// Patience is how long a coordinator tries again where it is refused; 0 is 20 s.
	Patience time.Duration
	// Heartbeat is how long a watermark waits for a delivery to go along with; 0 is
	// 50 ms.
	Heartbeat time.Duration
	// Attempt bounds one try to send a message to a holder; 0 is 15 s.
	Attempt time.Duration
}

func (o Options) withDefaults() Options {
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 64 << 20
	}
	if o.Patience <= 0 {
		o.Patience = 20 * time.Second
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = 50 * time.Millisecond
	}
	if o.Attempt <= 0 {
		o.Attempt = 15 * time.Second
	}
	return o
}

// Writes is one machine's part in writing: as coordinator, sequencer and holder.
// Its methods may be called at the same time.
type Writes struct {
	store       Store
	cluster     Cluster
	options     Options
	self        trie.MachineID
	incarnation uint64

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
	// last is the number of the last batch of this incarnation. open has the batches
	// that are not settled by their numbers, and numbers has these numbers, ascending.
	//
	// Invariant: numbers are the keys of open; n <= last for each of them.
	last    uint64
	open    map[uint64]*batch
	numbers []uint64
	changes uint64                // how many batches have been settled
	olds    int                   // batches not settled that are of older epochs, or were handed over
	keys    map[string]*keyState  // by SPO key, of operations that are not settled
	tokens  map[node.Token]*batch // of operations that are not settled
	acks    map[trie.MachineID]uint64
	rooms   map[trie.MachineID]node.Room // of members that have not enough for everything
	forgot  chan struct{}                // closed and made anew when entries are forgotten
}

// Requests of other nodes that wait here are of these kinds; each is bounded, so
// that deliveries always find room among the handlers.
const (
	waitSubmit = iota
	waitSettled
	waitHandover
	waits
)

var waitLimits = [waits]int{128, 128, 32}

// New returns the writes of this process, which must be one that its cluster
// knows by a new incarnation. Close it.
func New(store Store, c Cluster, opts Options) *Writes {
	w := &Writes{
		store: store, cluster: c, options: opts.withDefaults(),
		self: c.Self(), incarnation: c.Incarnation(),
		open:   map[uint64]*batch{},
		keys:   map[string]*keyState{},
		tokens: map[node.Token]*batch{},
		acks:   map[trie.MachineID]uint64{},
		forgot: make(chan struct{}),
	}
	w.ctx, w.stop = context.WithCancel(context.Background())
	w.room.init(w.options.MaxInFlight)
	w.queue.init()
	for i := range w.waiting {
		w.waiting[i] = make(chan struct{}, waitLimits[i])
	}
	if v := c.View(); v != nil {
		w.Adopted(nil, v)
	}
	w.running.Go(w.sequence)
	return w
}

// Close ends all that runs. Operations that are on their way are unknown to those
// who wait for them; the next incarnation, or another machine, drives them on.
func (w *Writes) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.queue.close()
	w.running.Wait()
}

// Methods between nodes. Those that carry a client's operations are known outside.
const (
	MethodSubmit    = "writes/submit"
	MethodDeliver   = "writes/deliver"
	methodSettled   = "writes/settled"
	methodWatermark = "writes/watermark"
	methodHandover  = "writes/handover"
	methodTokens    = "writes/tokens"
)

// Register makes s answer what other nodes ask of this one.
func (w *Writes) Register(s *peer.Server) {
	for method, handle := range w.handlers() {
		s.Handle(method, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
			return handle(ctx, body)
		})
	}
}

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

// wait takes one of the places of requests that wait, or refuses.
func (w *Writes) wait(kind int) (done func(), err error) {
	select {
	case w.waiting[kind] <- struct{}{}:
		return func() { <-w.waiting[kind] }, nil
	default:
		return nil, refuse(peer.CodeBusy, 0, "%d requests wait already", waitLimits[kind])
	}
}

// refuse returns a refusal; epoch is that of the adopted view, or 0.
func refuse(code peer.Code, epoch uint64, format string, args ...any) *peer.Refusal {
	return &peer.Refusal{Code: code, Epoch: epoch, Message: fmt.Sprintf(format, args...)}
}

// alive reports whether a batch's sequencer runs as what it was.
func alive(v *view.View, o node.Origin) bool { return v.Has(o.Sequencer, o.Incarnation) }
