// The runner of one function after commits: it follows the feed, calls the function and commits its
// effects.

package functions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions/sandbox"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// MaxDepth is the number of calls in a chain.
	MaxDepth = 8

	maxOutputBytes = 128 << 10 // of a call; its effects must fit into an intent
	intentBytes    = 128 << 10 // an intent is written when its effects have about this size
	intentCount    = 2000      // or this number
	feedBytes      = 256 << 10 // of a batch of the feed
	heartbeat      = time.Second
	// driftBatches is the number of batches without a change after which the position is saved all
	// the same, because the feed must still reach back to it after a restart.
	driftBatches = 500
	maxMessage   = 2000 // bytes of a recorded error
)

// errOwner means that another member owns the function.
var errOwner = errors.New("another member owns the function")

// errStopped means that the policy of the function has stopped it.
var errStopped = errors.New("the function is stopped")

// runner runs one function. Only its goroutine uses it.
type runner struct {
	*Service
	f *function

	state   *State
	version triple.Stamp // of state, as stored
	dirty   bool         // state differs from what is stored
	saved   time.Time
	batches int // since state was saved

	at      progress // the place in the feed; state has it when it is saved
	inLoad  string   // the ID of the load whose rows the changes are, or empty
	loadRow []byte   // key of the row in work, if inLoad is not empty
	pending *overlay
	reader  store.Reader // as of a moment after the last commit; nil until it is needed
	lookups []lookup     // what reader has found, for each argument
}

// firstWait is the first pause after an error of the store or the feed.
const firstWait = time.Second

// run runs the function while this member owns it, until ctx ends.
func (r *runner) run(ctx context.Context) {
	wait := retry.Backoff{First: firstWait, Last: 16 * firstWait}
	for ctx.Err() == nil {
		if !r.owns(r.f.key) {
			r.f.figures.until.Store(0) // the lag is its runner's
			r.f.follower.Left()
			retry.Sleep(ctx, lookEvery)
			continue
		}
		// 1. Run until another member owns the function, or until an error.
		began := r.now()
		r.f.setRunning(true, "")
		r.f.figures.until.CompareAndSwap(0, began.UnixNano())
		err := r.lead(ctx)
		r.closeReader()
		if errors.Is(err, errStopped) {
			r.f.setRunning(false, "")
			<-ctx.Done() // a new registration starts a new runner
			return
		}
		// 2. Wait after an error, longer each time.
		if err != nil && ctx.Err() == nil {
			r.log.Warn("an update function cannot go on; trying again", "function", r.f.Name, "err", err)
			r.f.setRunning(false, err.Error())
			r.f.follower.Failed(err)
			if r.now().Sub(began) > time.Minute {
				wait.Reset()
			}
			wait.Wait(ctx)
			continue
		}
		r.f.setRunning(false, "")
	}
}

func (f *function) setRunning(running bool, behind string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running, f.behind = running, behind
}

// lead runs the function from its durable state on. It returns nil when another member owns it.
func (r *runner) lead(ctx context.Context) (err error) {
	// Read the state. What the last runner has decided must be written first.
	r.state, r.version, err = readState(ctx, r.store, r.f.Name)
	switch {
	case err != nil:
		return err
	case r.state == nil:
		return errors.New("the function has no state; it is being registered or deleted")
	case r.state.Stopped:
		return errStopped
	}
	r.pending, r.dirty, r.saved, r.batches = newOverlay(), false, r.now(), 0
	if r.at, err = r.state.progress(); err != nil {
		return err
	}
	if err := r.recount(ctx); err != nil {
		return r.feedFailed(ctx, err)
	}
	if r.state.Intent != nil {
		if err := r.finishIntent(ctx); err != nil {
			return err
		}
	}
	request := feed.Request{Since: r.at.position, Filter: r.f.filter, Follow: true, Heartbeat: heartbeat, MaxBytes: feedBytes}
	// The state counts what is done of a commit, so an error may end this in the middle of one.
	r.f.follower.Reached(r.at.position)
	var failed error
	err = r.f.follower.Read(ctx, r.feed, request, func(batch *feed.Batch) (bool, error) {
		if failed = r.take(ctx, batch); failed != nil {
			return false, failed
		}
		r.f.follower.Reached(r.at.position)
		if !r.owns(r.f.key) {
			return false, errOwner
		}
		return false, nil
	})
	switch {
	case failed != nil:
		return failed
	case err == errOwner:
		return r.saveIf(ctx, r.dirty)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return r.feedFailed(ctx, err)
}

// feedFailed handles the end of the feed. If changes are gone, the policy decides. A position of
// another store means that this one was restored from a backup, and has none of those changes.
func (r *runner) feedFailed(ctx context.Context, err error) error {
	var gone *feed.GoneError
	switch {
	case errors.Is(err, feed.ErrPosition):
		end, failed := r.feed.Position(ctx)
		if failed != nil {
			return failed
		}
		gone = &feed.GoneError{Continue: end}
	case !errors.As(err, &gone):
		return err
	}
	r.fail(fmt.Errorf("changes were missed: %w", err), nil)
	if r.f.Then == Skip {
		r.at = progress{position: gone.Continue}
		return r.save(ctx)
	}
	r.state.Stopped = true
	return errors.Join(r.save(ctx), errStopped)
}

// take processes one batch of the feed.
func (r *runner) take(ctx context.Context, batch *feed.Batch) error {
	position := batch.Position.String()
	for i := 0; i < len(batch.Changes); {
		n, err := r.takeSome(ctx, batch.Changes[i:], position)
		if err != nil {
			return err
		}
		i += n
	}
	r.at.batch(batch.Position)
	if len(r.pending.order) > 0 {
		if err := r.commit(ctx); err != nil {
			return err
		}
		r.reached(batch)
		return nil
	}
	r.reached(batch)
	r.closeReader()
	r.batches++
	return r.saveIf(ctx, r.dirty && r.now().Sub(r.saved) >= heartbeat || r.batches >= driftBatches)
}

// reached records that a batch is processed. One without a time is sent at the end of the feed.
func (r *runner) reached(batch *feed.Batch) {
	if at := batch.Time; !at.IsZero() {
		r.f.figures.reached(at)
	} else {
		r.f.figures.reached(r.now())
	}
}

// takeSome processes the first changes of a batch, at least one.
func (r *runner) takeSome(ctx context.Context, changes []feed.Change, position string) (n int, err error) {
	// 1. A load is processed alone.
	if changes[0].Kind == feed.Load {
		return 1, r.takeLoad(ctx, &changes[0])
	}
	// 2. Calls without arguments do not depend on each other, so some are made side by side.
	n = 1
	var ahead []outcome
	if len(r.f.arguments) == 0 {
		for n < len(changes) && n < aheadCalls && changes[n].Kind != feed.Load {
			n++
		}
		ahead = r.callAhead(ctx, changes[:n], position)
	}
	// 3. Take their effects in order.
	for i := range changes[:n] {
		c := &changes[i]
		if r.at.repeated(c) {
			continue
		}
		matches, err := r.f.matches(c)
		if err != nil {
			return 0, err
		}
		if matches {
			var first *outcome
			switch {
			case ahead != nil && ahead[i].made:
				first = &ahead[i]
			case i > 0 && ahead != nil && c.Depth < MaxDepth:
				return i, nil // the time for calls was over: make the next ones side by side, too
			}
			if err := r.takeChange(ctx, c, position, first); err != nil {
				return 0, err
			}
		}
		r.at.advance(c)
	}
	return n, nil
}

// takeChange calls the function for a change until it succeeds, or until its tries are over. first
// is the outcome of the first try, if it was made already.
func (r *runner) takeChange(ctx context.Context, c *feed.Change, position string, first *outcome) error {
	r.dirty = true
	if c.Depth >= MaxDepth {
		r.fail(fmt.Errorf("a chain of %d calls led to this change; the function is not called again", c.Depth), c)
		r.state.Counts.Skipped++
		r.f.figures.skipped.Add(1)
		return nil
	}
	again := retry.Backoff{First: 100 * time.Millisecond, Last: 10 * time.Second}
	for try := 0; ; try++ {
		var o outcome
		if first != nil && try == 0 {
			o = *first
		} else {
			o = r.callOnce(ctx, c, position)
		}
		r.state.Counts.Calls++
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// 1. Take the effects. They are written with those of other changes.
		if o.err == nil {
			for i := range o.effects {
				r.pending.add(&o.effects[i], c.Depth+1)
			}
			return r.keep(ctx, c)
		}
		if errors.Is(o.err, errStore) {
			return o.err // the fault is not the function's
		}
		// 2. Try again later. The effects of earlier changes do not wait for that.
		r.fail(o.err, c)
		if try < r.f.Retries {
			if err := r.commit(ctx); err != nil {
				return err
			}
			again.Wait(ctx)
			continue
		}
		// 3. Give up.
		if r.f.Then == Stop {
			if err := r.commit(ctx); err != nil {
				return err
			}
			r.state.Stopped = true
			return errors.Join(r.save(ctx), errStopped)
		}
		r.state.Counts.Skipped++
		r.f.figures.skipped.Add(1)
		return r.keep(ctx, c)
	}
}

// keep makes the effects so far durable if they are many or old, and with them the place behind a
// change. Calls may take long, so the place is saved although there are no effects.
func (r *runner) keep(ctx context.Context, c *feed.Change) error {
	if r.pending.bytes < intentBytes && len(r.pending.order) < intentCount && r.now().Sub(r.saved) < heartbeat {
		return nil
	}
	if len(r.pending.order) == 0 {
		return r.saveAt(ctx, r.progressBehind(c))
	}
	return r.commitAt(ctx, r.progressBehind(c))
}

// progressBehind returns the place behind a change, for an intent with the effects of the change.
func (r *runner) progressBehind(c *feed.Change) progress {
	after := r.at
	if r.inLoad != "" {
		after.loads = slices.Clone(after.loads)
		after.load(r.inLoad).After = r.loadRow
		return after
	}
	after.partials = slices.Clone(after.partials)
	after.advance(c)
	return after
}

// fail records a failure. c may be nil.
func (r *runner) fail(err error, c *feed.Change) {
	r.state.Counts.Failures++
	r.f.figures.failures.Add(1)
	r.state.Last = newFailure(r.now(), err, c)
	r.dirty = true
}

func newFailure(at time.Time, err error, c *feed.Change) *Failure {
	f := &Failure{Time: at.UTC().Truncate(time.Millisecond), Message: err.Error()}
	if len(f.Message) > maxMessage {
		f.Message = f.Message[:maxMessage]
	}
	if c != nil && c.Key != nil {
		if t, err := c.Triple(); err == nil {
			f.Change = c.Kind.String() + " " + textOf(t)
			if len(f.Change) > maxMessage {
				f.Change = f.Change[:maxMessage]
			}
		}
	}
	return f
}

// outcome is the outcome of one call.
type outcome struct {
	effects []sandbox.Effect
	err     error
	made    bool // by callAhead
}

// errStore means that a call could not be made or checked, because the store could not be read.
var errStore = errors.New("the arguments or the checks of a call cannot be read")

// callOnce calls the function for a change. Its arguments show the pending effects.
func (r *runner) callOnce(ctx context.Context, c *feed.Change, position string) (o outcome) {
	t, err := c.Triple()
	if err != nil {
		return outcome{err: err}
	}
	in := &sandbox.Input{Change: *c, Position: position, Location: r.locate(c.Key)}
	if len(r.f.arguments) > 0 {
		reader, err := r.open()
		if err == nil {
			in.Arguments, err = r.readArguments(ctx, r.f, reader, r.lookups, t, r.pending)
		}
		if err != nil && !errors.Is(err, errTooMany) {
			return outcome{err: fmt.Errorf("%w: %w", errStore, err)}
		}
		if err != nil {
			return outcome{err: err}
		}
	}
	return r.callWith(ctx, in)
}

// callWith calls the function, and checks its effects.
func (r *runner) callWith(ctx context.Context, in *sandbox.Input) (o outcome) {
	select {
	case r.calls <- struct{}{}:
		defer func() { <-r.calls }()
	case <-ctx.Done():
		return outcome{err: ctx.Err()}
	}
	result, err := r.f.call(ctx, in)
	if err != nil {
		return outcome{err: err}
	}
	if result.Rejected {
		return outcome{err: fmt.Errorf("the function has rejected the change, which is committed already (checks have mode=check): %s", result.Reason)}
	}
	for i := range result.Effects {
		if systemgraph.Contains(result.Effects[i].Triple) {
			return outcome{err: fmt.Errorf("an effect changes the system graph: %s", result.Effects[i].Triple)}
		}
	}
	if err := r.checkEffects(ctx, result.Effects); err != nil {
		if !errors.Is(err, store.ErrRejected) {
			err = fmt.Errorf("%w: %w", errStore, err)
		}
		return outcome{err: err}
	}
	return outcome{effects: result.Effects}
}

// open returns a reader of the store with all committed effects.
func (r *runner) open() (store.Reader, error) {
	if r.reader == nil {
		reader, err := r.store.Reader()
		if err != nil {
			return nil, err
		}
		r.reader, r.lookups = reader, make([]lookup, len(r.f.arguments))
	}
	return r.reader, nil
}

func (r *runner) closeReader() {
	if r.reader != nil {
		if err := r.reader.Close(); err != nil {
			r.log.Warn("close the reader of an update function", "function", r.f.Name, "err", err)
		}
		r.reader, r.lookups = nil, nil
	}
}
