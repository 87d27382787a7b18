// The messages of a PageRank between its coordinator and the members.

package pagerank

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/trie"
)

// The methods of PageRank. The first one takes a jobRequest and answers with a jobAnswer, both in
// JSON. The others are binary: a piece of a message of a round (exchange.go), and scores.
const (
	methodJob    = "links/pagerank"
	methodRound  = "links/pagerank/round"
	methodScores = "links/pagerank/scores"
)

// tickTimeout bounds the answer of a member to its coordinator.
const tickTimeout = 2 * time.Second

// jobKind is what a request is about.
type jobKind string

const (
	jobStart jobKind = "start" // a user's request; for the coordinator
	jobStop  jobKind = "stop"
	jobShow  jobKind = "show"
	jobTick  jobKind = "tick" // from the coordinator: the record
)

type jobRequest struct {
	Kind    jobKind               `json:"kind"`
	ID      uint64                `json:"id,omitempty"`
	Options links.PageRankOptions `json:"options"`
	Record  *jobRecord            `json:"record,omitempty"`
	// Lacks are the partitions of the running job that no machine has frozen.
	Lacks derived.Partitions `json:"lacks,omitempty"`
}

// jobAnswer is the answer: a user's error, or the state of a member.
type jobAnswer struct {
	Error  string     `json:"error,omitempty"`
	Kind   string     `json:"kind,omitempty"` // of the error
	Record *jobRecord `json:"record,omitempty"`

	Frozen   derived.Partitions `json:"frozen,omitempty"` // for the running job
	Freezing bool               `json:"freezing,omitempty"`
	Epoch    uint64             `json:"epoch,omitempty"`
	// Term is the term that the machine computes, 0 if it computes none.
	Term      uint64    `json:"term,omitempty"`
	Pages     int64     `json:"pages,omitempty"`
	Links     int64     `json:"links,omitempty"`
	Round     int       `json:"round,omitempty"`
	Change    float64   `json:"change,omitempty"`
	Computed  bool      `json:"computed,omitempty"` // the rounds have ended
	Converged bool      `json:"converged,omitempty"`
	Failed    string    `json:"failed,omitempty"` // why the job cannot go on there
	Scored    time.Time `json:"scored"`           // identifies the job whose scores the machine has
}

// jobErrors are the errors of a user's request, by their kinds in an answer.
var jobErrors = map[string]error{
	"busy": links.ErrBusy, "none": links.ErrNoJob, "invalid": links.ErrInvalid, "loading": links.ErrLoading, "unavailable": store.ErrUnavailable,
}

// err returns the user's error.
func (a *jobAnswer) err() error {
	switch of := jobErrors[a.Kind]; {
	case a.Error == "":
		return nil
	case of != nil && a.Error == of.Error():
		return of
	case of != nil:
		return fmt.Errorf("%w: the coordinator of PageRank: %s", of, a.Error)
	}
	return fmt.Errorf("the coordinator of PageRank: %s", a.Error)
}

// HandleRanks registers the handlers of PageRank.
func (c *Coordinator) HandleRanks() {
	// 1. Requests in JSON.
	c.Node.Handle(methodJob, func(ctx context.Context, from peer.Header, body []byte) ([]byte, error) {
		q := &jobRequest{}
		if err := json.Unmarshal(body, q); err != nil {
			return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
		}
		a, err := c.answerJob(ctx, from.From, q)
		if err != nil {
			return nil, route.Refusal(err)
		}
		return json.Marshal(a)
	})
	// 2. Data.
	c.Node.Handle(methodRound, func(_ context.Context, from peer.Header, body []byte) ([]byte, error) {
		p := &roundMessage{}
		if err := peer.Decode(body, p.fields); err != nil {
			return nil, err
		}
		return nil, c.Ranker.takePiece(from.From, p)
	})
	c.Node.Handle(methodScores, func(_ context.Context, _ peer.Header, body []byte) ([]byte, error) {
		q := &scoresRequest{}
		if err := peer.Decode(body, q.fields); err != nil {
			return nil, err
		}
		a, err := c.Ranker.answerScores(q)
		if err != nil {
			return nil, err
		}
		return peer.Encode(64+len(a.scores)+4*len(a.pages), a.fields), nil
	})
}

// requestJob sends a request to another member.
func (c *Coordinator) requestJob(ctx context.Context, to trie.MachineID, q *jobRequest) (*jobAnswer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	body, err = c.Node.Call(ctx, to, methodJob, body)
	if err != nil {
		if derived.Unreachable(err) && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", derived.ErrUnreachable, err)
		}
		return nil, err
	}
	a := &jobAnswer{}
	if err := json.Unmarshal(body, a); err != nil {
		return nil, fmt.Errorf("%w: %w", peer.ErrMessage, err)
	}
	return a, nil
}

// answerJob answers a request of another member.
func (c *Coordinator) answerJob(ctx context.Context, from trie.MachineID, q *jobRequest) (*jobAnswer, error) {
	if c.Context.Err() != nil {
		return nil, context.Cause(c.Context)
	}
	c.Ranker.OpenRanks()
	// 1. A tick is taken from the coordinator of this machine's view only.
	members := c.Ranker.rankMembers()
	if q.Kind == jobTick {
		if len(members) == 0 || members[0] != from {
			return nil, peer.Refuse(peer.CodeNotOwner, 0, "machine %s is not the coordinator of PageRank", from)
		}
		if q.Record != nil {
			c.Ranker.adopt(*q.Record)
		}
		return c.Ranker.member(q.Lacks), nil
	}
	// 2. The others are for the coordinator.
	if !c.Ranker.coordinates() {
		return nil, peer.Refuse(peer.CodeNotOwner, 0, "machine %s is not the coordinator of PageRank", c.Node.MachineID())
	}
	a := &jobAnswer{}
	if q.Kind == jobShow {
		// A coordinator that has just joined may not know of the job yet.
		if err := c.fetchRecord(ctx); err != nil {
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "%v", err)
		}
	} else if err := c.carryOut(ctx, q); err != nil {
		a.Error = err.Error()
		for kind, of := range jobErrors {
			if errors.Is(err, of) {
				a.Kind = kind
			}
		}
		return a, nil
	}
	c.Ranker.Ranks.mu.Lock()
	defer c.Ranker.Ranks.mu.Unlock()
	record := c.Ranker.Ranks.record
	record.Job = c.Ranker.Ranks.job()
	a.Record = &record
	return a, nil
}

// member returns the state of this machine. If partitions of the running job are not frozen
// anywhere, it begins to freeze those that it has.
func (rk *Ranker) member(lacks derived.Partitions) *jobAnswer {
	r := &rk.Ranks
	r.mu.Lock()
	defer r.mu.Unlock()
	record := r.record
	a := &jobAnswer{Record: &record, Scored: r.scored.Begun}
	if record.Job.State != stateRunning {
		return a
	}
	if r.next != nil {
		a.Scored = record.Begun
	}
	rk.startFreezing(lacks)
	f := r.frozen
	a.Frozen, a.Freezing, a.Epoch, a.Failed = f.set(), f.freezing, f.epoch, f.failure
	if t := r.term; t != nil {
		a.Term, a.Pages, a.Links, a.Round, a.Computed, a.Converged = t.number, t.pages, t.links, t.round.Number, t.result != nil, t.converged
		if !math.IsInf(t.round.Change, 0) {
			a.Change = t.round.Change
		}
		if t.failure != "" {
			a.Failed = t.failure
		}
	}
	return a
}

// tick sends the record to all other members, and returns the answers of all; nil for a member that
// does not answer. If a member has a newer record, it is adopted.
func (c *Coordinator) tick(ctx context.Context, lacks derived.Partitions) map[trie.MachineID]*jobAnswer {
	// 1. Query all at the same time.
	ctx, cancel := context.WithTimeout(ctx, tickTimeout)
	defer cancel()
	defer context.AfterFunc(c.Context, cancel)()
	answers := map[trie.MachineID]*jobAnswer{}
	var mu sync.Mutex
	set := func(m trie.MachineID, a *jobAnswer) {
		mu.Lock()
		defer mu.Unlock()
		answers[m] = a
	}
	var requests sync.WaitGroup
	own := c.Ranker.member(lacks)
	q := &jobRequest{Kind: jobTick, Record: own.Record, Lacks: lacks}
	for _, m := range c.Ranker.rankMembers() {
		if m == c.Node.MachineID() {
			set(m, own)
			continue
		}
		set(m, nil)
		requests.Go(func() {
			if a, err := c.requestJob(ctx, m, q); err == nil {
				set(m, a)
			}
		})
	}
	requests.Wait()
	// 2. A newer record is one of an earlier coordinator.
	for _, a := range answers {
		if a != nil && a.Record != nil {
			c.Ranker.adopt(*a.Record)
		}
	}
	return answers
}

// scoresRequest requests the scores of pages behind one: those of a job, or of a term those that
// the machine has computed.
type scoresRequest struct {
	job   uint64
	term  uint64 // 0 requests all scores of the job
	after uint64
}

// scoresAnswer is the next pages and their scores. No page follows if there are none.
type scoresAnswer struct {
	pages  []uid.UID
	scores []byte // 8 bytes each
}

func (q *scoresRequest) fields(c *peer.Coder) { c.Uvarint(&q.job, &q.term, &q.after) }

func (a *scoresAnswer) fields(c *peer.Coder) {
	route.CodeNumbers(c, &a.pages)
	c.Bytes(&a.scores)
	if c.Reading() && len(a.scores) != 8*len(a.pages) {
		c.Fail("%d bytes of scores of %d pages", len(a.scores), len(a.pages))
	}
}

// jobNumber identifies a job in binary messages.
func jobNumber(begun time.Time) uint64 { return uint64(begun.UnixNano()) }

// answerScores answers a request for scores.
func (rk *Ranker) answerScores(q *scoresRequest) (*scoresAnswer, error) {
	r := &rk.Ranks
	r.mu.Lock()
	var s *Scores
	switch t := r.term; {
	case q.term == 0 && r.scores != nil && jobNumber(r.scored.Begun) == q.job:
		s = r.scores
	case q.term == 0 && jobNumber(r.record.Begun) == q.job:
		s = r.next
	case q.term != 0 && t != nil && t.number == q.term && jobNumber(r.record.Begun) == q.job:
		s = t.result
	}
	r.mu.Unlock()
	if s == nil {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "there are no scores of this job")
	}
	a := &scoresAnswer{}
	pages, values := s.nextPages(uid.UID(q.after), scoresPiece)
	a.pages, a.scores = pages, make([]byte, 0, 8*len(values))
	for _, v := range values {
		a.scores = binary.LittleEndian.AppendUint64(a.scores, math.Float64bits(v))
	}
	return a, nil
}

// scoresPiece is the most pages in a message of scores.
const scoresPiece = 1 << 18

// fetchScores copies scores from another machine.
func (rk *Ranker) fetchScores(ctx context.Context, from trie.MachineID, begun time.Time, term uint64) (*Scores, error) {
	s := &Scores{}
	q := &scoresRequest{job: jobNumber(begun), term: term}
	for {
		// 1. Request the pages behind the last one.
		body, err := rk.Node.Call(ctx, from, methodScores, peer.Encode(32, q.fields))
		if err != nil {
			return nil, err
		}
		a := &scoresAnswer{}
		if err := peer.Decode(body, a.fields); err != nil {
			return nil, err
		}
		if len(a.pages) == 0 {
			return s, nil
		}
		// 2. Check and keep them.
		values := make([]float64, len(a.pages))
		for i := range values {
			values[i] = math.Float64frombits(binary.LittleEndian.Uint64(a.scores[8*i:]))
			if !(values[i] >= 0 && values[i] <= rank.MaxScore) {
				return nil, fmt.Errorf("%w: the score of %s is %v", peer.ErrMessage, a.pages[i], values[i])
			}
			if uint64(a.pages[i]) <= q.after {
				return nil, fmt.Errorf("%w: scores do not ascend", peer.ErrMessage)
			}
			q.after = uint64(a.pages[i])
		}
		if err := s.Add(a.pages, values); err != nil {
			return nil, err
		}
	}
}
