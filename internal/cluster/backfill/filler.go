// Filler: a member's part in backfills, as their sender and as their receiver.

package backfill

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/trie"
)

// Methods between nodes.
const (
	MethodFill = "cluster/fill" // rows, see EncodeRows -> pause in microseconds, uvarint
	MethodSync = "cluster/sync" // nothing -> mark, uvarint
)

// retryPause is the first pause after a failed message.
const retryPause = 200 * time.Millisecond

// Peers sends messages to other members and registers the answers to theirs.
type Peers interface {
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	Handle(method string, h peer.Handler)
}

// Options are the parameters of [New]; all are required.
type Options struct {
	Throttle *throttle.Throttle
	Now      func() time.Duration // monotonic
	MoveRate int64                // bytes of planned moves that are sent in a second
	Closing  context.Context      // ends when the node is closed
	Logger   *slog.Logger
}

// Filler runs the backfills of one member, one at a time, and applies the rows from others.
type Filler struct {
	store   *replica.Store
	gate    *gate.Gate
	peers   Peers
	options Options
	log     *slog.Logger

	mu      sync.Mutex // guards the fields below
	pass    *pass      // the newest one; nil before the first
	history history
}

// New returns a filler and registers its methods.
func New(s *replica.Store, g *gate.Gate, peers Peers, o Options) *Filler {
	f := &Filler{store: s, gate: g, peers: peers, options: o, log: o.Logger}
	peers.Handle(MethodFill, f.handleFill)
	peers.Handle(MethodSync, f.handleSync)
	return f
}

// Adopt begins with a view, when the work under the view before has ended. member says
// whether this process is a member of v.
func (f *Filler) Adopt(v *view.View, member bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.history = f.history.begin(v); !member {
		f.history = nil
	}
}

// Run is the backfill of one view. The view must have been passed to Adopt. Run returns the marks
// of all machines with rows from it. The caller must not run two at a time.
func (f *Filler) Run(ctx context.Context, v *view.View) (marks map[trie.MachineID]uint64, err error) {
	// 1. Take the snapshot after the view was adopted: later writes reach the places of the
	// target by themselves. Then list the operations in flight: if the snapshot shows one and
	// the list lacks it, it is committed.
	snapshot, err := f.store.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	j := v.Joint()
	p := &pass{
		filler: f, view: v, planned: len(j.BaseLive) == len(v.Base.Placement.Machines()), start: time.Now(), resolver: j.Resolver(),
		backfill: j.Backfill(f.gate.MachineID()), inFlight: map[string]pending{}, out: map[trie.MachineID]*outbox{}, shift: f.options.Throttle.Shift(),
	}
	for _, b := range f.store.InFlightBatches() {
		p.addInFlight(b)
	}
	if p.total, err = p.estimate(ctx, snapshot); err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.pass = p
	p.earlier = newEarlierPasses(f.gate.MachineID(), v, f.history)
	f.mu.Unlock()
	// 2. Read and send. If this fails, all messages on their way are abandoned.
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	if err = p.run(sending, snapshot); err != nil {
		cancel()
	}
	marks, failed := p.finish(sending)
	// 3. Remember how far it came, also if it failed: the next one continues from there.
	f.mu.Lock()
	f.history = f.history.record(p.progress())
	f.mu.Unlock()
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	f.log.Info("backfilled", "epoch", v.Epoch, "rows", p.rows.Load(), "repaired", p.repaired.Load(), "resumed", p.resumed.Load(), "damaged", p.damaged.Load())
	return marks, nil
}

// Progress is the state of a backfill, as members report it.
type Progress struct {
	Rows     int64   `json:"rows"`
	Repaired int64   `json:"repaired"`
	Left     int64   `json:"left"`
	Damaged  int64   `json:"damaged,omitempty"`
	Resumed  int64   `json:"resumed,omitempty"`
	Seconds  float64 `json:"seconds"`
	ETA      float64 `json:"etaSeconds"`
}

// Progress returns the state of the backfill of an epoch, nil if there is none.
func (f *Filler) Progress(epoch uint64) *Progress {
	pass := f.passOf(epoch)
	if pass == nil {
		return nil
	}
	p := &Progress{
		Rows: pass.rows.Load(), Repaired: pass.repaired.Load(), Damaged: pass.damaged.Load(), Resumed: pass.resumed.Load(),
		Seconds: time.Since(pass.start).Seconds(),
	}
	p.Left = max(pass.total-p.Rows, 0)
	if p.Rows > 0 {
		p.ETA = p.Seconds / float64(p.Rows) * float64(p.Left)
	}
	return p
}

// Slow returns the machines with an answer overdue to the backfill of an epoch for the given
// time.
func (f *Filler) Slow(epoch uint64, after time.Duration) []trie.MachineID {
	if pass := f.passOf(epoch); pass != nil {
		return pass.slow(after)
	}
	return nil
}

func (f *Filler) passOf(epoch uint64) *pass {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pass == nil || f.pass.view.Epoch != epoch {
		return nil
	}
	return f.pass
}

// apply writes rows of a backfill, and returns how long its sender must pause then.
func (f *Filler) apply(ctx context.Context, epoch uint64, rows []replica.FillRow) (pause time.Duration, err error) {
	leave, err := f.gate.Enter(epoch)
	if err != nil {
		return 0, err
	}
	defer leave()
	begun := f.options.Now()
	err = gate.UntilKnown(ctx, f.options.Closing, func(ctx context.Context) error { return f.store.Fill(ctx, rows) }, f.store.Drain)
	return f.options.Throttle.After(f.options.Now() - begun), err
}

// handleFill applies rows of a backfill under this node's epoch. The answer is how long the
// sender must pause, in microseconds.
func (f *Filler) handleFill(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
	rows, err := DecodeRows(body)
	if err != nil {
		return nil, err
	}
	pause, err := f.apply(ctx, h.Epoch, rows)
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Uvarint(uint64(pause.Microseconds()))
	return e.Data(), nil
}

func parsePause(answer []byte) (time.Duration, error) {
	d := peer.NewDecoder(answer)
	pause := time.Duration(min(d.Uvarint(), uint64(throttle.MaxPause.Microseconds()))) * time.Microsecond
	return pause, d.End()
}

// handleSync makes all rows of backfills durable and answers with the mark.
func (f *Filler) handleSync(ctx context.Context, h peer.Header, _ []byte) ([]byte, error) {
	leave, err := f.gate.Enter(h.Epoch)
	if err != nil {
		return nil, err
	}
	defer leave()
	mark, err := f.store.SyncFills(ctx)
	if err != nil {
		return nil, err
	}
	var e peer.Encoder
	e.Uvarint(mark)
	return e.Data(), nil
}
