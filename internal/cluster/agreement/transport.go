// Raft's requests to other servers, and this package's records of their answers.

package agreement

import (
	"errors"
	"io"
	"sync"

	"github.com/hashicorp/raft"
)

// transport reports to the agreement the log positions of servers and their confirmations of the
// leader, because Raft keeps both to itself.
type transport struct {
	*raft.NetworkTransport
	of *Agreement
}

// errSilent is the error of a message while this node is silent.
var errSilent = errors.New("agreement: this node is silent")

var (
	_ raft.Transport   = (*transport)(nil)
	_ raft.WithPreVote = (*transport)(nil)
	_ raft.WithClose   = (*transport)(nil)
)

// AppendEntries implements raft.Transport. If a learner has accepted a message a short time ago
// (see calm), it does not send it again, and returns the learner's answer. The answer confirms
// nothing.
func (t *transport) AppendEntries(id raft.ServerID, to raft.ServerAddress, q *raft.AppendEntriesRequest, r *raft.AppendEntriesResponse) error {
	if t.of.mute.Load() {
		return errSilent
	}
	if t.of.calm.isNeedless(id, q, t.of.configured()) {
		// The header stays as it is: Raft decodes the next answer into the bytes of this one.
		r.Term, r.LastLog, r.Success, r.NoRetryBackoff = q.Term, q.PrevLogEntry, true, false
		return nil
	}
	number := t.of.sending()
	if err := t.NetworkTransport.AppendEntries(id, to, q, r); err != nil {
		t.of.calm.record(id, q, nil)
		return err
	}
	t.of.calm.record(id, q, r)
	if r.Term == q.Term {
		t.of.confirm(id, confirmation{r.Term, number})
	}
	if r.Success && r.Term == q.Term {
		t.of.progress(id, q.PrevLogEntry+uint64(len(q.Entries)))
	}
	return nil
}

// InstallSnapshot implements raft.Transport.
func (t *transport) InstallSnapshot(id raft.ServerID, to raft.ServerAddress, q *raft.InstallSnapshotRequest, r *raft.InstallSnapshotResponse, data io.Reader) error {
	if t.of.mute.Load() {
		return errSilent
	}
	if err := t.NetworkTransport.InstallSnapshot(id, to, q, r, data); err != nil {
		return err
	}
	if r.Success && r.Term == q.Term {
		t.of.progress(id, q.LastLogIndex)
	}
	return nil
}

// RequestVote implements raft.Transport.
func (t *transport) RequestVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestVoteRequest, r *raft.RequestVoteResponse) error {
	if t.of.mute.Load() {
		return errSilent
	}
	return t.NetworkTransport.RequestVote(id, to, q, r)
}

// RequestPreVote implements raft.WithPreVote.
func (t *transport) RequestPreVote(id raft.ServerID, to raft.ServerAddress, q *raft.RequestPreVoteRequest, r *raft.RequestPreVoteResponse) error {
	if t.of.mute.Load() {
		return errSilent
	}
	return t.NetworkTransport.RequestPreVote(id, to, q, r)
}

// SetHeartbeatHandler implements raft.Transport.
func (t *transport) SetHeartbeatHandler(handle func(raft.RPC)) {
	t.NetworkTransport.SetHeartbeatHandler(func(rpc raft.RPC) {
		if !t.of.heartbeats.begin() {
			rpc.Respond(nil, raft.ErrRaftShutdown)
			return
		}
		defer t.of.heartbeats.running.Done()
		handle(rpc)
	})
}

// heartbeats are the ones that this node takes at the moment. Raft takes them on the transport's
// goroutines, where they may write a new term, and does not wait for them if it ends.
type heartbeats struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// begin reports whether another one may be taken.
func (h *heartbeats) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.running.Add(1)
	return true
}

// end lets no more begin, and waits for those that run.
func (h *heartbeats) end() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	h.running.Wait()
}
