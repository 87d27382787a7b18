// Messages to learners that have no news for them, of which few are sent.

package agreement

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// calmShare: a learner that has accepted a message is sent the same again after this part
// of the heartbeat timeout. Raft by itself sends some 45 a second, so that no voter stands
// for election and all know soon what is agreed on; a learner does not stand for election.
const calmShare = 4

// calm is which messages without entries learners have accepted, and when.
type calm struct {
	rest time.Duration

	mu       sync.Mutex
	accepted map[raft.ServerID]*[2]accepted // by isHeartbeat
	// learners are those of the configuration whose first server is first.
	first    *raft.Server
	learners map[raft.ServerID]bool
}

// accepted is a message without entries that a server has accepted.
type accepted struct {
	at                     time.Time
	term, index, committed uint64
}

func newCalm(heartbeat time.Duration) *calm {
	return &calm{rest: heartbeat / calmShare, accepted: map[raft.ServerID]*[2]accepted{}}
}

// needless reports whether a message need not be sent, because it is for a learner that
// has accepted the same of late.
func (c *calm) needless(id raft.ServerID, q *raft.AppendEntriesRequest, servers []raft.Server) bool {
	if len(q.Entries) > 0 || len(servers) == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first != &servers[0] { // each configuration has servers of its own
		c.first, c.learners = &servers[0], map[raft.ServerID]bool{}
		clear(c.accepted)
		for _, s := range servers {
			c.learners[s.ID] = s.Suffrage != raft.Voter
		}
	}
	if !c.learners[id] || c.accepted[id] == nil {
		return false
	}
	l := &c.accepted[id][isHeartbeat(q)]
	return l.term == q.Term && l.index == q.PrevLogEntry && l.committed == q.LeaderCommitIndex && time.Since(l.at) < c.rest
}

// note notes the answer of a server to a message; answer is nil if there is none.
func (c *calm) note(id raft.ServerID, q *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer == nil || !answer.Success || answer.Term != q.Term {
		delete(c.accepted, id)
		return
	}
	if len(q.Entries) > 0 || !c.learners[id] {
		return
	}
	if c.accepted[id] == nil {
		c.accepted[id] = &[2]accepted{}
	}
	c.accepted[id][isHeartbeat(q)] = accepted{time.Now(), q.Term, q.PrevLogEntry, q.LeaderCommitIndex}
}

// isHeartbeat returns 1 for a heartbeat and 0 for other messages, as Raft tells them apart.
func isHeartbeat(q *raft.AppendEntriesRequest) int {
	if q.PrevLogEntry == 0 && q.PrevLogTerm == 0 && q.LeaderCommitIndex == 0 {
		return 1
	}
	return 0
}

// configured returns the servers of the newest configuration, which must not be changed.
// Raft may call it before it has begun.
func (a *Agreement) configured() []raft.Server {
	r := a.running.Load()
	if r == nil {
		return nil
	}
	return r.GetConfiguration().Configuration().Servers
}
