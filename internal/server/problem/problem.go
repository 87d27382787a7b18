// The error for clients: a kind, a message, a place, and the HTTP status of the kind.

package problem

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// Kind is the kind of an error. Clients distinguish errors by it.
type Kind string

// The kinds of errors.
const (
	KindBadRequest       Kind = "bad-request"            // 400: the request contradicts itself
	KindBadParameter     Kind = "bad-parameter"          // 400: where names the parameter
	KindBadCursor        Kind = "bad-cursor"             // 400: damaged, or of another query
	KindSyntax           Kind = "syntax"                 // 400: where is source:line:column
	KindUnauthorized     Kind = "unauthorized"           // 401
	KindForbidden        Kind = "forbidden"              // 403: a web page of another origin, or annotations of another application
	KindReadOnly         Kind = "read-only"              // 403: the node takes no writes
	KindNotFound         Kind = "not-found"              // 404
	KindMethod           Kind = "method-not-allowed"     // 405
	KindNotAcceptable    Kind = "not-acceptable"         // 406
	KindTimeout          Kind = "timeout"                // 408: the body came too slowly
	KindEpoch            Kind = "other-epoch"            // 409: the graph of links is not of the epoch that was asked for
	KindConflict         Kind = "conflict"               // 409: CREATE of a graph that exists, DROP of one that does not; not for a member, or only for one; no scores of PageRank
	KindUnderWay         Kind = "under-way"              // 409: a request with this Idempotency-Key has no answer yet
	KindStopped          Kind = "stopped"                // 409: an operator stopped the query or update; on a node alone nothing was changed
	KindRejected         Kind = "rejected"               // 422: a check among the update functions has rejected the change
	KindKeyReused        Kind = "key-reused"             // 422: the Idempotency-Key is of another request
	KindPrecondition     Kind = "precondition-failed"    // 412: If-Match or If-None-Match of a change is not met
	KindTooLarge         Kind = "too-large"              // 413
	KindUnsupportedMedia Kind = "unsupported-media-type" // 415: syntax or compression
	KindQueryLimit       Kind = "query-limit"            // 500: stored bytes are damaged
	KindInternal         Kind = "internal"               // 500
	KindCorrupt          Kind = "corrupt"                // 500: stored bytes are damaged
	KindRemote           Kind = "remote"                 // 502: what SERVICE or LOAD asked
	KindBusy             Kind = "busy"                   // 503: try again
	KindUnavailable      Kind = "unavailable"            // 503: shutting down, or machines are down: try again
	KindLoading          Kind = "loading"                // 503: the graph of links or the text index is being built: try again
	KindLost             Kind = "lost"                   // 503: rows in the answer may be lost forever
	KindUnknownOutcome   Kind = "unknown-outcome"        // 504: a write may be done, or be done later
	KindQueryTimeout     Kind = "query-timeout"          // 504: a query or update did not end in time; on a node alone nothing was changed
	KindVersion          Kind = "http-version"           // 505: HTTP/1.0, but the answer needs HTTP/1.1
	KindDiskFull         Kind = "disk-full"              // 507
	KindLinkMemory       Kind = "link-memory"            // 507: the graph of links does not fit into its memory
	KindNotIndexed       Kind = "not-indexed"            // 409: no text index of the predicate
	KindTextMemory       Kind = "text-memory"            // 507: the text index does not fit into its memory
	KindFeedGone         Kind = "gone"                   // 410: the change feed no longer reaches back to a position

	// KindGone is never sent, because the client has gone away. It shows in metrics.
	KindGone Kind = "client-gone"
)

var Statuses = map[Kind]int{
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
	KindStopped:          http.StatusConflict,
	KindRejected:         http.StatusUnprocessableEntity,
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
	KindLinkMemory:       http.StatusInsufficientStorage,
	KindNotIndexed:       http.StatusConflict,
	KindTextMemory:       http.StatusInsufficientStorage,
	KindGone:             499,
	KindFeedGone:         http.StatusGone,
}

// Error is an error in the form for clients.
type Error struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	Where   string `json:"where"` // a parameter, or source:line:column; may be ""
	// Line and Column are those of Where, from 1; 0 if it has none. Columns count code points.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Done is the number of triples changed before the error, if the work has several steps. They
	// stay changed.
	Done int64 `json:"done,omitempty"`
	// Begun is set if a part of a change was written, or found as wanted. The request must then not
	// be sent again as if nothing was done.
	Begun bool `json:"begun,omitempty"`
	// Version is the current version of an annotation whose condition does not hold; "" if there is
	// no annotation.
	Version string `json:"version,omitempty"`

	// Continue is the position in the change feed to continue at after an error "gone", when the
	// answers of the requests in Read are read again.
	Continue string   `json:"continue,omitempty"`
	Read     []string `json:"read,omitempty"`

	Cause      error    `json:"-"` // for the log; may be nil
	Allow      []string `json:"-"` // the methods of a 405
	Challenges []string `json:"-"` // of a 401, for WWW-Authenticate
	RetryAfter int      `json:"-"` // seconds; 0 for no header
}

// Error returns "kind: where: message".
func (e *Error) Error() string {
	if e.Where == "" {
		return string(e.Kind) + ": " + e.Message
	}
	return string(e.Kind) + ": " + e.Where + ": " + e.Message
}

// Unwrap returns the error behind e.
func (e *Error) Unwrap() error { return e.Cause }

// Status returns the HTTP status of e.
func (e *Error) Status() int {
	if status := Statuses[e.Kind]; status != 0 {
		return status
	}
	return http.StatusInternalServerError
}

// IsFailure reports whether the node's operator must see an error.
func (k Kind) IsFailure() bool {
	switch k {
	case KindBusy, KindUnavailable, KindLoading, KindLost, KindQueryTimeout, KindRemote, KindVersion:
		return false
	}
	return Statuses[k] >= http.StatusInternalServerError || Statuses[k] == 0
}

func Errorf(kind Kind, where, message string, args ...any) *Error {
	return &Error{Kind: kind, Where: where, Message: fmt.Sprintf(message, args...)}
}

func Busyf(message string, args ...any) *Error {
	e := Errorf(KindBusy, "", message, args...)
	e.RetryAfter = 1
	return e
}

// As returns err in the form for clients. If err has no kind, it is internal.
func As(err error) *Error {
	// Some errors have this form already, or have a place in a text.
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var syntax *triple.SyntaxError
	if errors.As(err, &syntax) {
		where := fmt.Sprintf("%s:%d:%d", syntax.Source, syntax.Line, syntax.Column)
		return &Error{Kind: KindSyntax, Where: where, Message: syntax.Msg, Line: syntax.Line, Column: syntax.Column, Cause: err}
	}
	if e := asSPARQLError(err); e != nil {
		return e
	}
	// The order matters, because an error may wrap several of these.
	e = &Error{Kind: KindInternal, Message: err.Error(), Cause: err}
	switch {
	case errors.Is(err, store.ErrReadOnly):
		e.Kind = KindReadOnly
	case errors.Is(err, store.ErrRejected):
		e.Kind = KindRejected
	case errors.Is(err, systemgraph.ErrProtected), errors.Is(err, graphrights.ErrForbidden), errors.Is(err, graphrights.ErrUnfiltered):
		e.Kind = KindForbidden
	case fault.IsDiskFull(err):
		e.Kind = KindDiskFull
	// This must stay above the temporary errors, because clients repeat a request after those.
	case errors.Is(err, store.ErrUnknown): // whatever led to it
		e.Kind = KindUnknownOutcome
	// Temporary: the client may try again after a second.
	case errors.Is(err, store.ErrBusy):
		e.Kind, e.RetryAfter = KindBusy, 1
	case errors.Is(err, store.ErrLost):
		e.Kind = KindLost
	// Another machine may answer, or this one when it is up again.
	case errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrFailed), errors.Is(err, store.ErrUnavailable):
		e.Kind, e.RetryAfter = KindUnavailable, 1
	case errors.Is(err, store.ErrConflict):
		e.Kind = KindPrecondition
	case errors.Is(err, store.ErrMember):
		e.Kind = KindConflict
	case errors.Is(err, store.ErrNotFound):
		e.Kind = KindNotFound
	case errors.Is(err, store.ErrCorrupt), errors.Is(err, triple.ErrCorrupt):
		e.Kind = KindCorrupt
	case errors.Is(err, triple.ErrBadTerm), errors.Is(err, triple.ErrBadBounds), errors.Is(err, store.ErrInvalid):
		e.Kind = KindBadRequest
	case errors.Is(err, prefixes.ErrInvalid):
		e.Kind = KindBadParameter
	case errors.Is(err, feed.ErrGone):
		e.Kind, e.Where = KindFeedGone, "since"
	case errors.Is(err, feed.ErrPosition):
		e.Kind, e.Where = KindBadParameter, "since"
	case errors.Is(err, triple.ErrTermTooLong):
		e.Kind = KindTooLarge
	// This must be the last one, because an error of another kind may wrap the deadline of an inner step. Whether
	// the client has gone only its request knows: see [Ended].
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Message = KindGone, "the request was cancelled"
	}
	return e
}

// Ended returns the error of a request whose context is ctx. If an inner step was cancelled or came too late and the
// request was not, a client waits for the answer, and may try again.
func Ended(ctx context.Context, e *Error) *Error {
	if e.Kind != KindGone || ctx.Err() != nil {
		return e
	}
	ended := *e // with the work done before
	ended.Kind, ended.Message, ended.RetryAfter = KindUnavailable, "a step of the request did not end in time: "+causeOf(e), 1
	return &ended
}

func causeOf(e *Error) string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Cause.Error()
}

// Failure returns the kind of an error for a span; "" if the error is the client's.
func Failure(err error) string {
	switch e := As(err); {
	case e.Status() >= http.StatusInternalServerError:
		return string(e.Kind)
	case e.Kind == KindGone && errors.Is(err, context.DeadlineExceeded):
		return "timeout" // of a message or a step, which no client sees
	}
	return ""
}

// PartialError adds to the error of a change the work done before it, because the store makes large
// changes in several steps. n triples were changed. same triples were found as wanted; they may
// have been written too.
func PartialError(err error, n, same int64, done string) error {
	if errors.Is(err, store.ErrFailed) { // of this change or of one before
		err = fmt.Errorf("%w: %w", store.ErrUnknown, err)
	}
	if n == 0 && same == 0 {
		return err
	}
	e := *As(err)
	e.Done, e.Begun = n, true
	if e.Kind == KindBusy {
		e.Kind = KindUnavailable // because clients take "busy" for nothing done
	}
	e.Message = fmt.Sprintf("%s (%d triples were %s before)", e.Message, n, done)
	return &e
}

// Clip shortens a client's text for a message.
func Clip(text string) string { return ClipAt(text, 80) }

func ClipAt(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Recover calls do and returns its error. A panic becomes an error too, unless it is
// http.ErrAbortHandler.
func Recover(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			err = &Error{Kind: KindInternal, Message: "internal error; the node's log has more",
				Cause: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return do()
}
