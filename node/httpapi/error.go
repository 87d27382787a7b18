// The error that crosses the wire: a kind, a message, a place, and the HTTP
// status that belongs to the kind.

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// Kind says what sort of error a request met. Clients tell errors apart by it.
type Kind string

// The kinds of errors.
const (
	KindBadRequest       Kind = "bad-request"            // 400: the request contradicts itself
	KindBadParameter     Kind = "bad-parameter"          // 400: where names the parameter
	KindBadCursor        Kind = "bad-cursor"             // 400: damaged, or of another query
	KindSyntax           Kind = "syntax"                 // 400: where is source:line:column
	KindUnauthorized     Kind = "unauthorized"           // 401
	KindForbidden        Kind = "forbidden"              // 403: a web page of another origin
	KindReadOnly         Kind = "read-only"              // 403: the node takes no writes
	KindNotFound         Kind = "not-found"              // 404
	KindMethod           Kind = "method-not-allowed"     // 405
	KindNotAcceptable    Kind = "not-acceptable"         // 406
	KindTimeout          Kind = "timeout"                // 408: the body came too slowly
	KindEpoch            Kind = "other-epoch"            // 409: the graph of links is not of the epoch that was asked for
	KindConflict         Kind = "conflict"               // 409: CREATE of a graph that exists, DROP of one that does not; not for a member, or only for one
	KindUnderWay         Kind = "under-way"              // 409: a request with this Idempotency-Key has no answer yet
	KindKeyReused        Kind = "key-reused"             // 422: the Idempotency-Key is of another request
	KindPrecondition     Kind = "precondition-failed"    // 412: If-Match or If-None-Match of a change is not met
	KindTooLarge         Kind = "too-large"              // 413
	KindUnsupportedMedia Kind = "unsupported-media-type" // 415: syntax or compression
	KindQueryLimit       Kind = "query-limit"            // 422: a query needs more than its memory, or nests too deep
	KindInternal         Kind = "internal"               // 500
	KindCorrupt          Kind = "corrupt"                // 500: stored bytes are damaged
	KindRemote           Kind = "remote"                 // 502: what SERVICE or LOAD asked
	KindBusy             Kind = "busy"                   // 503: try again
	KindUnavailable      Kind = "unavailable"            // 503: shutting down, or machines are away: try again
	KindLoading          Kind = "loading"                // 503: the graph of links is being built: try again
	KindLost             Kind = "lost"                   // 503: rows of what was asked may be gone for good
	KindUnknownOutcome   Kind = "unknown-outcome"        // 504: a write may be done, or be done later
	KindQueryTimeout     Kind = "query-timeout"          // 504: a query or update did not end in time; on a node alone nothing was changed
	KindVersion          Kind = "http-version"           // 505: HTTP/1.0 where it will not do
	KindDiskFull         Kind = "disk-full"              // 507

	// kindGone is never sent: the client has gone away. It shows in metrics.
	kindGone Kind = "client-gone"
)

var statusOf = map[Kind]int{
	KindBadRequest:       http.StatusBadRequest,
	KindBadParameter:     http.StatusBadRequest,
	KindBadCursor:        http.StatusBadRequest,
	KindSyntax:           http.StatusBadRequest,
	KindUnauthorized:     http.StatusUnauthorized,
	KindForbidden:        http.StatusForbidden,
	KindReadOnly:         http.StatusForbidden,
	KindNotFound:         http.StatusNotFound,
	KindMethod:           http.StatusMethodNotAllowed,
	KindNotAcceptable:    http.StatusNotAcceptable,
	KindTimeout:          http.StatusRequestTimeout,
	KindEpoch:            http.StatusConflict,
	KindConflict:         http.StatusConflict,
	KindUnderWay:         http.StatusConflict,
	KindKeyReused:        http.StatusUnprocessableEntity,
	KindPrecondition:     http.StatusPreconditionFailed,
	KindTooLarge:         http.StatusRequestEntityTooLarge,
	KindUnsupportedMedia: http.StatusUnsupportedMediaType,
	KindQueryLimit:       http.StatusUnprocessableEntity,
	KindInternal:         http.StatusInternalServerError,
	KindCorrupt:          http.StatusInternalServerError,
	KindRemote:           http.StatusBadGateway,
	KindBusy:             http.StatusServiceUnavailable,
	KindUnavailable:      http.StatusServiceUnavailable,
	KindLoading:          http.StatusServiceUnavailable,
	KindLost:             http.StatusServiceUnavailable,
	KindUnknownOutcome:   http.StatusGatewayTimeout,
	KindQueryTimeout:     http.StatusGatewayTimeout,
	KindVersion:          http.StatusHTTPVersionNotSupported,
	KindDiskFull:         http.StatusInsufficientStorage,
	kindGone:             499,
}

// Error is an error as clients get it.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Where   string `json:"where"` // a parameter, or source:line:column; may be ""
	// Line and Column are those of Where, from 1; 0 where it has none. Columns count
	// code points.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Done is how many triples were changed before the error, of what is done in
	// several steps; they stay changed.
	Done int64 `json:"done,omitempty"`
	// Begun says that a part of a change was written or found as it should be: the
	// request must not be sent again as if nothing was done.
	Begun bool `json:"begun,omitempty"`

	cause      error    // what to log; may be nil
	allow      []string // the methods of a 405
	retryAfter int      // seconds; 0 for no header
}

// Error returns "kind: where: message".
func (e *Error) Error() string {
	if e.Where == "" {
		return string(e.Kind) + ": " + e.Message
	}
	return string(e.Kind) + ": " + e.Where + ": " + e.Message
}

// Unwrap returns the error behind e.
func (e *Error) Unwrap() error { return e.cause }

// Status returns the HTTP status of e.
func (e *Error) Status() int {
	if status := statusOf[e.Kind]; status != 0 {
		return status
	}
	return http.StatusInternalServerError
}

// isFailure reports whether the node's operator should hear of an error.
func (k Kind) isFailure() bool {
	switch k {
	case KindBusy, KindUnavailable, KindLoading, KindLost, KindQueryTimeout, KindRemote:
		return false
	}
	return statusOf[k] >= http.StatusInternalServerError || statusOf[k] == 0
}

func errorf(kind Kind, where, message string, args ...any) *Error {
	return &Error{Kind: kind, Where: where, Message: fmt.Sprintf(message, args...)}
}

func busyf(message string, args ...any) *Error {
	e := errorf(KindBusy, "", message, args...)
	e.retryAfter = 1
	return e
}

// asError returns err as clients get it.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var syntax *triple.SyntaxError
	if errors.As(err, &syntax) {
		where := fmt.Sprintf("%s:%d:%d", syntax.Source, syntax.Line, syntax.Column)
		return &Error{Kind: KindSyntax, Where: where, Message: syntax.Msg, Line: syntax.Line, Column: syntax.Column, cause: err}
	}
	if e := asSPARQLError(err); e != nil {
		return e
	}
	e = &Error{Kind: KindInternal, Message: err.Error(), cause: err}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message = kindGone, "the request was cancelled"
	case errors.Is(err, node.ErrReadOnly):
		e.Kind = KindReadOnly
	case node.IsDiskFull(err):
		e.Kind = KindDiskFull
	case errors.Is(err, node.ErrUnknown): // whatever led to it
		e.Kind = KindUnknownOutcome
	case errors.Is(err, node.ErrBusy):
		e.Kind, e.retryAfter = KindBusy, 1
	case errors.Is(err, node.ErrLost):
		e.Kind = KindLost
	case errors.Is(err, node.ErrClosed), errors.Is(err, node.ErrFailed), errors.Is(err, node.ErrUnavailable):
		e.Kind, e.retryAfter = KindUnavailable, 1
	case errors.Is(err, node.ErrMember):
		e.Kind = KindConflict
	case errors.Is(err, node.ErrNotFound):
		e.Kind = KindNotFound
	case errors.Is(err, node.ErrCorrupt), errors.Is(err, triple.ErrCorrupt):
		e.Kind = KindCorrupt
	case errors.Is(err, triple.ErrBadTerm), errors.Is(err, triple.ErrBadBounds), errors.Is(err, node.ErrInvalid):
		e.Kind = KindBadRequest
	case errors.Is(err, triple.ErrTermTooLong):
		e.Kind = KindTooLarge
	}
	return e
}

// send writes e as the answer.
func (e *Error) send(w http.ResponseWriter) {
	h := w.Header()
	for name := range h { // what the handler set was for another answer
		if !strings.HasPrefix(name, "Access-Control-") && name != "Connection" && name != "Vary" {
			h.Del(name)
		}
	}
	if len(e.allow) > 0 {
		h.Set("Allow", strings.Join(e.allow, ", "))
	}
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	if e.Kind == KindUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="trefoil"`)
	}
	body, err := marshal(struct {
		Error *Error `json:"error"`
	}{e})
	if err != nil {
		panic(err) // three strings always marshal
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(e.Status())
	w.Write(body) //nolint:errcheck // the client is gone; there is nobody to tell
}
