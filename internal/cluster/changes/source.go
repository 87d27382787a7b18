// The feed as a source: positions, and the reader's way through epochs.

package changes

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

var _ feed.Source = (*Feed)(nil)

const (
	// answerTimeout is how long a member may take for an answer. If the request lets it wait for
	// changes, that time is added.
	answerTimeout = readtimeout.Idle
	// progressTimeout is how long a reader without a client tries to leave an epoch. Then it returns
	// [store.ErrUnavailable], and the consumer may try another member.
	progressTimeout = 2 * time.Minute
)

// view returns the adopted view with a feed.
func (f *Feed) view() (*view.View, error) {
	v := f.member.View()
	switch {
	case v == nil:
		return nil, fmt.Errorf("%w: machine %s has no view of the cluster yet", store.ErrUnavailable, f.self.Machine)
	case v.Feed == nil:
		return nil, fmt.Errorf("%w: the cluster has no change feed before all of its machines run this release", store.ErrUnavailable)
	}
	return v, nil
}

// Await waits until this member has a view.
func (f *Feed) Await(ctx context.Context) error { return f.member.Newer(ctx, nil) }

// backoff returns the pauses between tries.
func backoff() retry.Backoff {
	return retry.Backoff{First: 5 * time.Millisecond, Last: 250 * time.Millisecond}
}

// pause waits for some time, or until there is another view than v. It returns an error if none can
// come, because this member is isolated.
func (f *Feed) pause(ctx context.Context, v *view.View, d time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err := f.member.Newer(wait, v)
	if wait.Err() != nil && ctx.Err() == nil {
		return nil
	}
	return err
}

// Position implements [feed.Source]. It waits while a member of the view is down, until it is back
// or excluded.
func (f *Feed) Position(ctx context.Context) (feed.Position, error) {
	return f.position(ctx, f.endUnder)
}

// position returns the end by endUnder or cutUnder, under the first view for which it succeeds.
func (f *Feed) position(ctx context.Context, under func(context.Context, *view.View) (feed.Position, error)) (feed.Position, error) {
	pauses := backoff()
	for {
		v, err := f.view()
		if err != nil {
			return feed.Position{}, err
		}
		// A load that is being ingested lies in this epoch, and is not published yet.
		err = errors.New("a bulk load is being published")
		if v.Phase != recovery.Ingest {
			var p feed.Position
			if p, err = under(ctx, v); err == nil {
				return p, nil
			}
		}
		if ctx.Err() != nil {
			return feed.Position{}, fmt.Errorf("the end of the change feed: %w: %w", context.Cause(ctx), err)
		}
		if err := f.pause(ctx, v, pauses.Next()); err != nil {
			return feed.Position{}, err
		}
	}
}

// endUnder returns the end by the answers of all members of v.
func (f *Feed) endUnder(ctx context.Context, v *view.View) (feed.Position, error) {
	return f.endAsOf(ctx, v, nil)
}

// cutUnder returns a consistent end. All members of v pause before the first one resumes. So if a change
// is stamped behind the end, no change before the end was requested after its answer, or after it was
// read.
func (f *Feed) cutUnder(ctx context.Context, v *view.View) (feed.Position, error) {
	// 1. A member that does not answer must not make the others pause.
	if _, err := f.endUnder(ctx, v); err != nil {
		return feed.Position{}, err
	}
	// 2. Pause all. If one fails, the others resume at once.
	pausing, cancel := context.WithTimeout(ctx, writes.MaxPause)
	defer cancel()
	pauses, err := requestAll(pausing, v, func(ctx context.Context, m trie.MachineID) (*pause, error) { return f.pauseOf(ctx, v, m) })
	numbers := make(map[trie.MachineID]uint64)
	for i, p := range pauses {
		if p != nil {
			numbers[v.Members[i].ID] = p.number
		}
	}
	end, failed := f.endAsOf(ctx, v, numbers)
	return end, errors.Join(err, failed)
}

// endAsOf returns the end as of pauses of the members of v, and resumes them. Members without one
// answer as of the present.
func (f *Feed) endAsOf(ctx context.Context, v *view.View, pauses map[trie.MachineID]uint64) (feed.Position, error) {
	ends, err := requestAll(ctx, v, func(ctx context.Context, m trie.MachineID) (*end, error) {
		return f.endOf(ctx, m, endRequest{v.Epoch, pauses[m]})
	})
	if err != nil {
		return feed.Position{}, err
	}
	p := feed.Position{Source: v.Feed.Source, Epoch: v.Epoch}
	for i, e := range ends { // members ascend
		if e.sequence > 0 {
			p.Marks = append(p.Marks, feed.Mark{Sequencer: v.Members[i].ID, Sequence: e.sequence})
		}
	}
	return p, nil
}

// requestAll calls ask for all members of v at the same time. It returns their answers in the order of
// the members, or the first error.
func requestAll[T any](ctx context.Context, v *view.View, request func(context.Context, trie.MachineID) (T, error)) ([]T, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answers := make([]T, len(v.Members))
	var running sync.WaitGroup
	for i := range v.Members {
		running.Go(func() {
			var err error
			if answers[i], err = request(ctx, v.Members[i].ID); err != nil {
				cancel(fmt.Errorf("machine %s: %w", v.Members[i].ID, err))
			}
		})
	}
	running.Wait()
	return answers, context.Cause(ctx)
}

// call sends a request to another member.
func (f *Feed) call(ctx context.Context, m trie.MachineID, method string, wait time.Duration, request, answer func(*peer.Coder)) error {
	ctx, cancel := context.WithTimeout(ctx, wait+answerTimeout)
	defer cancel()
	body, err := f.member.Call(ctx, m, method, peer.Encode(64, request))
	if err != nil {
		return err
	}
	return peer.Decode(body, answer)
}

func (f *Feed) stateOf(ctx context.Context, v *view.View, m trie.MachineID, epoch uint64) (*state, error) {
	r := stateRequest{v.Epoch, epoch}
	if m == f.self.Machine {
		return f.state(r)
	}
	s := &state{}
	return s, f.call(ctx, m, methodState, 0, r.fields, s.fields)
}

func (f *Feed) readOf(ctx context.Context, m trie.MachineID, r readRequest) (*part, error) {
	if m == f.self.Machine {
		return f.read(ctx, r)
	}
	p := &part{}
	return p, f.call(ctx, m, methodRead, time.Duration(r.wait)*time.Millisecond, r.fields, p.fields)
}

func (f *Feed) pauseOf(ctx context.Context, v *view.View, m trie.MachineID) (*pause, error) {
	r := pauseRequest{v.Epoch}
	if m == f.self.Machine {
		return f.pauseSequencer(r)
	}
	p := &pause{}
	return p, f.call(ctx, m, methodPause, 0, r.fields, p.fields)
}

func (f *Feed) endOf(ctx context.Context, m trie.MachineID, r endRequest) (*end, error) {
	if m == f.self.Machine {
		return f.end(ctx, r)
	}
	e := &end{}
	return e, f.call(ctx, m, methodEnd, maxWait, r.fields, e.fields)
}

// Changes implements [feed.Source].
func (f *Feed) Changes(ctx context.Context, r feed.Request) iter.Seq2[*feed.Batch, error] {
	return func(yield func(*feed.Batch, error) bool) {
		m, err := feed.NewMatcher(r.Filter)
		if err == nil {
			rd := &reader{Feed: f, request: r, matcher: m, yield: yield, pos: r.Since}
			rd.out.init(r)
			if r.Follow {
				defer f.readers.add(&rd.lag)()
			}
			err = rd.run(ctx)
		}
		switch {
		case err == nil, errors.Is(err, errDone), r.Follow && ctx.Err() != nil:
		default:
			yield(nil, err)
		}
	}
}

// errDone ends an iteration: the consumer has stopped, or has all it requested.
var errDone = errors.New("done")

// reader is one iteration over the feed.
type reader struct {
	*Feed
	request feed.Request
	matcher *feed.Matcher
	yield   func(*feed.Batch, error) bool
	out     output
	lag     lag

	pos    feed.Position  // behind everything that was passed to out
	part   uint64         // of a lone store's request behind pos: what was passed, see methodLone
	target *feed.Position // where the iteration ends: nothing behind it is passed; nil if it follows
}

// run reads until the consumer stops, the target is reached, or an error.
func (rd *reader) run(ctx context.Context) error {
	if err := rd.begin(ctx); err != nil {
		return err
	}
	began, pauses := time.Now(), backoff()
	for {
		if err := rd.end(ctx); err != nil {
			return err
		}
		v, err := rd.view()
		if err != nil {
			return err
		}
		// 1. The position may be of a view that this member has not adopted yet.
		before := rd.pos
		switch {
		case rd.pos.Epoch < v.Feed.Began:
			err = rd.lone(ctx, v)
		case rd.pos.Epoch < v.Epoch:
			err = rd.passEpoch(ctx, v)
		case rd.pos.Epoch == v.Epoch:
			err = rd.live(ctx, v)
		default:
			err = transient{fmt.Errorf("epoch %d is not adopted yet", rd.pos.Epoch)}
		}
		if errors.Is(err, errDone) {
			return err
		}
		if err := rd.flush(rd.moved()); err != nil {
			return err
		}
		// 2. Retry what another view or another moment may solve, while there is progress.
		var again transient
		switch {
		case err == nil, rd.pos.String() != before.String():
			began = time.Now()
			pauses.Reset()
			if err == nil {
				continue
			}
		case time.Since(began) >= rd.timeout() && errors.As(err, &again):
			return fmt.Errorf("%w: the change feed makes no progress in epoch %d: %w", store.ErrUnavailable, rd.pos.Epoch, again.err)
		}
		if !errors.As(err, &again) {
			return err
		}
		if err := rd.idle(ctx, v, pauses.Next()); err != nil {
			return err
		}
	}
}

// timeout returns how long the reader tries without progress.
func (rd *reader) timeout() time.Duration {
	if rd.request.ForClient && (!rd.request.Follow || !rd.out.begun) {
		return readtimeout.Idle
	}
	return progressTimeout
}

// transient is an error that may go away.
type transient struct{ err error }

func (r transient) Error() string { return r.err.Error() }

// idle pauses, with heartbeats.
func (rd *reader) idle(ctx context.Context, v *view.View, d time.Duration) error {
	if rd.out.due() {
		if err := rd.flush(true); err != nil {
			return err
		}
	}
	return rd.pause(ctx, v, d)
}

// begin finds the position at which the iteration begins, and the one at which it ends.
func (rd *reader) begin(ctx context.Context) error {
	if rd.request.ForClient {
		waiting, cancel := readtimeout.Bound(ctx)
		defer cancel()
		ctx = waiting
	}
	v, err := rd.view()
	if err != nil {
		return err
	}
	if !rd.request.Follow {
		under := rd.endUnder
		if rd.request.Consistent {
			under = rd.cutUnder
		}
		end, err := rd.position(ctx, under)
		if err != nil {
			return err
		}
		rd.target = &end
	}
	// 1. Without a position the iteration begins with the oldest changes.
	if rd.pos.IsZero() {
		return rd.oldest(ctx)
	}
	// 2. A position of a later epoch than the end is forged, or of another state of the store.
	if rd.pos.Source != v.Feed.Source {
		return fmt.Errorf("%w: it is of another store", feed.ErrPosition)
	}
	if rd.target != nil && rd.pos.Epoch == rd.target.Epoch && !rd.target.Reaches(rd.pos) {
		return errFuture
	}
	if rd.pos.Epoch > v.Epoch {
		end, err := rd.Position(ctx)
		if err != nil {
			return err
		}
		if rd.pos.Epoch > end.Epoch {
			return errFuture
		}
	}
	return nil
}

var errFuture = fmt.Errorf("%w: it lies behind the end of the feed", feed.ErrPosition)

// end returns errDone if the target is reached.
func (rd *reader) end(ctx context.Context) error {
	if rd.target == nil {
		return context.Cause(ctx)
	}
	if rd.pos.Epoch < rd.target.Epoch {
		return nil
	}
	if rd.pos.Epoch == rd.target.Epoch {
		for _, m := range rd.target.Marks {
			if rd.pos.Sequence(m.Sequencer) < m.Sequence {
				return nil
			}
		}
	}
	// The last batch must carry the position, although it may have no change.
	if err := rd.flush(rd.pos.String() != rd.out.sent.String()); err != nil {
		return err
	}
	return errDone
}

// gone returns the error that changes behind the position are gone.
func (rd *reader) gone(ctx context.Context, format string, args ...any) error {
	end, err := rd.Position(ctx)
	if err != nil {
		return err
	}
	return &feed.GoneError{Reason: fmt.Sprintf(format, args...), Continue: end}
}

// oldest begins with the oldest changes of which none behind them is missing.
func (rd *reader) oldest(ctx context.Context) error {
	pauses := backoff()
	for {
		v, err := rd.view()
		if err != nil {
			return err
		}
		states, err := requestAll(ctx, v, func(ctx context.Context, m trie.MachineID) (*state, error) { return rd.stateOf(ctx, v, m, 0) })
		if err == nil {
			if rd.pos = oldestOf(v, states); rd.pos.Epoch == v.Feed.Began && len(rd.pos.Marks) == 0 && v.Feed.Founder != 0 {
				rd.pos = feed.Position{} // nothing is trimmed since the lone store
				return nil
			}
			if !rd.waitsForLoad(v) {
				return rd.loads(v)
			}
			rd.pos = feed.Position{}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := rd.idle(ctx, v, pauses.Next()); err != nil {
			return err
		}
	}
}

// oldestOf returns the position behind all trimmed changes.
func oldestOf(v *view.View, states []*state) feed.Position {
	p := feed.Position{Source: v.Feed.Source, Epoch: v.Feed.Horizon}
	for _, s := range states {
		if s.trimmed >= p.Epoch {
			p = p.Begin(s.trimmed + 1)
		}
	}
	for _, s := range states {
		for _, t := range s.trims {
			if t.stamp.Epoch >= p.Epoch {
				p = p.Advance(t.machine, t.stamp)
			}
		}
	}
	return p
}

// loads passes the loads of the position's epoch, which must be published. It must be called when the
// reader enters an epoch.
func (rd *reader) loads(v *view.View) error {
	for i := range v.Loads {
		l := &v.Loads[i]
		if l.Epoch != rd.pos.Epoch {
			continue
		}
		c := feed.Change{Kind: feed.Load, Stamp: triple.Stamp{Epoch: l.Epoch}, Load: &feed.LoadInfo{ID: fmt.Sprint(l.Number), New: l.New, Predicates: l.Predicates}}
		if err := rd.pass(&c, l.Time); err != nil {
			return err
		}
	}
	return nil
}
