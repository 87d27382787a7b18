// The server: its options and its life.

package peer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/tracing"
)

// Options are the parameters of [NewServer]. The zero value is ready to use.
type Options struct {
	// Check runs before every handler and says whether the request belongs here;
	// nil lets all in.
	Check func(Header) *Refusal
	// MaxBody is the greatest body of a request, in bytes; 0 is [MaxBody].
	MaxBody int64
	// MaxMemory bounds the received bytes of the bodies of all running requests; beyond it
	// requests are refused. 0 is 256 MiB, and never less than MaxBody.
	MaxMemory int64
	// MaxConcurrent is how many handlers run at a time; beyond it requests are
	// refused. 0 is 512.
	MaxConcurrent int
	// Shares bounds how many of them are of one group of methods, by the group's name:
	// what is before the slash. So the others always have room.
	Shares map[string]int
	// StallTimeout is the longest that a client may keep a read or write waiting;
	// 0 is 60 s.
	StallTimeout time.Duration
	// Watch is called with the method of every admitted request and the origin in its context; its result is called
	// when the request is answered. It may be nil, and may return nil.
	Watch func(ctx context.Context, method string, from Header) (answered func())
	// Tracer records requests of traces; nil records nothing.
	Tracer *tracing.Tracer
	// Logger takes panics (error) and messages of net/http (debug); nil discards them.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	or(&o.MaxBody, MaxBody)
	or(&o.MaxMemory, 256<<20)
	o.MaxMemory = max(o.MaxMemory, o.MaxBody)
	or(&o.MaxConcurrent, 512)
	or(&o.StallTimeout, 60*time.Second)
	or(&o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// grace is how long Close waits for handlers whose context it has ended.
const grace = 10 * time.Second

// A Handler answers a call. ctx ends when the client goes away. body is the
// handler's for good. For errors see [Refusal].
type Handler func(ctx context.Context, from Header, body []byte) ([]byte, error)

// A StreamHandler answers with the frames that it writes to w. Its error, too,
// reaches the client, after the frames.
type StreamHandler func(ctx context.Context, from Header, body []byte, w *Writer) error

// A Server answers requests of other nodes. It is safe for concurrent use.
type Server struct {
	options Options
	http    *http.Server
	ctx     context.Context // of handlers
	cancel  context.CancelFunc

	mu        sync.Mutex
	streams   map[string]StreamHandler
	calls     map[string]Handler
	listeners []net.Listener
	running   int            // handlers
	shared    map[string]int // handlers of the groups that Shares names
	memory    int64          // bytes reserved for their bodies
	closing   bool
	idle      chan struct{} // closed when closing and nothing runs
}

// NewServer returns a server that knows no method.
func NewServer(o Options) *Server {
	s := &Server{
		options: o.withDefaults(),
		streams: map[string]StreamHandler{},
		calls:   map[string]Handler{},
		shared:  map[string]int{},
		idle:    make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		Protocols:         http1,
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ReadHeaderTimeout: s.options.StallTimeout,
		// Longer than a client's, because the sending side must close first; otherwise a request
		// may meet a closing connection.
		IdleTimeout:    3 * time.Minute,
		MaxHeaderBytes: 16 << 10,
		ErrorLog:       slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug),
	}
	return s
}

// Handle makes h answer calls of method, a path such as writes/submit. It panics
// where method has a handler.
func (s *Server) Handle(method string, h Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustBeNew(method)
	s.calls[method] = h
}

// HandleStream makes h answer method with a stream. It panics where method has a
// handler.
func (s *Server) HandleStream(method string, h StreamHandler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustBeNew(method)
	s.streams[method] = h
}

func (s *Server) mustBeNew(method string) {
	if s.calls[method] != nil || s.streams[method] != nil {
		panic("peer: two handlers of " + method)
	}
}

// Methods returns the names of all methods that have a handler, sorted.
func (s *Server) Methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	methods := slices.AppendSeq(slices.Collect(maps.Keys(s.calls)), maps.Keys(s.streams))
	slices.Sort(methods)
	return methods
}

// Serve serves the connections of l. It returns nil after Close, and an error if l fails. It
// closes l.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return l.Close()
	}
	s.listeners = append(s.listeners, l)
	s.mu.Unlock()
	err := s.http.Serve(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("peer: serve %s: %w", l.Addr(), err)
}

// Close closes the listeners, refuses new requests with CodeClosing and waits for the running
// handlers. If ctx ends first, it ends their contexts. It returns an error if handlers still run
// seconds after their context ended.
func (s *Server) Close(ctx context.Context) error {
	// 1. Refuse new requests.
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		s.wake()
	}
	listeners := s.listeners
	s.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close() // Serve closes it as well
	}
	// 2. Wait for the running handlers; when ctx ends, end their contexts.
	defer s.http.Close()
	defer s.cancel()
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.idle:
		return nil
	case <-timer.C:
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("peer: %d handlers still run %v after their context ended", s.running, grace)
	}
}

// wake wakes Close if nothing runs. s.mu must be held.
func (s *Server) wake() {
	if s.closing && s.running == 0 {
		close(s.idle)
	}
}

// enter admits a request of method with a body of n bytes. The caller must call leave. No memory
// is reserved, because an announced body must not keep others out.
func (s *Server) enter(method string, n int64) *Refusal {
	group, _, _ := strings.Cut(method, "/")
	share, bounded := s.options.Shares[group]
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return &Refusal{Code: CodeClosing, Message: "the node shuts down"}
	case n < 0 || n > s.options.MaxBody:
		return &Refusal{Code: CodeTooLarge, Message: fmt.Sprintf("the request has %d bytes (-1: it does not say), above the limit of %d", n, s.options.MaxBody)}
	case s.running >= s.options.MaxConcurrent:
		return &Refusal{Code: CodeBusy, Message: fmt.Sprintf("%d requests run already; try again", s.running)}
	case bounded && s.shared[group] >= share:
		return &Refusal{Code: CodeBusy, Message: fmt.Sprintf("%d requests of %s run already; try again", share, group)}
	}
	s.running++
	if bounded {
		s.shared[group]++
	}
	return nil
}

// reserve adds the next bytes of a body to what is reserved for it. The error is a
// [Refusal] if there is no memory for them.
func (s *Server) reserve(reserved *int64, bytes int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if int64(bytes) > s.options.MaxMemory-s.memory {
		return &Refusal{Code: CodeBusy, Message: fmt.Sprintf("requests of %d bytes run already; try again", s.memory)}
	}
	s.memory += int64(bytes)
	*reserved += int64(bytes)
	return nil
}

// leave ends a request of method, for whose body n bytes were reserved.
func (s *Server) leave(method string, n int64) {
	group, _, _ := strings.Cut(method, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if _, bounded := s.options.Shares[group]; bounded {
		s.shared[group]--
	}
	s.memory -= n
	s.wake()
}
