// Deliveries: one step of one subscription.

package subscriptions

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

// work is what the worker of a subscription keeps from step to step.
type work struct {
	stored *Subscription // with the state as it is stored
	begun  time.Time     // when this machine first read the state, since it took the subscription up
	saved  moment        // when the state was stored or read
	save   bool          // store the position though nothing was delivered
	took   time.Duration // of the longest try of a step; 0 without any
}

// storeWait is the time before a step is repeated that failed because of the store.
const storeWait = time.Second

// behindWait is the time before a step is repeated that ended before the follower's position.
const behindWait = 20 * time.Millisecond

// maxErrorText bounds the texts of errors in a state.
const maxErrorText = 500

// deliver runs the steps of subscriptions of a lane until the manager is closed.
func (m *Manager) deliver(l *lane) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		s, from := m.next(l)
		if s == nil {
			return
		}
		// 1. Whatever is marked from now on needs another step.
		s.due = false
		seen := m.position
		at, begin := s.position, s.begin
		if !s.loaded {
			s.work.stored, begin = nil, ""
		}
		s.work.took = 0
		term := s.term
		m.mu.Unlock()
		r := m.step(s, at, begin)
		m.mu.Lock()
		if s.work.took > 0 {
			s.host.took(s.work.took)
		}
		m.done(from)
		// 2. Keep where the step ended. If this machine gave the subscription up meanwhile, the follower
		// has marked none of its changes since, and its stored position is read again.
		s.running = false
		if s.term != term {
			r = outcome{more: true}
		}
		s.position, s.loaded, s.tries = r.position, r.loaded, r.tries
		// A step that ended before the follower's position must be repeated: a change behind its
		// end may have been marked before the step began.
		switch {
		case r.more:
		case r.position.Reaches(seen):
			s.behind = false
		default:
			if r.more = true; !r.sent {
				r.wait = behindWait
			}
		}
		if s.due = s.due || r.more; r.wait > 0 {
			m.queueAfter(s, r.wait)
			continue
		}
		m.enqueue(s)
	}
}

// outcome is how a step ended.
type outcome struct {
	loaded   bool // the state is known, and position and tries are valid
	position feed.Position
	tries    int
	sent     bool          // the position has moved behind changes
	more     bool          // another step is needed, whatever the follower has seen
	wait     time.Duration // before it
}

// step delivers one batch behind a position.
func (m *Manager) step(s *subscription, at feed.Position, begin string) outcome {
	w := &s.work
	// 1. A subscription that was just taken up begins at its stored position.
	if w.stored == nil {
		stored, err := m.Registry.Get(m.ctx, s.name)
		if err != nil {
			return m.storeFailed(s, err)
		}
		if stored.definitionVersion != s.version {
			return m.storeFailed(s, errRedefined)
		}
		w.stored, w.saved = stored, m.currentMoment()
		if w.begun.IsZero() {
			w.begun = w.saved.time
		}
		// What the follower found out holds only behind the position that it began from.
		if begin == "" || begin != stored.State.Position {
			if at, err = feed.ParsePosition(stored.State.Position); err != nil {
				// Restored from a backup of another store, or damaged: handled as a gap.
				return m.afterGap(s, fmt.Errorf("the stored position: %w", err))
			}
		}
	}
	o := m.batches(s, at)
	if o.loaded && !o.more && w.save {
		w.stored.State.Position = o.position.String()
		return m.save(s, o)
	}
	return o
}

// batches reads the feed behind a position and sends the first changes that it has. A large commit
// comes in several batches, of which only the last one moves the position: all are sent. If one of
// them fails, all are sent again. Without changes only the position moves, in memory.
func (m *Manager) batches(s *subscription, at feed.Position) outcome {
	var end *outcome // if the step ends before the feed does
	var failed error // the commit was given up for it
	changes := 0
	request := feed.Request{Since: at, Filter: s.filter, MaxBytes: m.BatchBytes}
	err := feed.Each(m.ctx, m.source, request, func(part *feed.Batch) (bool, error) {
		to := part.Position.Clone()
		// 1. Send. Behind a part that was given up, the rest of its commit is skipped, too.
		body, n, err := m.body(s, part)
		if err != nil {
			return false, err
		}
		if changes += n; n > 0 && failed == nil {
			if end, failed = m.sendPart(s, at, to, body, n); end != nil {
				return false, errRetry
			}
		}
		// 2. Without changes only the position moves. Behind a change that was not sent it must not be.
		if part.Continued || at.Reaches(to) {
			return false, nil
		}
		if changes > 0 {
			o := m.ended(s, DeadLetter{From: at.String(), To: to.String(), Changes: changes}, failed, to)
			end = &o
		}
		at = to
		return end != nil, nil
	})
	switch {
	case m.ctx.Err() != nil:
		return outcome{}
	case end != nil:
		return *end
	case errors.Is(err, feed.ErrGone), errors.Is(err, feed.ErrPosition):
		return m.afterGap(s, err)
	case err != nil:
		return m.storeFailed(s, err)
	}
	return outcome{loaded: true, position: at}
}

// errRetry ends a step whose changes are sent again.
var errRetry = errors.New("a batch is sent again later")

// sendPart sends a batch. If it must be sent again, retry is the outcome of the step. If it was given up, failed is
// the reason.
func (m *Manager) sendPart(s *subscription, at, to feed.Position, body []byte, n int) (retry *outcome, failed error) {
	state := &s.work.stored.State
	err := m.send(s, at, to, body)
	switch {
	case m.ctx.Err() != nil:
		return &outcome{}, nil
	case err == nil:
		state.Batches++
		state.Changes += int64(n)
		return nil, nil
	}
	if wait, giveUp := m.failed(s, err); !giveUp {
		o := m.save(s, outcome{loaded: true, position: at, tries: state.Failures, more: true, wait: wait})
		return &o, nil
	}
	return nil, err
}

// body returns the lines of a batch's changes that are for applications, and their number.
func (m *Manager) body(s *subscription, part *feed.Batch) (body []byte, n int, err error) {
	visible, err := Visible(part.Changes, s.name, s.filter, func(id string) bool { return m.mayRead(s, id) })
	if err != nil {
		return nil, 0, err
	}
	// The last line has the position.
	for i := range visible {
		position := ""
		if i == len(visible)-1 {
			position = part.Position.String()
		}
		if body, err = visible[i].AppendJSON(body, part.Time, position); err != nil {
			return nil, 0, err
		}
		body = append(body, '\n')
	}
	return body, len(visible), nil
}

// afterGap reports to the receiver that changes are missing, and where the feed continues.
func (m *Manager) afterGap(s *subscription, cause error) outcome {
	// 1. Find where it continues.
	var to feed.Position
	var gone *feed.GoneError
	if errors.As(cause, &gone) {
		to = gone.Continue
	} else {
		var err error
		if to, err = m.source.Position(m.ctx); err != nil {
			return m.storeFailed(s, err)
		}
	}
	// 2. Send one line. If that fails, the next step finds the same gap.
	state := &s.work.stored.State
	body := triple.AppendJSONString([]byte(`{"kind":"gone","reason":`), cause.Error())
	body = triple.AppendJSONString(append(body, `,"position":`...), to.String())
	err := m.send(s, feed.Position{}, to, append(body, "}\n"...))
	if m.ctx.Err() != nil {
		return outcome{}
	}
	if err != nil {
		if wait, giveUp := m.failed(s, err); !giveUp {
			return m.save(s, outcome{tries: state.Failures, more: true, wait: wait})
		}
		cause = fmt.Errorf("%w; and the receiver was not told: %w", cause, err)
	}
	return m.ended(s, DeadLetter{From: state.Position, To: to.String()}, cause, to)
}

// send tries once to deliver the changes between two positions.
func (m *Manager) send(s *subscription, from, to feed.Position, body []byte) error {
	header := http.Header{}
	header.Set("Trefoil-Subscription", s.name)
	header.Set("Trefoil-From", from.String())
	header.Set("Trefoil-Position", to.String())
	header.Set("Trefoil-Try", strconv.Itoa(s.work.stored.State.Failures+1))
	// The ID names the content: a second try may have more changes, which a receiver must not
	// take for those that it has.
	sum := sha256.Sum256(body)
	start := time.Now()
	defer func() { s.work.took = max(s.work.took, time.Since(start), 1) }()
	return m.Sender.Send(m.ctx, &webhook.Message{
		URL: s.url, ID: s.name + "-" + base64.RawURLEncoding.EncodeToString(sum[:15]), Secret: secretOf(&s.definition, m.Registry.Key),
		ContentType: "application/x-ndjson", Header: header, Body: body,
	})
}

// failed records a failed try, and returns when the next one is. The age of a failure does not count the
// time in which no machine tried, as in a failure of power: receivers may come back later.
func (m *Manager) failed(s *subscription, err error) (wait time.Duration, giveUp bool) {
	now, state := time.Now(), &s.work.stored.State
	state.Failures++
	state.LastError = clip(err)
	if state.FailingSince == nil {
		state.FailingSince = &now
	}
	age := min(now.Sub(*state.FailingSince), now.Sub(s.work.begun))
	return m.Policy.Next(state.Failures, age, err, random())
}

// ended stores that the subscription continues behind some changes. If they were given up, failed is
// the reason.
func (m *Manager) ended(s *subscription, d DeadLetter, failed error, to feed.Position) outcome {
	state := &s.work.stored.State
	now := time.Now()
	state.Position = d.To
	state.Failures, state.FailingSince = 0, nil
	if failed == nil {
		state.Delivered = &now
	} else {
		m.Logger.Warn("changes were not delivered to a subscription", "subscription", s.name, "changes", d.Changes, "error", failed)
		d.Error, d.Time = clip(failed), now
		bury(state, d)
	}
	return m.save(s, outcome{loaded: true, position: to, sent: true})
}

// save stores the state. If that fails, the next step begins with the stored one again: then a
// batch may be delivered twice, but none is left out.
func (m *Manager) save(s *subscription, o outcome) outcome {
	if err := m.Registry.save(m.ctx, s.work.stored); err != nil {
		return m.storeFailed(s, err)
	}
	s.work.saved, s.work.save = m.currentMoment(), false
	return o
}

// errRedefined ends a step of a former definition. The follower takes up the new one.
var errRedefined = errors.New("the subscription has a new definition")

// storeFailed makes the next step begin with the stored state, soon.
func (m *Manager) storeFailed(s *subscription, err error) outcome {
	// The subscription was deleted, or has a new definition or another owner: no failure.
	expected := errors.Is(err, ErrUnknown) || errors.Is(err, errRedefined) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) || errors.Is(err, context.Canceled)
	if m.ctx.Err() == nil && !expected {
		m.Logger.Warn("a subscription cannot go on, and tries again", "subscription", s.name, "error", err)
	}
	s.work.stored = nil
	return outcome{more: true, wait: storeWait}
}

func clip(err error) string {
	text := err.Error()
	return text[:min(len(text), maxErrorText)]
}
