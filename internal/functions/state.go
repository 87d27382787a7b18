// The durable state of a function: its place in the feed, its intent, and its counts.

package functions

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// State is what a function has done. It is an annotation of the function's triple, and changes by
// compare-and-set only.
type State struct {
	// Position is a position in the feed: the function has processed all changes before it, and
	// what Partials and Loads say.
	Position string `json:"position"`
	// Partials are requests behind Position of which a part is processed, at most one of each
	// sequencer.
	Partials []Partial `json:"partials,omitempty"`
	// Selected is what the registration selected when Partials and Loads were counted.
	Selected *Selection `json:"selected,omitempty"`
	// Loads are the last bulk loads that were processed, or are being processed.
	Loads []LoadProgress `json:"loads,omitempty"`
	// Intent is the effects of the changes before Position. They may be written or not.
	Intent *Intent `json:"intent,omitempty"`

	Stopped bool     `json:"stopped,omitempty"`
	Counts  Counts   `json:"counts"`
	Last    *Failure `json:"lastError,omitempty"`
}

// The forms of the API.
type (
	Counts  = api.FunctionCounts
	Failure = api.FunctionFailure
)

// Partial is a number of processed changes of one request.
type Partial struct {
	Sequencer trie.MachineID `json:"sequencer"`
	Epoch     uint64         `json:"epoch"`
	Sequence  uint64         `json:"sequence"`
	Count     int            `json:"count"`

	seen int // the changes of the request that the feed has sent since the state was read
}

// contains reports whether a change is one of the request.
func (p *Partial) contains(c *feed.Change) bool {
	return p.Sequencer == c.Sequencer && p.Epoch == c.Stamp.Epoch && p.Sequence == c.Stamp.Sequence
}

// stamp is the stamp of the request.
func (p *Partial) stamp() triple.Stamp {
	return triple.Stamp{Epoch: p.Epoch, Sequence: p.Sequence}
}

// maxLoads bounds State.Loads.
const maxLoads = 16

// LoadProgress is how far a bulk load is processed.
type LoadProgress struct {
	ID    string `json:"id"`
	After []byte `json:"after,omitempty"` // the key of the last processed row
	Done  bool   `json:"done,omitempty"`
}

// Intent is effects that are decided. They must be written exactly once.
type Intent struct {
	// ID is random. It gives the operations their tokens.
	ID   string    `json:"id"`
	Time time.Time `json:"time"`
	// Since is a position behind the reads that decided the effects, and before their writes.
	Since      string      `json:"since"`
	Operations []Operation `json:"operations"`
}

// Operation is one effect: the net effect on one triple, or on one annotation.
type Operation struct {
	Kind        feed.Kind `json:"kind"`
	Depth       uint8     `json:"depth"`
	Triple      string    `json:"triple"` // N-Quads without the dot
	Application string    `json:"app,omitempty"`
	Removed     bool      `json:"removed,omitempty"`
	Data        []byte    `json:"data,omitempty"`
}

// triple returns the triple of an operation.
func (o *Operation) triple() (t triple.Triple, err error) {
	terms, err := triple.ParseTerms(o.Triple)
	switch {
	case err != nil:
		return t, err
	case len(terms) < 3 || len(terms) > 4:
		return t, fmt.Errorf("%d terms in %.200q", len(terms), o.Triple)
	}
	t = triple.Triple{Subject: terms[0], Predicate: terms[1], Object: terms[2]}
	if len(terms) == 4 {
		t.Graph = terms[3]
	}
	return t, t.Check()
}

// textOf returns a triple for an operation.
func textOf(t triple.Triple) string {
	b := triple.AppendNT(nil, t.Subject)
	b = triple.AppendNT(append(b, ' '), t.Predicate)
	b = triple.AppendNT(append(b, ' '), t.Object)
	if !t.Graph.IsZero() {
		b = triple.AppendNT(append(b, ' '), t.Graph)
	}
	return string(b)
}

func (s *State) encode() ([]byte, error) {
	data, err := json.Marshal(s)
	if err == nil && len(data) > triple.MaxAnnotationBytes {
		err = fmt.Errorf("the state has %d bytes, at most %d", len(data), triple.MaxAnnotationBytes)
	}
	return data, err
}

// decodeState decodes the result of encode. It accepts only effects that can be written, because others
// would be taken for written.
func decodeState(data []byte) (*State, error) {
	s := new(State)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%w: the state of the function: %w", store.ErrCorrupt, err)
	}
	if s.Intent == nil {
		return s, nil
	}
	for i := range s.Intent.Operations {
		o := &s.Intent.Operations[i]
		_, err := o.triple()
		if err == nil && (o.Kind < feed.Add || o.Kind > feed.Annotate || o.Depth < 1 || o.Depth > MaxDepth) {
			err = fmt.Errorf("%s of depth %d", o.Kind, o.Depth)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the state of the function: effect %d: %w", store.ErrCorrupt, i, err)
		}
	}
	return s, nil
}

// randomName returns 16 random hexadecimal digits.
func randomName() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// progress is a place in the feed, kept while changes are processed one by one.
type progress struct {
	position feed.Position
	partials []Partial
	loads    []LoadProgress
}

func (s *State) progress() (p progress, err error) {
	if p.position, err = feed.ParsePosition(s.Position); err != nil {
		return p, err
	}
	p.loads = append(p.loads, s.Loads...)
	for _, q := range s.Partials {
		q.seen = 0
		p.partials = append(p.partials, q)
	}
	return p, nil
}

// set writes the place into a state.
func (p *progress) set(s *State) {
	s.Position, s.Partials, s.Loads = p.position.String(), slices.Clone(p.partials), append([]LoadProgress(nil), p.loads...)
}

// partialOf returns what is processed of the request of a change; nil if nothing is.
func (p *progress) partialOf(c *feed.Change) *Partial {
	for i := range p.partials {
		if q := &p.partials[i]; q.contains(c) {
			return q
		}
	}
	return nil
}

// repeated reports whether a change was processed before. The feed sends the changes of one request
// in the same order each time, so their number is enough.
func (p *progress) repeated(c *feed.Change) bool {
	q := p.partialOf(c)
	if q == nil || q.seen >= q.Count {
		return false
	}
	q.seen++
	return true
}

// advance moves the place behind a change that is no load.
func (p *progress) advance(c *feed.Change) {
	if q := p.partialOf(c); q != nil {
		q.Count++
		q.seen++
		return
	}
	// The feed sends the changes of one request together, and those of a sequencer in order. So a
	// request that it has sent is complete. One that it has not sent since the state was read may have
	// more changes: within an epoch the requests of different sequencers have no fixed order.
	p.partials = slices.DeleteFunc(p.partials, func(q Partial) bool {
		if q.seen == 0 && q.Epoch == c.Stamp.Epoch && q.Sequencer != c.Sequencer {
			return false
		}
		p.position = p.position.Advance(q.Sequencer, q.stamp())
		return true
	})
	p.partials = append(p.partials, Partial{c.Sequencer, c.Stamp.Epoch, c.Stamp.Sequence, 1, 1})
}

// batch moves the place behind a batch of the feed.
func (p *progress) batch(position feed.Position) {
	p.position = position
	// A load has its own name, so the last ones are remembered: the feed of a cluster may send them
	// again behind other changes.
	if n := len(p.loads) - maxLoads; n > 0 {
		p.loads = append([]LoadProgress(nil), p.loads[n:]...)
	}
	p.partials = slices.DeleteFunc(p.partials, func(q Partial) bool { return position.Covers(q.Sequencer, q.stamp()) })
}

// load returns the progress of a bulk load. It is a new entry if the load was not met before.
func (p *progress) load(id string) *LoadProgress {
	for i := range p.loads {
		if p.loads[i].ID == id {
			return &p.loads[i]
		}
	}
	p.loads = append(p.loads, LoadProgress{ID: id})
	return &p.loads[len(p.loads)-1]
}
