// Who is away: dead, or not heard of, though it may still be a member.

package ranges

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodHere is answered with nothing, by who is there.
const methodHere = "links/here"

const (
	// awayTime is for how long a machine that did not answer is taken to be away, and
	// awayLook how often it is looked whether one that is asked is still heard of.
	awayTime = time.Second
	awayLook = 100 * time.Millisecond
	// lookTime is how long a look-up takes before it is asked who is there, and hereTime
	// how long that may take.
	lookTime = 300 * time.Millisecond
	hereTime = 500 * time.Millisecond
)

func handleHere(context.Context, peer.Header, []byte) ([]byte, error) { return nil, nil }

// away are machines that did not answer a moment ago.
type away struct {
	mu    sync.Mutex
	until map[trie.MachineID]time.Time
}

func (a *away) note(id trie.MachineID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[trie.MachineID]time.Time{}
	}
	a.until[id] = time.Now().Add(awayTime)
}

func (a *away) has(id trie.MachineID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, ok := a.until[id]
	if ok && time.Now().After(until) {
		delete(a.until, id)
		ok = false
	}
	return ok
}

// isAway reports whether a machine is not to be asked, if there is another way.
func (g *Graph) isAway(id trie.MachineID) bool {
	return g.o.Copies != 0 && id != g.store.MachineID() && (g.away.has(id) || !g.store.Hears(id))
}

var (
	errSilent = errors.New("the machine is not heard of any more")
	errAway   = errors.New("a machine that is asked is away")
)

// callOwner calls a machine until it is silent.
func (g *Graph) callOwner(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error) {
	if g.o.Copies == 0 {
		return g.store.Call(ctx, to, method, body)
	}
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var look func()
	look = func() {
		switch {
		case call.Err() != nil:
		case !g.store.Hears(to):
			cancel(errSilent)
		default:
			time.AfterFunc(awayLook, look)
		}
	}
	time.AfterFunc(awayLook, look)
	answer, err := g.store.Call(call, to, method, body)
	if ctx.Err() == nil && unreachable(err) {
		g.away.note(to)
	}
	return answer, err
}

// unreachable reports whether a call failed because there was no answer.
func unreachable(err error) bool {
	var refusal *peer.Refusal
	var failed *peer.RemoteError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &failed)
}

// ownersView returns the view whose owners reads ask. It is nil if rows are read instead: on
// a node that is alone, and on one of two members that does not reach the other one, because
// it can read all rows by itself.
func (g *Graph) ownersView() *view.View {
	if g.store.NoMajority() {
		return nil
	}
	return g.store.View()
}

// standing is who reads what under a view, and who of them is away at the moment.
type standing struct {
	joint *recovery.Joint
	away  map[trie.MachineID]bool
	dead  map[trie.MachineID]bool // by the view
	whole bool                    // nobody who reads is dead or away
}

func (g *Graph) standing(v *view.View) *standing {
	s := &standing{joint: v.Joint(), whole: true}
	live := s.joint.BaseLive
	if s.joint.Phase == recovery.Serve {
		live = s.joint.Members
	}
	for _, m := range s.joint.Reads().Placement.Machines() {
		switch {
		case !live.Contains(m):
			s.dead = withMachine(s.dead, m)
		case g.isAway(m):
			s.away = withMachine(s.away, m)
		default:
			continue
		}
		s.whole = false
	}
	return s
}

func withMachine(set map[trie.MachineID]bool, m trie.MachineID) map[trie.MachineID]bool {
	if set == nil {
		set = map[trie.MachineID]bool{}
	}
	set[m] = true
	return set
}

// readerOf returns the machine that reads all of a range, or read it before it was away;
// ok is false where there is no such one. live reports whether it is to be asked.
func (s *standing) readerOf(keys triple.Range) (owner trie.MachineID, live, ok bool) {
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		of, lives := s.joint.ReaderOf(part)
		if ok && of != owner {
			return 0, false, false
		}
		owner, live, ok = of, lives, true
	}
	return owner, live && !s.away[owner], ok
}

// there reports whether all who read a range are to be asked.
func (s *standing) there(keys triple.Range) bool {
	if s.whole {
		return true
	}
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		if of, lives := s.joint.ReaderOf(part); !lives || s.away[of] {
			return false
		}
	}
	return true
}

// pieces returns a range in pieces, each of one owner, and which of these are to be asked.
func (s *standing) pieces(keys triple.Range, item int) (pieces []copiedRange, live []bool) {
	for part := range s.joint.Reads().Trie.Range(keys.Lo, keys.Hi) {
		owner, lives := s.joint.ReaderOf(part)
		lives = lives && !s.away[owner]
		piece := keys.Intersect(triple.Range{Lo: part.Lo, Hi: part.Hi})
		if n := len(pieces); n > 0 && pieces[n-1].owner == owner {
			pieces[n-1].Hi = piece.Hi
			continue
		}
		pieces, live = append(pieces, copiedRange{piece, owner, item}), append(live, lives)
	}
	return pieces, live
}

// probe asks the owners of some ranges whether they run, and reports whether one is away
// that was not known to be.
func (g *Graph) probe(ctx context.Context, v *view.View, all []wanted, known map[trie.MachineID]bool) bool {
	owners := map[trie.MachineID]bool{}
	now := g.standing(v)
	var found atomic.Bool
	for _, w := range all {
		pieces, live := now.pieces(w.Range, 0)
		for i, p := range pieces {
			switch {
			case now.dead[p.owner] || known[p.owner] || p.owner == g.store.MachineID():
			case live[i]:
				owners[p.owner] = true
			default:
				found.Store(true)
			}
		}
	}
	var asking sync.WaitGroup
	for owner := range owners {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, hereTime)
			defer cancel()
			if _, err := g.store.Call(ctx, owner, methodHere, nil); unreachable(err) && !errors.Is(err, context.Canceled) {
				g.away.note(owner)
				found.Store(true)
			}
		})
	}
	asking.Wait()
	return found.Load()
}

// lookWatched looks ranges up, as [Graph.watched] does.
func (g *Graph) lookWatched(ctx context.Context, r *reader, v *view.View, all []wanted, known map[trie.MachineID]bool, row func(item int, row *row) error) (looked bool, err error) {
	return g.watched(ctx, v, all, known, func(ctx context.Context) error { return r.look(ctx, all, row) })
}

// watched calls do, which reads ranges. It gives up, not looked, where somebody turns out
// to be away who is not among those that are known to be.
func (g *Graph) watched(ctx context.Context, v *view.View, all []wanted, known map[trie.MachineID]bool, do func(ctx context.Context) error) (looked bool, err error) {
	looking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(lookTime, func() {
		if g.probe(looking, v, all, known) {
			cancel(errAway)
		}
	})
	defer timer.Stop()
	err = do(looking)
	return err == nil || ctx.Err() != nil || !errors.Is(context.Cause(looking), errAway), err
}
