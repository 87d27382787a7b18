// Peers: the partitions of the other members, and questions to them.

package derived

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// Holding is the partitions that a machine holds. [Partitions] is one.
type Holding interface{ Has(partition int) bool }

// Questions are the messages of an index.
type Questions struct {
	Method string // of all messages
	Held   []byte // the question for the partitions of a machine; it is answered at once
	// ParseHeld returns the answer to Held. full is why partitions do not fit into the machine's
	// memory, "" if they do.
	ParseHeld func(answer []byte) (held Holding, full string, err error)
	// Full returns why partitions do not fit into the memory of this machine, nil if they do.
	Full func() error
}

// Peers sends questions to the members that hold the partitions. What it knows of them is a hint: a
// machine refuses if it lacks a partition. It is safe for concurrent use.
type Peers struct {
	member    *Member
	questions Questions

	mu    sync.Mutex
	held  map[trie.MachineID]Holding
	full  map[trie.MachineID]string
	down  map[trie.MachineID]time.Time // machines that did not answer a moment ago, until when
	fresh time.Time                    // when held was requested
}

// NewPeers returns the peers of a member without any knowledge of them.
func NewPeers(m *Member, q Questions) *Peers {
	return &Peers{member: m, questions: q, down: map[trie.MachineID]time.Time{}}
}

const (
	// retryTimeout bounds the retries of a change. Those of a read end with its wait, see package readtimeout.
	retryTimeout = 10 * time.Second
	// downTime is the time for which a machine is the last choice after it did not answer.
	downTime = time.Second
	// heldTimeout bounds the answer of a machine to Held, heldPause is the time between two
	// requests for it.
	heldTimeout = 500 * time.Millisecond
	heldPause   = 20 * time.Millisecond
	// probeInterval is the time after which a machine that has not answered is probed.
	probeInterval = 500 * time.Millisecond

	firstRetry = 5 * time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

// Backoff returns the pause after a number of tries.
func Backoff(tries int) time.Duration { return min(firstRetry<<min(tries, 10), lastRetry) }

// ErrUnreachable is wrapped by the error of a question to which there was no answer.
var ErrUnreachable = errors.New("another machine does not answer")

// Unreachable reports whether a call failed because there was no answer.
func Unreachable(err error) bool {
	var refusal *peer.Refusal
	return err != nil && !errors.As(err, &refusal) && !isFailure(err)
}

// isFailure reports whether an error is that of another machine that has failed to answer a correct
// question. A further holder may answer it.
func isFailure(err error) bool {
	var failed *peer.RemoteError
	return errors.As(err, &failed)
}

// MayPass reports whether a retry may help after an error, perhaps under another view. passing are
// errors of the index that may pass.
func MayPass(err error, passing ...error) bool {
	var refusal *peer.Refusal
	switch {
	case errors.Is(err, ErrUnreachable): // a dial that ended by its own timeout is a context.DeadlineExceeded, too
		return true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrClosed):
		return false
	case errors.As(err, &refusal):
		switch refusal.Code {
		case peer.CodeEpoch, peer.CodeLease, peer.CodeUnavailable, peer.CodeNotOwner, peer.CodeClosing, peer.CodeBusy, peer.CodeMethod:
			return true
		}
		return false
	case isFailure(err):
		return false
	}
	is := func(target error) bool { return errors.Is(err, target) }
	return is(store.ErrUnavailable) || is(store.ErrUnknown) || slices.ContainsFunc(passing, is)
}

// Call sends a question to another machine. If the answer takes long, and the machine does not answer
// the question Held either, Call gives up with [ErrUnreachable], because another machine may answer. It
// also does after a timeout, unless that is 0.
func (p *Peers) Call(ctx context.Context, to trie.MachineID, question []byte, timeout time.Duration) ([]byte, error) {
	calling, cancel := context.WithCancelCause(ctx)
	if timeout > 0 {
		defer time.AfterFunc(timeout, func() { cancel(ErrUnreachable) }).Stop()
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.watch(calling, to, cancel)
	}()
	defer func() {
		cancel(nil)
		<-watched
	}()
	answer, err := p.member.Node.Call(calling, to, p.questions.Method, question)
	return answer, p.unreachable(ctx, to, err)
}

// unreachable returns the error of a call. If a machine does not answer, it is the last
// choice for some time.
func (p *Peers) unreachable(ctx context.Context, to trie.MachineID, err error) error {
	if !Unreachable(err) || ctx.Err() != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down[to] = time.Now().Add(downTime)
	return fmt.Errorf("%w: %w", ErrUnreachable, err)
}

// watch cancels a call of a machine if the machine is silent. It ends with the call.
func (p *Peers) watch(call context.Context, to trie.MachineID, cancel context.CancelCauseFunc) {
	timer := time.NewTimer(probeInterval)
	defer timer.Stop()
	for {
		select {
		case <-call.Done():
			return
		case <-timer.C:
		}
		probe, done := context.WithTimeout(call, heldTimeout)
		_, err := p.member.Node.Call(probe, to, p.questions.Method, p.questions.Held)
		done()
		if call.Err() == nil && Unreachable(err) {
			cancel(ErrUnreachable)
			return
		}
		timer.Reset(probeInterval)
	}
}

// requestHeld requests the partitions of all members, at the same time. A machine that does not answer holds
// nothing.
func (p *Peers) requestHeld(ctx context.Context, v *view.View, question []byte) (held map[trie.MachineID]Holding, full map[trie.MachineID]string) {
	ctx, cancel := context.WithTimeout(ctx, heldTimeout)
	defer cancel()
	held, full = map[trie.MachineID]Holding{}, map[trie.MachineID]string{}
	var mu sync.Mutex
	var requests sync.WaitGroup
	for _, m := range v.Members {
		if m.ID == p.member.Node.MachineID() {
			continue
		}
		requests.Go(func() {
			answer, err := p.member.Node.Call(ctx, m.ID, p.questions.Method, question)
			mu.Lock()
			defer mu.Unlock()
			if held[m.ID] = Partitions(0); p.unreachable(ctx, m.ID, err) != nil {
				return
			}
			if one, why, err := p.questions.ParseHeld(answer); err == nil {
				if held[m.ID] = one; why != "" {
					full[m.ID] = why
				}
			}
		})
	}
	requests.Wait()
	return held, full
}

// Refresh requests the partitions of all members, unless that was done a moment ago.
func (p *Peers) Refresh(ctx context.Context, v *view.View) {
	p.mu.Lock()
	fresh := time.Since(p.fresh) < heldPause
	p.mu.Unlock()
	if fresh {
		return
	}
	held, full := p.requestHeld(ctx, v, p.questions.Held)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.full, p.fresh = held, full, time.Now()
}

// Spare returns the partitions of a set that other machines must hold, if all of these have them by
// their answers to a question. It may be stricter than [Questions.Held]; nil is Held.
func (p *Peers) Spare(ctx context.Context, v *view.View, set Partitions, question []byte) (spare Partitions) {
	if set == 0 {
		return 0
	}
	if question == nil {
		question = p.questions.Held
	}
	held, _ := p.requestHeld(ctx, v, question)
	for i := range set.All() {
		lacks := func(m trie.MachineID) bool { return held[m] == nil || !held[m].Has(i) }
		if !slices.ContainsFunc(p.member.PlacementOf(v).HoldersOf(i), lacks) {
			spare = spare.With(i)
		}
	}
	return spare
}

// Builds reports whether this machine makes a partition that no machine has: it is the first of the
// holders with memory for it.
func (p *Peers) Builds(of *Placement, partition int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range of.HoldersOf(partition) {
		if _, full := p.full[m]; m == p.member.Node.MachineID() || !full {
			return m == p.member.Node.MachineID()
		}
	}
	return false
}

// answererOf returns another machine that answers for a partition: a holder, or a machine that held
// it before; 0 if none is known. Machines that failed are the last choice.
func (p *Peers) answererOf(of *Placement, partition int, failed map[trie.MachineID]bool) trie.MachineID {
	p.mu.Lock()
	defer p.mu.Unlock()
	var second trie.MachineID
	for _, m := range of.Ranking[partition] {
		held, known := p.held[m]
		if m == p.member.Node.MachineID() || known && !held.Has(partition) {
			continue
		}
		if until, down := p.down[m]; !failed[m] && (!down || time.Now().After(until)) {
			return m
		}
		if second == 0 && known {
			second = m // it may be well again
		}
	}
	return second
}

// WaitRetry waits before another try of a request, and returns an error if there were too many, or if the wait of a
// read has ended.
func (p *Peers) WaitRetry(ctx context.Context, tries int, err error) error {
	// 1. Give up, with the reason.
	m, pause := p.member, Backoff(tries-1)
	if time.Duration(tries)*pause > retryTimeout || m.Context.Err() != nil || errors.Is(context.Cause(ctx), store.ErrUnavailable) {
		return p.gaveUp(err)
	}
	// 2. Another view may help at once.
	v := m.Node.View()
	wait, cancel := context.WithTimeout(ctx, pause)
	defer cancel()
	stop := context.AfterFunc(m.Context, cancel)
	defer stop()
	if failed := m.Node.Newer(wait, v); failed != nil && wait.Err() == nil {
		if v == nil {
			return failed // this machine joins, or has found no leader since its start
		}
		<-wait.Done() // this machine is isolated
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, store.ErrUnavailable): // the wait of the read has ended
		return p.gaveUp(err)
	case cause != nil:
		return cause
	}
	if v := m.Node.View(); v != nil {
		p.Refresh(ctx, v)
	}
	return nil
}

// Retry calls do until it returns no error, or an error that will not pass.
func (p *Peers) Retry(ctx context.Context, mayPass func(error) bool, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if err == nil || p.member.Node.Lone() != nil || !mayPass(err) {
			return err
		}
		if err := p.WaitRetry(ctx, tries, err); err != nil {
			return err
		}
	}
}

// gaveUp returns the error of a request whose last try failed with err, or found no machine if err is nil.
func (p *Peers) gaveUp(err error) error {
	if err == nil {
		err = errors.New("no machine has all of its parts")
	}
	if full := p.whyFull(); full != "" {
		err = fmt.Errorf("%w (%s)", err, full)
	}
	return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, p.member.index.Name, err)
}

// whyFull returns why this machine or another one lacks partitions, "" if memory is not the reason.
func (p *Peers) whyFull() string {
	if full := p.questions.Full(); full != nil {
		return full.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for m, why := range p.full {
		return fmt.Sprintf("%s: %s", m, why)
	}
	return ""
}
