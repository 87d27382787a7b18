// Changes of the view, and other requests to Raft.

package agreement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/internal/cluster/view"
)

// Bootstrap begins a cluster with this node as the only voter, and v as its first view. It
// returns nil when v is agreed on. If the process ended before, it may be called again. If there
// is a view already, or Raft's configuration has another member, it returns ErrConflict.
func (a *Agreement) Bootstrap(ctx context.Context, v *view.View) error {
	// 1. Write the configuration. If Raft has one already, it must be this one, because an
	// earlier try may have crashed.
	servers := []raft.Server{{Suffrage: raft.Voter, ID: serverID(a.cfg.ID), Address: serverAddress(a.cfg.ID, a.cfg.Address)}}
	err := a.wait(ctx, func() raft.Future { return a.raft.BootstrapCluster(raft.Configuration{Servers: servers}) })
	if err != nil && !errors.Is(err, raft.ErrCantBootstrap) {
		return fmt.Errorf("agreement: bootstrap: %w", translate(err))
	}
	if err != nil {
		if voters, learners := a.Configuration(); len(voters) != 1 || voters[a.cfg.ID] == "" || len(learners) > 0 {
			return fmt.Errorf("%w: this node is of a cluster already", ErrConflict)
		}
	}
	// 2. Wait until this node has elected itself.
	for {
		changed := a.LeadershipChanged()
		if a.IsLeader() {
			break
		}
		select {
		case <-changed:
		case <-a.closing:
			return ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("agreement: bootstrap: no election: %w", ctx.Err())
		}
	}
	// A disk may take longer to write the first entry than one proof lasts.
	err = a.Verify(ctx)
	for err != nil && ctx.Err() == nil && a.IsLeader() && !errors.Is(err, ErrClosed) {
		err = a.Verify(ctx)
	}
	if err != nil {
		return err
	}
	// 3. Propose the first view. If there is a view already, this is a conflict.
	if a.View() != nil {
		return fmt.Errorf("%w: there is a view already", ErrConflict)
	}
	return a.Propose(ctx, v)
}

// Propose makes next the newest view. It returns nil when next is agreed on and View returns it,
// or a later one. After ErrNotLeader and ErrConflict it is not and will not be agreed on; after
// ErrUnknown it may be.
func (a *Agreement) Propose(ctx context.Context, next *view.View) error {
	if err := next.Validate(); err != nil {
		return fmt.Errorf("agreement: propose: %w", err)
	}
	b, err := a.codec.encode(next)
	if err != nil {
		return err
	}
	if !a.IsLeader() {
		return ErrNotLeader
	}
	var f raft.ApplyFuture
	err = a.wait(ctx, func() raft.Future {
		f = a.raft.Apply(b, remaining(ctx))
		return f
	})
	if err != nil {
		return translate(err)
	}
	if refused, ok := f.Response().(error); ok {
		return refused
	}
	return nil
}

// Barrier waits until View is at least the view agreed on at the call.
func (a *Agreement) Barrier(ctx context.Context) error {
	if !a.IsLeader() {
		return ErrNotLeader
	}
	if err := a.wait(ctx, func() raft.Future { return a.raft.Barrier(remaining(ctx)) }); err != nil {
		return verdict(err)
	}
	return nil
}

// TransferLeadership hands the leadership to the voter with the longest log. When it returns nil,
// Raft has requested this voter to stand for election.
func (a *Agreement) TransferLeadership(ctx context.Context) error {
	if !a.IsLeader() {
		return ErrNotLeader
	}
	if err := a.wait(ctx, func() raft.Future { return a.raft.LeadershipTransfer() }); err != nil {
		return fmt.Errorf("agreement: transfer the leadership: %w", err)
	}
	return nil
}

// Silence makes this node send nothing of its own accord, or ends this. A silent leader is not
// heard any more, so the others elect another one; it does not stand for election. It is for a
// node which cannot lead. It works even if the disk is blocked and Raft waits for it.
func (a *Agreement) Silence(on bool) { a.mute.Store(on) }

// wait starts something and waits for it, for the context or for the end.
func (a *Agreement) wait(ctx context.Context, start func() raft.Future) error {
	if err := a.store.err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", raft.ErrEnqueueTimeout, err)
	}
	if !a.begin() {
		return ErrClosed
	}
	done := make(chan error, 1)
	go func() {
		defer a.end()
		done <- start().Error()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-a.closing:
		return raft.ErrRaftShutdown
	}
}

// begin counts a request to Raft; it returns false if this node closes.
func (a *Agreement) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case <-a.closing:
		return false
	default:
		a.questions++
		return true
	}
}

func (a *Agreement) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.questions--; a.questions == 0 && a.answered != nil {
		close(a.answered)
	}
}

// lastAnswers refuses further requests to Raft and waits for the answers to the earlier ones,
// because Raft never answers them once it is shut down. If its disk is blocked, it gives none.
func (a *Agreement) lastAnswers() {
	a.mu.Lock()
	close(a.closing)
	answered := make(chan struct{})
	if a.answered = answered; a.questions == 0 {
		close(answered)
	}
	a.mu.Unlock()
	timer := time.NewTimer(answerTimeout)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	}
}

// remaining returns the remaining time of a context, and 0 without a deadline.
func remaining(ctx context.Context) time.Duration {
	if at, ok := ctx.Deadline(); ok {
		return max(time.Until(at), time.Millisecond)
	}
	return 0
}

// translate turns Raft's error for a change into ours. If it does not prove the change undone,
// the change may have been done.
func translate(err error) error {
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrNotLeader):
		return err
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress):
		return fmt.Errorf("%w: %w", ErrNotLeader, err)
	case errors.Is(err, raft.ErrEnqueueTimeout):
		return fmt.Errorf("agreement: nothing was done: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// verdict turns Raft's error for a question into ours. A question has no effect, so the result
// cannot be unknown.
func verdict(err error) error {
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, raft.ErrEnqueueTimeout),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("agreement: verify the leadership: %w", err)
	}
	return fmt.Errorf("%w: %w", ErrNotLeader, err)
}
