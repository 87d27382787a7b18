// Package serving serves stores over HTTP for the tests of clients.
package serving

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
)

// Serve serves triples on a port of loopback until the test ends. Queries get an engine of their own if o has none.
// What o names must be closed after it: see [storetest.CloseLater].
func Serve(t testing.TB, db store.Triples, o server.Options) (url string) {
	t.Helper()
	// A server without an engine answers no query, which most tests send.
	var err error
	if o.Engine == nil {
		if o.Engine, err = engine.New(db, engine.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	api, err := server.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(api, server.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// Shutdown returns before Serve does, and a goroutine that is left would fail the next test.
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), <-served); err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}
