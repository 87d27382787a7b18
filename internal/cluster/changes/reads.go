// The end of the feed for readers, while members may be down.

package changes

import (
	"context"
	"errors"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// silentTimeout is how long members are waited for if the others suffice.
const silentTimeout = 300 * time.Millisecond

// ReadPosition returns a position that covers every change that was acknowledged before the call, as
// Position does, but does not wait for all members. An acknowledged operation is on as many
// machines as the view has copies. So if fewer members are silent, one of the others has it, and
// knows its stamp. The position then has the last stamp that any of them has of a silent member.
//
// That holds only while the view is idle: in other phases a triple may be on fewer machines. And an
// operation of a later view has a holder among the machines that answer, which must have adopted
// that view, and refuses.
//
// A reader reaches the position only if it has the changes of the silent members. It has them, but
// for those that were acknowledged in the last moment.
func (f *Feed) ReadPosition(ctx context.Context) (feed.Position, error) {
	return f.position(ctx, f.readEndUnder)
}

// DurablePosition returns the position behind all operations that this machine has durably, by
// whichever sequencer, of the adopted view. It queries no other machine.
func (f *Feed) DurablePosition() (feed.Position, error) {
	v, err := f.view()
	if err != nil {
		return feed.Position{}, err
	}
	c, err := f.sequencer.Committed()
	if err != nil {
		return feed.Position{}, err
	}
	answers := make([]*heard, len(v.Members))
	if i := index(v, f.self.Machine); i >= 0 && c.Epoch == v.Epoch {
		answers[i] = &heard{c.Sequence, f.store.LastStamps(v.Epoch)}
	}
	return readEnd(v, answers), nil
}

// heardOf is the answer of a member.
type heardOf struct {
	member int // index in the view
	heard  *heard
	err    error
}

// readEndUnder returns the position by the answers of enough members of v.
func (f *Feed) readEndUnder(ctx context.Context, v *view.View) (feed.Position, error) {
	// 1. Query all members.
	requests, cancel := context.WithCancel(ctx)
	answers := make(chan heardOf, len(v.Members))
	for i := range v.Members {
		go func() {
			h, err := f.heardOf(requests, v, v.Members[i].ID)
			answers <- heardOf{i, h, err}
		}()
	}
	left := len(v.Members)
	defer func() {
		cancel()
		for range left {
			<-answers
		}
	}()
	// 2. Wait for all of them, or some time for those that may be missing.
	spare := 0
	if v.Phase == recovery.Idle {
		spare = v.Target.Required() - 1
	}
	timer := time.NewTimer(silentTimeout)
	defer timer.Stop()
	heard := make([]*heard, len(v.Members))
	missing, late := len(v.Members), false
	var failed error
	for left > 0 && (missing > spare || !late) {
		select {
		case a := <-answers:
			left--
			if heard[a.member] = a.heard; a.err == nil {
				missing--
			} else if failed = a.err; isRefusal(a.err) {
				return feed.Position{}, a.err // it has another view, or no lease
			}
		case <-timer.C:
			late = true
		case <-ctx.Done():
			return feed.Position{}, context.Cause(ctx)
		}
	}
	if missing > spare {
		return feed.Position{}, failed
	}
	return readEnd(v, heard), nil
}

// readEnd returns the position by the answers of members; those of silent ones are nil.
func readEnd(v *view.View, answers []*heard) feed.Position {
	sequences := map[trie.MachineID]uint64{}
	for i, h := range answers {
		if h == nil {
			continue
		}
		sequences[v.Members[i].ID] = h.sequence
		for _, m := range h.others {
			if at := index(v, m.Sequencer); at >= 0 && answers[at] == nil {
				sequences[m.Sequencer] = max(sequences[m.Sequencer], m.Sequence)
			}
		}
	}
	p := feed.Position{Source: v.Feed.Source, Epoch: v.Epoch}
	for _, m := range v.Members { // they ascend
		if n := sequences[m.ID]; n > 0 {
			p.Marks = append(p.Marks, feed.Mark{Sequencer: m.ID, Sequence: n})
		}
	}
	return p
}

func isRefusal(err error) bool {
	var refusal *peer.Refusal
	return errors.As(err, &refusal)
}

// index returns the index of a member; -1 if it is none.
func index(v *view.View, m trie.MachineID) int {
	for i := range v.Members {
		if v.Members[i].ID == m {
			return i
		}
	}
	return -1
}

func (f *Feed) heardOf(ctx context.Context, v *view.View, m trie.MachineID) (*heard, error) {
	if m == f.self.Machine {
		return f.localEnd(ctx, endRequest{view: v.Epoch})
	}
	r, h := endRequest{view: v.Epoch}, &heard{}
	if err := f.call(ctx, m, methodHeard, maxWait, r.fields, h.fields); err != nil {
		return nil, err // an empty answer would hide what the others have of the member
	}
	return h, nil
}

// handleHeard answers changes/heard.
func (f *Feed) handleHeard(ctx context.Context, body []byte) ([]byte, error) {
	var r endRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, malformed(err)
	}
	h, err := f.localEnd(ctx, r)
	if err != nil {
		return nil, err
	}
	return peer.Encode(64, h.fields), nil
}

// localEnd returns the end of this machine, and what it has of the operations of others.
func (f *Feed) localEnd(ctx context.Context, r endRequest) (*heard, error) {
	e, err := f.end(ctx, r)
	if err != nil {
		return nil, err
	}
	return &heard{e.sequence, f.store.LastStamps(r.view)}, nil
}
