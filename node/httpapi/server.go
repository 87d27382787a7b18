// The server: it listens for an API, within limits, and ends gracefully.

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// ServerOptions are the parameters of [NewServer]. The zero value is ready to use.
type ServerOptions struct {
	// MaxHeaderBytes bounds a request's line and headers; 0 is 256 KiB, room for a
	// cursor beside four terms of some size.
	MaxHeaderBytes int
	// ReadHeaderTimeout is how long a header may take to come; 0 is 10 s.
	ReadHeaderTimeout time.Duration
	// IdleTimeout is how long a connection is kept without a request; 0 is 2 min.
	IdleTimeout time.Duration
	// Logger takes what net/http has to say; nil is nobody.
	Logger *slog.Logger
}

// Validate says what is wrong with the options.
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

// NewServer returns a server of an API. It must be shut down, even where Serve
// was not called.
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
		ConnState:         tellState,
		ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelDebug),
	}
	return s, nil
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	if !s.running.begin() {
		w.Header().Set("Connection", "close")
		(&Error{Kind: KindUnavailable, Message: "the node is shutting down", retryAfter: 1}).send(w)
		return
	}
	defer s.running.end()
	s.api.ServeHTTP(w, r)
}

// Serve accepts connections from ln and answers them until Shutdown, when it
// returns nil: Shutdown tells when all is done. It closes ln. How many connections
// are open at a time is ln's to bound; see [Busy] and [Crowded].
func (s *Server) Serve(ln net.Listener) error {
	err := s.http.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// cutShort is how long requests that a shutdown has cancelled may take to say so.
const cutShort = 500 * time.Millisecond

// Shutdown stops accepting and waits for running requests. When ctx ends they are
// cancelled, their connections closed, and ctx's error is returned. In any case
// no request uses the store any more when it returns.
func (s *Server) Shutdown(ctx context.Context) error {
	s.api.draining.Store(true)
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
	return err
}

// inFlight counts the requests that run.
type inFlight struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when closed and n == 0; set by close
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

// close lets no more begin, and returns what is closed when none runs.
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
