// The server: it listens for an API, within limits, and ends gracefully.

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// ServerOptions are the parameters of [NewServer]. The zero value is ready to use.
type ServerOptions struct {
	// MaxHeaderBytes bounds a request's line and headers. 0 is 256 KiB, because a cursor and four
	// terms must fit.
	MaxHeaderBytes int
	// ReadHeaderTimeout bounds the time until a header is complete; 0 is 10 s.
	ReadHeaderTimeout time.Duration
	// IdleTimeout is the time until a connection without a request is closed; 0 is 2 min.
	IdleTimeout time.Duration
	// Logger gets messages of net/http; nil discards them.
	Logger *slog.Logger
}

// Validate returns an error if a limit is negative.
func (o ServerOptions) Validate() error {
	if o.MaxHeaderBytes < 0 || o.ReadHeaderTimeout < 0 || o.IdleTimeout < 0 {
		return fmt.Errorf("http server: a limit is negative: %+v", o)
	}
	return nil
}

func (o ServerOptions) withDefaults() ServerOptions {
	setDefault(&o.MaxHeaderBytes, 256<<10)
	setDefault(&o.ReadHeaderTimeout, 10*time.Second)
	setDefault(&o.IdleTimeout, 2*time.Minute)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Server serves an API on listeners until it is shut down.
type Server struct {
	api     *API
	options ServerOptions
	http    *http.Server
	cancel  context.CancelFunc // ends the context of all requests
	running inFlight
}

// NewServer returns a server of an API. It must be shut down, even if Serve was not called.
func NewServer(api *API, options ServerOptions) (*Server, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	base, cancel := context.WithCancel(context.Background())
	s := &Server{api: api, options: options, cancel: cancel}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.handle),
		MaxHeaderBytes:    options.MaxHeaderBytes,
		ReadHeaderTimeout: options.ReadHeaderTimeout,
		IdleTimeout:       options.IdleTimeout,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withCrowded,
		ConnState:         reportState,
		ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	if !s.running.begin() {
		w.Header().Set("Connection", "close")
		response.SendError(w, &problem.Error{Kind: problem.KindUnavailable, Message: "the node is shutting down", RetryAfter: 1})
		return
	}
	defer s.running.end()
	s.api.ServeHTTP(w, r)
}

// Serve accepts connections from ln and answers them until Shutdown. Then it returns nil at once;
// Shutdown returns when the last request has ended. Serve closes ln. ln must bound the number of
// open connections; see [Busy] and [Crowded].
func (s *Server) Serve(ln net.Listener) error {
	s.api.options.issuer.Start()
	err := s.http.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// cutShort bounds the time for cancelled requests to send their error during a shutdown.
const cutShort = 500 * time.Millisecond

// Shutdown stops accepting and waits for running requests. If ctx ends first, it cancels them,
// closes their connections and returns ctx's error. When it returns, no request uses the store any
// more.
func (s *Server) Shutdown(ctx context.Context) error {
	s.api.shared.Draining.Begin()
	err := s.http.Shutdown(ctx)
	s.cancel()
	s.api.end()
	idle := s.running.close()
	if err != nil {
		timer := time.NewTimer(cutShort)
		defer timer.Stop()
		select {
		case <-idle:
		case <-timer.C:
		}
		err = errors.Join(err, s.http.Close())
	}
	<-idle
	s.api.options.issuer.Close()
	return err
}

// inFlight counts running requests.
type inFlight struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed if closed and n == 0; set by close
}

func (f *inFlight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.n++
	return true
}

func (f *inFlight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.closed && f.n == 0 {
		close(f.idle)
	}
}

// close rejects further requests. The channel is closed when no request runs.
func (f *inFlight) close() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed, f.idle = true, make(chan struct{})
		if f.n == 0 {
			close(f.idle)
		}
	}
	return f.idle
}
