// Messages between the machines of an index.

package textsearch

import (
	"context"
	"errors"
	"math"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
)

// methodQuestion is the method of all messages: a question and its answer.
const methodQuestion = "text/ask"

// questionKind is what a question requests.
type questionKind byte

const (
	questionHeld       questionKind = iota // the partitions with all of some predicates; without some, with any
	questionCollect                        // the statistics of some partitions
	questionSearch                         // the best documents of some partitions
	questionScores                         // the scores of some documents
	questionCandidates                     // the literals of some partitions that may meet a condition
)

// maxAnswerBytes is about the greatest size of the hits of an answer.
const maxAnswerBytes = 8 << 20

// question is a request to a machine. It is answered when the machine has reached the position.
type question struct {
	kind       questionKind
	at         feed.Position
	set        derived.Partitions
	text       string
	predicates []string
	ofLanguage bool
	language   string
	limit      int
	behind     bool
	after      textindex.Hit
	stats      textindex.Stats
	keys       [][]byte // of documents in the partitions
	condition  textindex.Condition
}

// answer is the answer to a question.
type answer struct {
	held    derived.Partitions
	problem string // the query needs too much
	stats   textindex.Stats
	hits    []textindex.Hit
	cut     bool // there may be hits behind the last one
	scores  []float64
	places  []int    // of the keys whose scores these are; not sent
	keys    [][]byte // of candidates, as they stand in rows
}

func (q *question) fields(c *peer.Coder) {
	peer.Byte(c, &q.kind)
	text := q.at.String()
	c.String(&text)
	if c.Reading() {
		var err error
		q.at, err = feed.ParsePosition(text)
		c.Check(err)
	}
	codePartitions(c, &q.set)
	c.String(&q.text)
	peer.List(c, &q.predicates, 1, func(p *string, c *peer.Coder) { c.String(p) })
	c.Bool(&q.ofLanguage, &q.behind)
	c.String(&q.language)
	peer.Number(c, &q.limit, math.MaxInt32)
	hitFields(&q.after, c)
	statsFields(&q.stats, c)
	peer.List(c, &q.keys, 1, func(key *[]byte, c *peer.Coder) { c.Bytes(key) })
	peer.List(c, (*[][]string)(&q.condition), 1, func(texts *[]string, c *peer.Coder) {
		peer.List(c, texts, 1, func(text *string, c *peer.Coder) { c.String(text) })
	})
}

func (a *answer) fields(c *peer.Coder) {
	codePartitions(c, &a.held)
	c.String(&a.problem)
	statsFields(&a.stats, c)
	peer.List(c, &a.hits, 18, hitFields)
	c.Bool(&a.cut)
	peer.List(c, &a.scores, 8, scoreField)
	peer.List(c, &a.keys, 1, func(key *[]byte, c *peer.Coder) { c.Bytes(key) })
}

func scoreField(score *float64, c *peer.Coder) {
	bits := math.Float64bits(*score)
	if peer.Uint64(c, &bits); c.Reading() {
		*score = math.Float64frombits(bits)
	}
}

func codePartitions(c *peer.Coder, p *derived.Partitions) {
	n := uint64(*p)
	c.Uvarint(&n)
	if c.Reading() {
		*p = derived.Partitions(n)
	}
}

func statsFields(s *textindex.Stats, c *peer.Coder) {
	c.Uvarint(&s.Documents, &s.Tokens)
	peer.Map(c, &s.Frequencies, 2, func(k *string, n *uint64, c *peer.Coder) {
		c.String(k)
		c.Uvarint(n)
	})
	peer.List(c, &s.Languages, 1, func(l *string, c *peer.Coder) { c.String(l) })
}

func hitFields(h *textindex.Hit, c *peer.Coder) {
	scoreField(&h.Score, c)
	peer.Uint64(c, &h.Hash)
	c.Bytes(&h.Key)
	c.String(&h.Predicate)
}

// request returns the request of a question.
func (q *question) request() (*textindex.Request, error) {
	query, err := textindex.Parse(q.text)
	if err != nil {
		return nil, err
	}
	r := &textindex.Request{Query: query, Predicates: q.predicates}
	if q.ofLanguage {
		r.Language = &q.language
	}
	return r, nil
}

// handle registers the handler of questions.
func (x *Index) handle() {
	x.Node.Handle(methodQuestion, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) {
		q := &question{}
		if err := peer.Decode(body, q.fields); err != nil {
			return nil, err
		}
		a, err := x.answer(ctx, q)
		switch {
		case errors.Is(err, textindex.ErrQuery), errors.Is(err, textindex.ErrTooMany):
			a = &answer{problem: err.Error()}
		case errors.Is(err, store.ErrClosed):
			return nil, peer.Refuse(peer.CodeClosing, 0, "%v", err)
		case err != nil:
			return nil, peer.Refuse(peer.CodeUnavailable, 0, "%v", err)
		}
		return peer.Encode(256, a.fields), nil
	})
}

// answer answers a question of another machine.
func (x *Index) answer(ctx context.Context, q *question) (*answer, error) {
	// 1. What this machine holds.
	if q.kind == questionHeld {
		a := &answer{}
		if s := x.state.Load(); s != nil && s.layout == partitionBits {
			if a.held = s.withAny(); len(q.predicates) > 0 {
				a.held = s.heldOf(&textindex.Request{Predicates: q.predicates})
			}
		}
		return a, nil
	}
	// 2. The rest needs all changes up to the position.
	waiting, cancel := readtimeout.BoundStep(ctx)
	defer cancel()
	if q.kind == questionCandidates {
		return x.answerCandidates(ctx, waiting, q)
	}
	r, err := q.request()
	if err != nil {
		return nil, err
	}
	s, err := x.current(waiting, q.at)
	if err != nil {
		return nil, err
	}
	if s.layout != partitionBits || !s.holds(r, q.set) {
		return nil, peer.Refuse(peer.CodeNotOwner, 0, "the machine does not hold these partitions")
	}
	a := &answer{}
	switch q.kind {
	case questionCollect:
		a.stats, err = x.collect(ctx, s, r, q.set)
		return a, err
	case questionScores:
		a.scores, err = x.scores(ctx, s, r, &q.stats, q.set, q.keys)
		return a, err
	}
	var after *textindex.Hit
	if q.behind {
		after = &q.after
	}
	a.hits, err = x.search(ctx, s, r, &q.stats, q.set, q.limit, after)
	a.cut = textindex.Cut(a.hits, q.limit)
	// 3. An answer is bounded. It has one hit at least.
	bytes := 0
	for i, h := range a.hits {
		if bytes += len(h.Key) + len(h.Predicate) + 32; bytes > maxAnswerBytes && i > 0 {
			a.hits, a.cut = a.hits[:i], true
			break
		}
	}
	return a, err
}
