// What a listener may know of its connections: which of them are busy, and which
// are beyond its room.

package httpapi

import (
	"context"
	"net"
	"net/http"
)

// Busy is a connection that is told whether a request runs on it. Between two
// requests its listener may close it, to make room for others.
type Busy interface{ SetBusy(busy bool) }

// Crowded is a connection that may be beyond its listener's room: then it gets an
// answer to a health check, and to anything else that there is no room.
type Crowded interface{ Crowded() bool }

// crowdedKey is the key of a request's context whose connection is crowded.
type crowdedKey struct{}

func tellState(c net.Conn, state http.ConnState) {
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
	return busyf("this node has no room for another connection, each of them is in the midst of a request, or your address has three quarters of all: " +
		"close some, or try again")
}
