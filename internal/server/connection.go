// What connections and their listener exchange: busy or idle, and within or beyond the listener's
// room.

package server

import (
	"context"
	"net"
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// Busy is a connection that records whether a request runs on it. Between two requests its listener
// may close it, because others may need the room.
type Busy interface{ SetBusy(busy bool) }

// Crowded is a connection that may be beyond its listener's room. If it is, it gets an answer to
// health checks only, and an error to anything else.
type Crowded interface{ Crowded() bool }

// crowdedKey is in a request's context if its connection is crowded.
type crowdedKey struct{}

func reportState(c net.Conn, state http.ConnState) {
	if b, ok := c.(Busy); ok {
		b.SetBusy(state == http.StateActive)
	}
}

func withCrowded(ctx context.Context, c net.Conn) context.Context {
	if b, ok := c.(Crowded); ok && b.Crowded() {
		return context.WithValue(ctx, crowdedKey{}, true)
	}
	return ctx
}

func isCrowded(r *http.Request) bool { return r.Context().Value(crowdedKey{}) != nil }

func errCrowded() error {
	return problem.Busyf("this node has no room for another connection, each of them is in the midst of a request, or your address has three quarters of all: " +
		"close some, or try again")
}
