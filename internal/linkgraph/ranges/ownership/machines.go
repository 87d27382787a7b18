// Machines: which members are down, and calls of the others.

package ownership

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/copies"
	"github.com/trefoildb/trefoil/trie"
)

// Member is one machine of the cluster. Its views and journals are those of package copies.
type Member interface {
	Peers
	OwnRows
	Commits
	copies.Member
}

// Machines finds the members that read ranges, and which of them are down.
type Machines struct {
	Store  Store
	Copies int // Options.Copies
	Log    *slog.Logger
	down   downSet
}

// New returns Machines of a store; copies is Options.Copies of the graph.
func New(store Store, copies int, log *slog.Logger) *Machines {
	return &Machines{Store: store, Copies: copies, Log: log}
}

// MethodPing has an empty request and an empty answer: a machine that answers is up.
const MethodPing = "links/here"

const (
	// downTime is the time for which a machine counts as down after it did not answer.
	// silenceCheckInterval is the time between two checks if gossip still hears a called
	// machine.
	downTime             = time.Second
	silenceCheckInterval = 100 * time.Millisecond
	// probeAfter is the time after which a look-up probes its owners, and pingTimeout bounds
	// the probe.
	probeAfter  = 300 * time.Millisecond
	pingTimeout = 500 * time.Millisecond
)

// HandlePing handles links/here.
func HandlePing(context.Context, peer.Header, []byte) ([]byte, error) { return nil, nil }

// downSet has the machines that did not answer a moment ago.
type downSet struct {
	mu    sync.Mutex
	until map[trie.MachineID]time.Time
}

func (a *downSet) mark(id trie.MachineID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[trie.MachineID]time.Time{}
	}
	a.until[id] = time.Now().Add(downTime)
}

func (a *downSet) has(id trie.MachineID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.until[id]
	if ok && time.Now().After(until) {
		delete(a.until, id)
		ok = false
	}
	return ok
}

// IsDown reports whether a machine must not be called if there is another way. It is always
// false if no copies are kept.
func (g *Machines) IsDown(id trie.MachineID) bool {
	return g.Copies != 0 && id != g.Store.MachineID() && (g.down.has(id) || !g.Store.Hears(id))
}

var (
	ErrSilent = errors.New("the machine is not heard of any more")
	ErrDown   = errors.New("a machine that is asked is away")
)

// CallOwner calls a machine, and gives up when gossip does not hear it. If the machine does not
// answer, it is marked as down.
func (g *Machines) CallOwner(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if g.Copies == 0 {
		return g.Store.Call(ctx, to, method, body)
	}
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var look func()
	look = func() {
		switch {
		case call.Err() != nil:
		case !g.Store.Hears(to):
			cancel(ErrSilent)
		default:
			time.AfterFunc(silenceCheckInterval, look)
		}
	}
	time.AfterFunc(silenceCheckInterval, look)
	answer, err := g.Store.Call(call, to, method, body)
	if ctx.Err() == nil && Unreachable(err) {
		g.down.mark(to)
	}
	return answer, err
}

// Unreachable reports whether a call failed because there was no answer.
func Unreachable(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &failed)
}

// View returns the view whose owners answer reads. It is nil on a lone node, and on one of two
// members that does not reach the other one: these read rows instead.
func (g *Machines) View() *view.View {
	if g.Store.NoMajority() {
		return nil
	}
	return g.Store.View()
}

// MayPass reports whether a retry of a failed call may succeed, perhaps under another view.
func MayPass(err error) bool {
	if Unreachable(err) {
		return true
	}
	var refusal *peer.Refusal
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Code {
	case peer.CodeEpoch, peer.CodeLease, peer.CodeUnavailable, peer.CodeNotOwner, peer.CodeClosing, peer.CodeBusy:
		return true
	}
	return false
}
