// Idempotency keys: a change sent twice with one key is done once.

package idempotency

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
)

const (
	// RepeatHeader with the value false marks a request that was not sent before. So the other
	// machines need not be asked.
	RepeatHeader = "Trefoil-Repeat"

	MaxKeyBytes = 255
	// keyWindow is the lifetime of a kept answer, if there is room.
	keyWindow = 10 * time.Minute
	// maxAnswerBytes bounds the kept answers: some 50,000.
	maxAnswerBytes = 32 << 20
	// answerBytes is about the size of a kept answer without its body.
	answerBytes = 600
	// abandonedTime bounds a change with a key when its client has gone.
	abandonedTime = 30 * time.Second
)

// Keys remembers the answers to requests with keys, in memory. It is safe for concurrent use.
type Keys struct {
	now    func() time.Time
	ending context.Context // ends when a shutdown stops waiting

	mu    sync.Mutex
	of    map[[sha256.Size]byte]*keyed
	order list.List // of *keyed with an answer, the oldest first
	bytes int64     // of the answers in order
}

// keyed is one request, under way or with its answer.
type keyed struct {
	id    [sha256.Size]byte
	ended time.Time // zero while it is under way
	// digest is of the request; nil if its body was not read to the end.
	digest []byte
	length int64 // of the body
	answer recording
}

// New returns an empty set of keys. When the context ends, it cancels the changes.
func New(ending context.Context) *Keys {
	return &Keys{now: time.Now, ending: ending, of: map[[sha256.Size]byte]*keyed{}}
}

// begin returns the request of a key. If the key is new, the request is under way from now on, and
// fresh is true.
func (k *Keys) begin(key string) (entry *keyed, fresh bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for first := k.order.Front(); first != nil; first = k.order.Front() {
		oldest := first.Value.(*keyed)
		if k.now().Sub(oldest.ended) < keyWindow && k.bytes < maxAnswerBytes {
			break
		}
		k.order.Remove(first)
		k.bytes -= oldest.size()
		delete(k.of, oldest.id)
	}
	id := sha256.Sum256([]byte(key))
	if entry := k.of[id]; entry != nil {
		return entry, false
	}
	entry = &keyed{id: id}
	k.of[id] = entry
	return entry, true
}

// end keeps the answer of a request that was under way. If answer is nil, it forgets the request.
func (k *Keys) end(entry *keyed, answer *recording, body *request.DigestBody) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if answer == nil {
		delete(k.of, entry.id)
		return
	}
	entry.answer, entry.ended = *answer, k.now()
	if body.Whole {
		entry.digest, entry.length = body.Sum.Sum(nil), body.Length
	}
	k.order.PushBack(entry)
	k.bytes += entry.size()
}

// Count returns the number of requests remembered or under way.
func (k *Keys) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.of)
}

func (e *keyed) size() int64 { return answerBytes + int64(len(e.answer.body)) }

// underWay reports whether a request has no answer yet.
func (k *Keys) underWay(entry *keyed) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return entry.ended.IsZero()
}

// recording is an answer that is not sent yet.
type recording struct {
	header http.Header
	status int
	body   []byte
}

// Header is that of the answer.
func (r *recording) Header() http.Header { return r.header }

// WriteHeader takes the first status.
func (r *recording) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write takes a part of the body.
func (r *recording) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	r.body = append(r.body, p...)
	return len(p), nil
}

// send sends the answer.
func (r *recording) send(w http.ResponseWriter) error {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(max(r.status, http.StatusOK))
	_, err := w.Write(r.body)
	return err
}

// RunOnce makes a change. If the request has a key, the change is made once. This node remembers the
// answer for some time, and the store remembers the change for [store.TokenTime]. A change with a
// key does not end with its connection, because a client whose connection broke may fetch its
// answer by a second try.
func (k *Keys) RunOnce(w http.ResponseWriter, r *request.Request, do func(http.ResponseWriter, *request.Request) error) error {
	if r.Digest == nil {
		return do(w, r)
	}
	if n := len(r.Header.Get(request.KeyHeader)); n == 0 || n > MaxKeyBytes {
		return problem.Errorf(problem.KindBadParameter, request.KeyHeader, "has %d bytes, not 1 to %d", n, MaxKeyBytes)
	}
	key := r.Key()
	entry, fresh := k.begin(key)
	if !fresh {
		return k.repeat(w, r, entry)
	}
	var answer *recording // nil if the outcome is known to the store only
	defer func() { k.end(entry, answer, r.Digest) }()
	// 1. Make the change, whether the client waits or not.
	ctx, cancel := k.detached(r.Context())
	defer cancel(nil)
	r.Request = r.WithContext(store.WithRequestKey(ctx, key, r.Header.Get(RepeatHeader) == "false"))
	made := &recording{header: http.Header{}}
	err := problem.Recover(func() error { return do(made, r) })
	// 2. Keep the answer.
	if err == nil {
		answer = made
		return made.send(w)
	}
	if errors.Is(err, store.ErrDone) {
		if location := made.header.Get("Location"); location != "" {
			w.Header().Set("Location", location) // computed from the key
		}
		return response.WriteJSON(w, repeated{true})
	}
	e := problem.As(err)
	// An error of another kind may wrap the deadline of an inner step, and says itself what was done.
	if e.Kind == problem.KindGone {
		e = &problem.Error{Kind: problem.KindUnknownOutcome, Message: "the change was cut short: it may be done in part", Cause: err}
	}
	return e
}

// repeated is the answer if a change was done before and its own answer is lost.
type repeated struct {
	Repeated bool `json:"repeated"`
}

// repeat answers a request with a known key. It fails if the request is under way or differs from
// the first one.
func (k *Keys) repeat(w http.ResponseWriter, r *request.Request, entry *keyed) error {
	if k.underWay(entry) {
		e := problem.Errorf(problem.KindUnderWay, request.KeyHeader, "a request with this key is under way: try again for its answer")
		e.RetryAfter = 1
		return e
	}
	if entry.digest != nil {
		if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, entry.length+1-r.Digest.Length)); err != nil {
			return request.BodyError(err)
		}
		if r.Digest.Length != entry.length || string(r.Digest.Sum.Sum(nil)) != string(entry.digest) {
			return problem.Errorf(problem.KindKeyReused, request.KeyHeader, "the key is of another request: make a new one for each")
		}
	}
	return entry.answer.send(w)
}

// detached returns a context that ends abandonedTime after its client has gone, and at the node's
// shutdown.
func (k *Keys) detached(of context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(of))
	atEnd := context.AfterFunc(k.ending, func() { cancel(context.Canceled) })
	atLoss := context.AfterFunc(of, func() {
		timer := time.AfterFunc(abandonedTime, func() { cancel(context.Canceled) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	context.AfterFunc(ctx, func() { atEnd(); atLoss() })
	return ctx, cancel
}
