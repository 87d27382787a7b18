// The proof of leadership: most voters have answered requests sent after the call.

package agreement

import (
	"context"

	"github.com/hashicorp/raft"
)

// Leases rest on this: if Verify returns nil, then at some moment after it was called
// most voters had not voted in a later term. So every later leader is elected after the
// call, and a lease that runs from before the call is over before that leader, which
// waits for a lease since its election, excludes the holder.
//
// raft.VerifyLeader alone does not prove that (hashicorp/raft v1.8.0, raft.go and
// replication.go), for two reasons:
//
//   - It counts the next answer of each server. That may be the answer to a heartbeat
//     that was sent before the call: by the time it arrives, its sender may have elected
//     another leader.
//   - It counts servers that have no vote. A leader with a learner beside it passes as
//     the leader of three voters while the other two elect another one.
//
// Therefore each request has a number, and Verify counts voters that confirm, in an
// answer to a request with a greater number than the last one before the call, that
// their term is the leader's. A voter that confirms has not voted in a later term before,
// because it does not go back to an earlier one. Any two majorities share a voter. So a
// leader of a later term was elected after some voter had confirmed, which is after the
// call.
// raft.VerifyLeader still makes Raft send heartbeats at once: if one is on its way,
// the next one follows its answer.

// confirmation is the last request with a proof: the server was in the leader's term after it.
type confirmation struct{ term, number uint64 }

// verify makes one proof, for all earlier calls of [Agreement.Verify].
func (a *Agreement) verify(ctx context.Context) error {
	if !a.IsLeader() {
		return ErrNotLeader
	}
	term := a.Term()
	a.mu.Lock()
	ready, after := a.readyTerm == term, a.sent
	a.mu.Unlock()

	// 1. All views agreed on in earlier terms must be applied first.
	if !ready {
		if err := a.wait(ctx, func() raft.Future { return a.raft.Barrier(remaining(ctx)) }); err != nil {
			return verdict(err)
		}
	}

	// 2. Heartbeats are sent, and most voters confirm the term.
	if err := a.wait(ctx, func() raft.Future { return a.raft.VerifyLeader() }); err != nil {
		return verdict(err)
	}
	if err := a.confirmedAfter(ctx, term, after); err != nil {
		return err
	}
	a.mu.Lock()
	a.readyTerm = max(a.readyTerm, term)
	a.mu.Unlock()
	return nil
}

// confirmedAfter waits until most voters have confirmed a term in answers to requests
// with numbers greater than after. It returns ErrNotLeader if the leadership ends before.
func (a *Agreement) confirmedAfter(ctx context.Context, term, after uint64) error {
	for {
		// The channels must come first, because a change after the count would be missed.
		changed := a.LeadershipChanged()
		servers := a.servers()
		voters, votes := 0, 0
		// Only voters count, and the leader counts itself. The lock covers the count and the
		// channel, because a confirmation in between must not be missed.
		a.mu.Lock()
		confirms := a.confirms.Next()
		for id, s := range servers {
			if !s.voter {
				continue
			}
			voters++
			if c := a.confirmed[serverID(id)]; id == a.cfg.ID || c.term == term && c.number > after {
				votes++
			}
		}
		a.mu.Unlock()
		// The leadership must be checked after the count, because the term may have ended
		// meanwhile.
		if !a.IsLeader() || a.Term() != term {
			return ErrNotLeader
		}
		if votes > voters/2 {
			return nil
		}
		select {
		case <-confirms:
		case <-changed:
		case <-a.closing:
			return ErrClosed
		case <-ctx.Done():
			return verdict(ctx.Err())
		}
	}
}

// sending returns the number of the next request.
func (a *Agreement) sending() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent++
	return a.sent
}

// confirm records: a server was in the leader's term after a request was sent.
func (a *Agreement) confirm(id raft.ServerID, c confirmation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.confirmed[id]; old.term > c.term || old.term == c.term && old.number >= c.number {
		return
	}
	a.confirmed[id] = c
	a.confirms.Send()
}
