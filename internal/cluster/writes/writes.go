// The type Writes: its options, its roles, its methods for other members, and its counters.

package writes

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/ticks"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

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

// Writes is one machine's part in writes, in all roles of the protocol. Its methods may be called
// at the same time. Each role has its own state and locks:
//
//   - coordinator: [Writes.Write], [Writes.Transact], [Writes.Annotate] and [Writes.Claim] for clients
//   - tokenLookup: which operations were done before, [Writes.Begun]
//   - sequencer: stamps operations, group by group
//   - inFlight: the stamped batches, and the streams that send them, by view
//   - ticks: the clock of their commits, [ticks.Ticks.Now]
//   - diskRooms: which members have no room for operations
//   - holder: writes the deliveries of sequencers
//   - handover: sends the operations of lost sequencers to their new ones
//   - waiter: [Writes.WaitCommitted] for readers
type Writes struct {
	*common
	*coordinator
	*tokenLookup
	*inFlight
	*diskRooms
	*waiter
	*ticks.Ticks
	sequencer *sequencer
	holder    *holder
}

// common is what the roles of one machine share.
type common struct {
	store   *replica.Store
	member  member.Member
	self    member.Process
	options Options
	stats   counters
	waiting [waits]chan struct{}

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

// Kinds of waiting requests of other members. The number of each must be bounded, because
// deliveries must always find a free handler.
const (
	waitSubmit = iota
	waitCommitted
	waitHandover
	waitForward
	waitPart
	waits
)

var waitLimits = [waits]int{128, 128, 32, 32, maxTransactionParts}

// New returns the writes of a member. The incarnation of self must be new, because batches are
// numbered from 1. The caller must close the result.
func New(db *replica.Store, m member.Member, self member.Process, opts Options) *Writes {
	return newWrites(db, db, m, self, opts)
}

func newWrites(db *replica.Store, disk holderStore, m member.Member, self member.Process, opts Options) *Writes {
	c := &common{store: db, member: m, options: opts.withDefaults(), self: self}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for i := range c.waiting {
		c.waiting[i] = make(chan struct{}, waitLimits[i])
	}
	// 1. Connect the roles.
	h, rooms := &holder{common: c, disk: disk}, &diskRooms{}
	clock := ticks.New(m, self.Machine)
	fl := &inFlight{common: c, holder: h, diskRooms: rooms, clock: clock, batches: newBatches()}
	fl.memory.limit = c.options.MaxInFlight
	tl := &tokenLookup{common: c, flight: fl}
	sq := &sequencer{common: c, flight: fl, tokens: tl, diskRooms: rooms, holder: h}
	sq.queue.init()
	co := &coordinator{common: c, sequencer: sq}
	co.transactions.init()
	fl.handover = &handover{common: c, flight: fl, sequencer: sq}
	w := &Writes{
		common: c, tokenLookup: tl, inFlight: fl, diskRooms: rooms, Ticks: clock, sequencer: sq, holder: h,
		coordinator: co,
		waiter:      &waiter{common: c, flight: fl, handover: fl.handover},
	}
	// 2. Begin.
	if v := m.View(); v != nil {
		w.Adopted(nil, v)
	}
	c.running.Go(sq.run)
	return w
}

// Close ends all goroutines. Callers waiting for operations in flight get [store.ErrUnknown],
// because the next incarnation or another machine may commit them.
func (w *Writes) Close() {
	w.inFlight.close()
	w.stop()
	w.sequencer.queue.close()
	w.Ticks.Close()
	w.running.Wait()
}

// Methods between members. Package cluster counts calls of the exported ones, because clients
// wait for them.
const (
	MethodSubmit    = "writes/submit"
	MethodDeliver   = "writes/deliver"
	methodCommitted = "writes/settled"
	methodWatermark = "writes/watermark"
	methodHandover  = "writes/handover"
	methodTokens    = "writes/tokens"

	MethodAnnotate   = "writes/annotate"
	methodReconciled = "writes/reconciled"
	methodConfirm    = "writes/confirm"
	methodFenced     = "writes/fenced"
	MethodPart       = "writes/part"
	methodForward    = "writes/forward"
)

// Register adds the methods of this package to s.
func (w *Writes) Register(s *peer.Server) {
	for method, handle := range w.handlers() {
		s.Handle(method, func(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
			return handle(withCoordinator(ctx, member.Process{Machine: h.From, Incarnation: h.Incarnation}), body)
		})
	}
}

type coordinatorKey struct{}

// withCoordinator returns the context of a message from a coordinator.
func withCoordinator(ctx context.Context, from member.Process) context.Context {
	return context.WithValue(ctx, coordinatorKey{}, from)
}

// coordinatorOf returns zero for what this machine itself coordinates.
func coordinatorOf(ctx context.Context) member.Process {
	from, _ := ctx.Value(coordinatorKey{}).(member.Process)
	return from
}

// handlers returns the handler of each method.
func (w *Writes) handlers() map[string]func(context.Context, []byte) ([]byte, error) {
	return map[string]func(context.Context, []byte) ([]byte, error){
		MethodSubmit:    w.sequencer.handleSubmit,
		MethodDeliver:   w.holder.handleDeliver,
		methodCommitted: w.waiter.handleCommitted,
		methodWatermark: w.holder.handleWatermark,
		methodHandover:  w.sequencer.handleHandover,
		methodTokens:    w.tokenLookup.handleTokens,
		ticks.Method:    w.Ticks.Handle,

		MethodAnnotate:   w.sequencer.handleAnnotate,
		methodReconciled: w.sequencer.handleReconciled,
		methodConfirm:    w.sequencer.handleConfirm,
		methodFenced:     w.sequencer.handleFenced,
		MethodPart:       w.sequencer.handlePart,
		methodForward:    w.sequencer.handleForward,

		ticks.MethodTransaction: w.Ticks.HandleTransaction,
	}
}

// beginWait admits a waiting request, or refuses it if too many of its kind wait.
func (c *common) beginWait(kind int) (done func(), err error) {
	select {
	case c.waiting[kind] <- struct{}{}:
		return func() { <-c.waiting[kind] }, nil
	default:
		return nil, peer.Refuse(peer.CodeBusy, 0, "%d requests wait already", waitLimits[kind])
	}
}

// alive reports whether the sequencer of a batch is a member in the same incarnation.
func alive(v *view.View, o replica.Origin) bool { return v.Has(o.Sequencer, o.Incarnation) }

// sequencerOf returns the process of the sequencer of a batch.
func sequencerOf(o replica.Origin) member.Process {
	return member.Process{Machine: o.Sequencer, Incarnation: o.Incarnation}
}

// wrongEpoch returns the refusal of a request if its epoch is not the epoch of v.
func wrongEpoch(v *view.View) *peer.Refusal {
	if v == nil {
		return peer.Refuse(peer.CodeEpoch, 0, "this machine has no view yet")
	}
	return peer.Refuse(peer.CodeEpoch, v.Epoch, "the adopted epoch is %d", v.Epoch)
}

func errClosing() *peer.Refusal { return peer.Refuse(peer.CodeClosing, 0, "this machine shuts down") }

type counters struct {
	operations, unchanged, refused, settled    atomic.Int64
	batches, settledBatches, settleTime        atomic.Int64
	redriven, handedOver, retries, coordinated atomic.Int64
}

// Stats are counts since the start of the process, and gauges.
type Stats struct {
	Operations  int64 // stamped here
	Unchanged   int64 // operations without a stamp, because they change nothing
	Refused     int64 // operations that the sequencer refused
	Settled     int64 // operations committed here, including those handed over
	Batches     int64 // of operations stamped here
	Redriven    int64 // operations sent again because the view changed
	HandedOver  int64 // operations of other sequencers, sent here
	Retries     int64 // messages to holders that failed
	Coordinated int64 // operations done for clients of this machine

	// SettledBatches took SettleTime in total, each from its stamps until the last answer.
	SettledBatches int64
	SettleTime     time.Duration

	InFlightBytes int64 // of operations in flight
	InFlight      int   // batches
	// Unanswered is the age of the unanswered message to each holder.
	Unanswered map[trie.MachineID]time.Duration
}

// Stats returns the counts and gauges of w.
func (w *Writes) Stats() Stats {
	c := &w.stats
	s := Stats{
		Operations: c.operations.Load(), Unchanged: c.unchanged.Load(), Refused: c.refused.Load(), Settled: c.settled.Load(),
		Batches: c.batches.Load(), Redriven: c.redriven.Load(), HandedOver: c.handedOver.Load(),
		Retries: c.retries.Load(), Coordinated: c.coordinated.Load(),
		SettledBatches: c.settledBatches.Load(), SettleTime: time.Duration(c.settleTime.Load()),
	}
	w.inFlight.addGauges(&s)
	return s
}

// addGauges adds what is in flight at present.
func (fl *inFlight) addGauges(s *Stats) {
	s.InFlightBytes, s.Unanswered = fl.memory.inUse(), map[trie.MachineID]time.Duration{}
	fl.mu.Lock()
	defer fl.mu.Unlock()
	for n, b := range fl.open {
		if n == b.number {
			s.InFlight++
		}
	}
	if fl.era == nil {
		return
	}
	for m, stream := range fl.era.streams {
		if !stream.since.IsZero() {
			s.Unanswered[m] = time.Since(stream.since)
		}
	}
}
