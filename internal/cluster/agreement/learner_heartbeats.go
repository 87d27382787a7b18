// Suppression of repeated messages to learners.

package agreement

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// calmShare divides the heartbeat timeout: an accepted message is sent to a learner again only
// after this part of it. Raft sends some 45 a second, because no voter must stand for election
// and all must learn of commits soon. But a learner never stands for election.
const calmShare = 4

// calm records the last accepted messages without entries of learners, and their times.
type calm struct {
	rest time.Duration

	mu       sync.Mutex
	accepted map[raft.ServerID]*[2]accepted // by isHeartbeat
	// first is the first server of the configuration behind learners.
	first    *raft.Server
	learners map[raft.ServerID]bool
}

// accepted is a message without entries after a server has accepted it.
type accepted struct {
	at                     time.Time
	term, index, committed uint64
}

func newCalm(heartbeat time.Duration) *calm {
	return &calm{rest: heartbeat / calmShare, accepted: map[raft.ServerID]*[2]accepted{}}
}

// isNeedless reports whether a message need not be sent, because its learner accepted the same less
// than rest ago.
func (c *calm) isNeedless(id raft.ServerID, q *raft.AppendEntriesRequest, servers []raft.Server) bool {
	if len(q.Entries) > 0 || len(servers) == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.first != &servers[0] { // each configuration has its own array
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

// record records the answer of a server to a message; answer is nil if there is none.
func (c *calm) record(id raft.ServerID, q *raft.AppendEntriesRequest, answer *raft.AppendEntriesResponse) {
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

// isHeartbeat returns 1 for a heartbeat and 0 for another message: heartbeats of Raft have
// no previous entry and no commit index.
func isHeartbeat(q *raft.AppendEntriesRequest) int {
	if q.PrevLogEntry == 0 && q.PrevLogTerm == 0 && q.LeaderCommitIndex == 0 {
		return 1
	}
	return 0
}

// configured returns the servers of the newest configuration. The caller must not change them. It
// returns nil if Raft has not begun yet; Raft itself is the caller.
func (a *Agreement) configured() []raft.Server {
	r := a.running.Load()
	if r == nil {
		return nil
	}
	return r.GetConfiguration().Configuration().Servers
}
