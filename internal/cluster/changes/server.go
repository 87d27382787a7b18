// A member's part for the readers on all members.

package changes

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Sequencer is what the feed needs of this machine's writes. [writes.Writes] implements it.
type Sequencer interface {
	Reconciled() bool
	Committed() (writes.Committed, error)
	AwaitAcknowledged(ctx context.Context) (epoch, sequence uint64, err error)
	Pause() (number uint64)
	AwaitPaused(ctx context.Context, pause uint64) (epoch, sequence uint64, err error)
}

// Feed is the change feed on one member. Its methods are safe for concurrent use.
type Feed struct {
	store     *replica.Store
	member    member.Member
	sequencer Sequencer
	self      member.Process
	waiting   chan struct{} // holds a token for each live read that waits
	readers   readers
	closing   <-chan struct{}
}

// New returns the feed of a member. Reads end when closing is closed.
func New(s *replica.Store, m member.Member, q Sequencer, self member.Process, closing <-chan struct{}) *Feed {
	return &Feed{store: s, member: m, sequencer: q, self: self, waiting: make(chan struct{}, maxWaiting), closing: closing}
}

// Group is the group of the methods of this package, see [peer.Options].
const Group = "changes"

// Register adds the methods of this package to s.
func (f *Feed) Register(s *peer.Server) {
	for method, answer := range f.handlers() {
		s.Handle(method, func(ctx context.Context, _ peer.Header, body []byte) ([]byte, error) { return answer(ctx, body) })
	}
}

func (f *Feed) handlers() map[string]func(context.Context, []byte) ([]byte, error) {
	return map[string]func(context.Context, []byte) ([]byte, error){
		methodState: f.handleState,
		methodRead:  f.handleRead,
		methodPause: f.handlePause,
		methodEnd:   f.handleEnd,
		methodHeard: f.handleHeard,
		methodLone:  f.handleLone,
	}
}

func malformed(err error) error { return peer.Refuse(peer.CodeStranger, 0, "%v", err) }

// handleState answers changes/state.
func (f *Feed) handleState(_ context.Context, body []byte) ([]byte, error) {
	var r stateRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, malformed(err)
	}
	s, err := f.state(r)
	if err != nil {
		return nil, err
	}
	return peer.Encode(64, s.fields), nil
}

func (f *Feed) state(r stateRequest) (*state, error) {
	v, err := f.visit(r.view)
	if err != nil {
		return nil, err
	}
	defer v.end()
	// Reconciled must come first: what is read afterwards under the same view is final.
	s := &state{reconciled: f.sequencer.Reconciled()}
	if s.sequencers, s.next, err = f.store.LoggedSequencers(r.epoch, v.pause); err != nil {
		return nil, err
	}
	if s.next == batchlog.NoEpoch {
		s.next = 0
	}
	trimmed := f.store.Log().Trimmed()
	s.trimmed = trimmed.Epoch
	greatest := map[trie.MachineID]triple.Stamp{}
	for id, stamp := range trimmed.Streams {
		if greatest[id.Machine].Less(stamp) {
			greatest[id.Machine] = stamp
		}
	}
	for m, stamp := range greatest {
		s.trims = append(s.trims, trim{m, stamp})
	}
	return s, nil
}

// maxWait bounds the wait of a live read.
const maxWait = 10 * time.Second

// maxWaiting bounds the live reads that wait at a member. Others are answered at once, because the
// other methods of the group must always find a free handler.
const maxWaiting = 128

// maxPart bounds the bytes of an answer, about.
const maxPart = 1 << 20

// handleRead answers changes/read.
func (f *Feed) handleRead(ctx context.Context, body []byte) ([]byte, error) {
	var r readRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, malformed(err)
	}
	p, err := f.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return p.encode(), nil
}

// read returns kept operations. It must not hold the gate while it waits.
func (f *Feed) read(ctx context.Context, r readRequest) (*part, error) {
	if !r.live {
		v, err := f.visit(r.view)
		if err != nil {
			return nil, err
		}
		defer v.end()
		return f.logged(ctx, v, r, 0)
	}
	// 1. If too many wait already, the answer comes at once.
	wait := min(time.Duration(r.wait)*time.Millisecond, maxWait)
	select {
	case f.waiting <- struct{}{}:
		defer func() { <-f.waiting }()
	default:
		wait = 0
	}
	// 2. Answer as soon as there are operations, or after the wait.
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		p, changed, err := f.readLive(ctx, r)
		if err != nil || wait == 0 || p.until > r.after || p.trimmed || p.future {
			return p, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return p, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-f.closing:
			return nil, peer.Refuse(peer.CodeClosing, r.view, "this machine shuts down")
		}
	}
}

// readLive returns the committed operations behind a sequence, of this machine's present epoch.
func (f *Feed) readLive(ctx context.Context, r readRequest) (p *part, changed <-chan struct{}, err error) {
	v, err := f.visit(r.view)
	if err != nil {
		return nil, nil, err
	}
	defer v.end()
	c, err := f.sequencer.Committed()
	switch {
	case err != nil:
		return nil, nil, err
	case c.Epoch != r.view || r.epoch != r.view || r.stamper != f.self.Machine:
		return nil, nil, peer.Refuse(peer.CodeEpoch, c.Epoch, "a live read of epoch %d of machine %s under view %d", r.epoch, r.stamper, r.view)
	case r.after > c.Stamped:
		return &part{future: true}, nil, nil
	case r.after >= c.Sequence:
		return &part{until: r.after, last: r.from}, c.Changed, nil
	}
	if p, err = f.logged(ctx, v, r, c.Batch); err == nil && p.until == math.MaxUint64 {
		p.until = c.Sequence
	}
	return p, c.Changed, err
}

// visit is a reader within the gate. It leaves the gate behind each page of rows, because a view
// that waits to be adopted stops all writes.
type visit struct {
	feed  *Feed
	view  uint64
	leave func() // nil if it is outside
}

func (f *Feed) visit(view uint64) (*visit, error) {
	v := &visit{feed: f, view: view}
	return v, v.enter()
}

func (v *visit) enter() (err error) {
	v.leave, err = v.feed.member.Enter(v.view)
	return err
}

// pause lets a view be adopted. Then the error is a refusal, and the visit is over.
func (v *visit) pause() error {
	v.end()
	return v.enter()
}

func (v *visit) end() {
	if v.leave != nil {
		v.leave()
		v.leave = nil
	}
}

// logged reads the log of this machine, of its own batches up to upTo if that is not 0.
func (f *Feed) logged(ctx context.Context, v *visit, r readRequest, upTo uint64) (*part, error) {
	q := replica.LogQuery{
		Sequencer: r.stamper, Epoch: r.epoch, After: r.after, Batches: r.batches || r.live, Late: r.late,
		MaxBytes: int(min(r.maxBytes, maxPart)), Pause: v.pause,
	}
	if upTo != 0 {
		q.Incarnation, q.UpTo, q.From = f.self.Incarnation, upTo, r.from
	}
	got, err := f.store.Logged(ctx, q)
	if errors.Is(err, replica.ErrTrimmed) {
		return &part{trimmed: true}, nil
	}
	if err != nil {
		return nil, err
	}
	return &part{until: got.Until, last: max(got.Last, r.from), operations: got.Operations}, nil
}

// handlePause answers changes/pause.
func (f *Feed) handlePause(_ context.Context, body []byte) ([]byte, error) {
	var r pauseRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, malformed(err)
	}
	p, err := f.pauseSequencer(r)
	if err != nil {
		return nil, err
	}
	return peer.Encode(8, p.fields), nil
}

// pauseSequencer keeps this machine from stamping until the pause is named in a request for the end.
func (f *Feed) pauseSequencer(r pauseRequest) (*pause, error) {
	leave, err := f.member.Enter(r.view)
	if err != nil {
		return nil, err
	}
	leave() // a stamper may wait for another view
	return &pause{f.sequencer.Pause()}, nil
}

// handleEnd answers changes/end.
func (f *Feed) handleEnd(ctx context.Context, body []byte) ([]byte, error) {
	var r endRequest
	if err := peer.Decode(body, r.fields); err != nil {
		return nil, malformed(err)
	}
	e, err := f.end(ctx, r)
	if err != nil {
		return nil, err
	}
	return peer.Encode(8, e.fields), nil
}

// end waits until everything is committed that precedes the last acknowledged operation, and returns
// its sequence. If the request has a pause, it must have lasted until now, and ends. All operations of
// earlier epochs must be committed, because the end covers them.
func (f *Feed) end(ctx context.Context, r endRequest) (*end, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	leave, err := f.member.Enter(r.view)
	if err != nil {
		return nil, err
	}
	leave()
	var epoch, sequence uint64
	if r.pause == 0 {
		epoch, sequence, err = f.sequencer.AwaitAcknowledged(ctx)
	} else {
		epoch, sequence, err = f.sequencer.AwaitPaused(ctx, r.pause)
	}
	if err != nil {
		return nil, peer.Refuse(peer.CodeUnavailable, r.view, "the last operations are not committed: %v", err)
	}
	// The view must be the same still, and no later one may have acknowledged anything.
	if leave, err = f.member.Enter(r.view); err != nil {
		return nil, err
	}
	defer leave()
	switch {
	case epoch != r.view:
		return nil, peer.Refuse(peer.CodeEpoch, epoch, "the view has changed")
	case !f.sequencer.Reconciled():
		return nil, peer.Refuse(peer.CodeUnavailable, r.view, "operations of earlier epochs are not committed")
	}
	return &end{sequence}, f.member.Lease()
}
