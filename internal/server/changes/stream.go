// The stream of an answer: batches are sent at once.

package changes

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/systemgraph"
)

// stream is one answer.
type stream struct {
	api     *API
	w       http.ResponseWriter
	r       *request.Request
	format  *format
	request feed.Request
	expand  bool
	hidden  []feed.Kind // selected by addKinds only; the answer leaves them out

	begun    bool // the header is sent
	buf      []byte
	sent     time.Time // when the last bytes were sent
	position string    // the last one that was sent, or that of the request
	// held is the last change of a part of a commit, if the commit may end without another one: then it has the
	// position.
	held    []feed.Change
	cleared bool // a clear has arrived that the format has no place for
}

// addKinds selects kinds without which the requested ones would not be complete: the triples of a load
// are adds, and a clear is a delete of what the format cannot name.
func (s *stream) addKinds() {
	f := &s.request.Filter
	add := func(requested, other feed.Kind) {
		if slices.Contains(f.Kinds, requested) && !slices.Contains(f.Kinds, other) {
			f.Kinds, s.hidden = append(f.Kinds[:len(f.Kinds):len(f.Kinds)], other), append(s.hidden, other)
		}
	}
	if s.expand {
		add(feed.Add, feed.Load)
	}
	if s.format.triples {
		add(feed.Delete, feed.Clear)
	}
}

// begin sends the header. An error after it can only be the last line of the answer.
func (s *stream) begin() error {
	h := s.w.Header()
	h.Set("Content-Type", s.format.mediaType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies would hold events back
	s.begun = true
	s.w.WriteHeader(http.StatusOK)
	s.buf = append(s.buf[:0], s.format.begin...)
	return s.send()
}

// send sends the buffer to the client at once.
func (s *stream) send() error {
	if _, err := s.w.Write(s.buf); err != nil {
		return err
	}
	if s.sent = time.Now(); cap(s.buf) > streamMemory {
		s.buf = nil // a huge term has grown it, and the stream may stay idle for days
	}
	s.buf = s.buf[:0]
	return http.NewResponseController(s.w).Flush()
}

// run sends the answer until the source or the client ends.
func (s *stream) run(source feed.Source) error {
	// 1. A HEAD request gets the header only.
	if s.r.Method == http.MethodHead {
		s.w.Header().Set("Content-Type", s.format.mediaType)
		return nil
	}
	// 2. A shutdown ends the answer, because it has no end of its own. The client continues at
	// another node or after the restart.
	ctx, cancel := context.WithCancel(s.r.Context())
	defer cancel()
	go func() {
		select {
		case <-s.api.Draining.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	// 3. Send each batch. The first one comes at once, so the header does, too; but an error before
	// it gets a status.
	for b, err := range source.Changes(ctx, s.request) {
		if err == nil {
			err = s.sendBatch(b)
		}
		if err != nil {
			return s.fail(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return s.fail(err)
	}
	// 4. All is read. An answer without a batch still has a header.
	if !s.begun {
		return s.begin()
	}
	return nil
}

// sendBatch sends a batch, with the triples of its loads if they are requested.
func (s *stream) sendBatch(b *feed.Batch) error {
	for i := range b.Changes {
		s.cleared = s.cleared || b.Changes[i].Kind == feed.Clear && s.format.triples
	}
	switch {
	case s.cleared && b.Continued:
		return nil // the client must continue behind the whole commit
	case s.cleared:
		return &feed.GoneError{Reason: "graphs were cleared as a whole, and this format has no place for that", Continue: b.Position}
	}
	if !s.begun {
		if err := s.begin(); err != nil {
			return err
		}
	}
	// Annotations of other applications and UIDs of pages must not show.
	b.Changes = slices.DeleteFunc(b.Changes, func(c feed.Change) bool {
		return systemgraph.IsLinkKey(c.Key) || c.Annotation != nil && !s.r.Caller.MayRead(c.Annotation.ApplicationID)
	})
	if name, ok := s.r.Params["subscription"]; ok && s.api.registry != nil {
		var err error
		if b.Changes, err = subscriptions.Visible(b.Changes, name, s.request.Filter, s.r.Caller.MayRead); err != nil {
			return err
		}
	}
	if err := s.expandLoads(b); err != nil {
		return err
	}
	b.Changes = slices.DeleteFunc(b.Changes, func(c feed.Change) bool { return slices.Contains(s.hidden, c.Kind) })
	return s.writeHeld(b)
}

// writeHeld sends a batch behind the change that was held back. Of a part of a commit it sends all but the last change.
func (s *stream) writeHeld(b *feed.Batch) error {
	all := b.Changes
	if len(s.held) > 0 {
		all = append(s.held, all...)
		s.held = nil
	}
	if !b.Continued {
		return s.write(&feed.Batch{Time: b.Time, Changes: all}, b.Position.String())
	}
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1].Clone()
	if last.Time.IsZero() {
		last.Time = b.Time
	}
	s.held = []feed.Change{last}
	if all = all[:len(all)-1]; len(all) == 0 {
		return nil
	}
	return s.write(&feed.Batch{Time: b.Time, Changes: all}, "")
}

// write appends a batch and sends it.
func (s *stream) write(b *feed.Batch, position string) (err error) {
	if s.buf, err = s.format.appendBatch(s.buf, b, position); err != nil {
		return err
	}
	if position != "" {
		s.position = position
	}
	return s.send()
}

// fail ends a broken answer. If its header was sent, its last line is the error.
func (s *stream) fail(err error) error {
	if s.api.Draining.Load() && errors.Is(err, context.Canceled) {
		err = problem.Errorf(problem.KindUnavailable, "", "the node is shutting down")
	}
	err = asProblem(err, s.r)
	if !s.begun || s.r.Context().Err() != nil {
		return err
	}
	text, marshalErr := json.Marshal(map[string]any{"error": problem.Ended(s.r.Context(), problem.As(err))})
	if marshalErr == nil {
		s.buf = s.format.appendError(s.buf[:0], text)
		_ = s.send()
	}
	return err
}
