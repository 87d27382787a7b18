// Idempotency keys: a change that is sent twice with one key is done once.

package httpapi

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node"
)

const (
	// keyHeader names a request; one with the same key is the same request.
	keyHeader = "Idempotency-Key"
	// repeatHeader with the value false says that the request was not sent before, so that
	// the other machines need not be asked.
	repeatHeader = "Trefoil-Repeat"

	maxKeyBytes = 255
	// keyWindow is how long an answer is kept, if there is room.
	keyWindow = 10 * time.Minute
	// maxAnswerBytes bounds the answers that are kept: some 50,000.
	maxAnswerBytes = 32 << 20
	// answerBytes is about what an answer takes beside its body.
	answerBytes = 600
	// abandonedTime is how long a change with a key goes on when its client has gone.
	abandonedTime = 30 * time.Second
)

// keys remembers the answers to requests with keys, in memory.
type keys struct {
	now func() time.Time

	mu    sync.Mutex
	of    map[[sha256.Size]byte]*keyed
	order list.List // of *keyed that have ended, the oldest first
	bytes int64     // of these
}

// keyed is one request: under way, or with its answer.
type keyed struct {
	id    [sha256.Size]byte
	ended time.Time // zero while it is under way
	// digest is of what was asked; nil if not all of it was read.
	digest []byte
	length int64 // of the body
	answer recording
}

func newKeys() *keys { return &keys{now: time.Now, of: map[[sha256.Size]byte]*keyed{}} }

// begin returns the request of a key. If it is not remembered it is under way from
// now on, and fresh is true.
func (k *keys) begin(key string) (entry *keyed, fresh bool) {
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

// end keeps the answer of a request that was under way, or forgets the request.
func (k *keys) end(entry *keyed, answer *recording, body *digestBody) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if answer == nil {
		delete(k.of, entry.id)
		return
	}
	entry.answer, entry.ended = *answer, k.now()
	if body.whole {
		entry.digest, entry.length = body.sum.Sum(nil), body.length
	}
	k.order.PushBack(entry)
	k.bytes += entry.size()
}

func (e *keyed) size() int64 { return answerBytes + int64(len(e.answer.body)) }

// underWay reports whether a request has no answer yet.
func (k *keys) underWay(entry *keyed) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return entry.ended.IsZero()
}

// digestBody is a request's body, and the digest of what was asked: method, path,
// parameters and the bytes that were read.
type digestBody struct {
	io.ReadCloser
	sum    hash.Hash
	length int64
	whole  bool // all was read
}

func newDigestBody(r *http.Request) *digestBody {
	b := &digestBody{ReadCloser: r.Body, sum: sha256.New(), whole: r.Body == nil || r.Body == http.NoBody}
	if r.Body == nil {
		b.ReadCloser = http.NoBody
	}
	fmt.Fprintf(b.sum, "%q %q %q %q\n", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"))
	return b
}

func (b *digestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.sum.Write(p[:n])
	b.length += int64(n)
	b.whole = b.whole || err == io.EOF
	return n, err
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
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(max(r.status, http.StatusOK))
	_, err := w.Write(r.body)
	return err
}

// once makes a change. If the request has a key, the change is made once: this node
// remembers the answer for some time, and the store remembers what was done, for
// [node.TokenTime]. With a key the change does not end with its connection, so that a client whose
// connection broke gets its answer by a second try.
func (a *API) once(w http.ResponseWriter, r *request, do func(http.ResponseWriter, *request) error) error {
	if r.digest == nil {
		return do(w, r)
	}
	key := r.Header.Get(keyHeader)
	if len(key) == 0 || len(key) > maxKeyBytes {
		return errorf(KindBadParameter, keyHeader, "has %d bytes, not 1 to %d", len(key), maxKeyBytes)
	}
	entry, fresh := a.keys.begin(key)
	if !fresh {
		return a.repeat(w, r, entry)
	}
	var answer *recording // nil: the rest may be done, which the store knows
	defer func() { a.keys.end(entry, answer, r.digest) }()
	// 1. Make the change, whether the client waits or not.
	ctx, cancel := a.detached(r.Context())
	defer cancel(nil)
	r.Request = r.WithContext(node.WithRequestKey(ctx, key, r.Header.Get(repeatHeader) == "false"))
	made := &recording{header: http.Header{}}
	err := recovered(func() error { return do(made, r) })
	// 2. Keep the answer.
	if err == nil {
		answer = made
		return made.send(w)
	}
	if errors.Is(err, node.ErrDone) {
		if location := made.header.Get("Location"); location != "" {
			w.Header().Set("Location", location) // it follows from the key
		}
		return writeJSON(w, repeated{true})
	}
	e := asError(err)
	if e.Kind == kindGone {
		e = &Error{Kind: KindUnknownOutcome, Message: "the change was cut short: it may be done in part", cause: err}
	}
	return e
}

// repeated is the answer to a change that was done before, whose answer is not remembered.
type repeated struct {
	Repeated bool `json:"repeated"`
}

// repeat answers a request whose key is known.
func (a *API) repeat(w http.ResponseWriter, r *request, entry *keyed) error {
	if a.keys.underWay(entry) {
		e := errorf(KindUnderWay, keyHeader, "a request with this key is under way: try again for its answer")
		e.retryAfter = 1
		return e
	}
	if entry.digest != nil {
		if _, err := io.Copy(io.Discard, io.LimitReader(r.Body, entry.length+1-r.digest.length)); err != nil {
			return bodyError(err)
		}
		if r.digest.length != entry.length || string(r.digest.sum.Sum(nil)) != string(entry.digest) {
			return errorf(KindKeyReused, keyHeader, "the key is of another request: make a new one for each")
		}
	}
	return entry.answer.send(w)
}

// detached returns a context that outlives its client by abandonedTime, but not the
// node's shutdown.
func (a *API) detached(of context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(of))
	atEnd := context.AfterFunc(a.ending, func() { cancel(context.Canceled) })
	atLoss := context.AfterFunc(of, func() {
		timer := time.AfterFunc(abandonedTime, func() { cancel(context.Canceled) })
		context.AfterFunc(ctx, func() { timer.Stop() })
	})
	context.AfterFunc(ctx, func() { atEnd(); atLoss() })
	return ctx, cancel
}
