// Errors returned by a node.

package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kinds of a node's errors; test with [errors.Is]. The details are in an [*Error].
var (
	ErrBadRequest       = errors.New("bad request")        // a parameter is wrong, or parameters contradict each other
	ErrBadCursor        = errors.New("bad cursor")         // damaged, or of another query
	ErrSyntax           = errors.New("malformed document") // Where is source:line:column
	ErrUnauthorized     = errors.New("unauthorized")       // the token is missing or wrong
	ErrForbidden        = errors.New("forbidden")          //
	ErrReadOnly         = errors.New("read-only")          // the node rejects changes
	ErrNotFound         = errors.New("not found")          //
	ErrTooLarge         = errors.New("too large")          // beyond the limit of the endpoint
	ErrUnsupportedMedia = errors.New("unsupported media")  // the node cannot read the document's type
	ErrBusy             = errors.New("busy")               // try again
	ErrUnavailable      = errors.New("unavailable")        // shutting down, failed, or machines of the cluster are down
	ErrLost             = errors.New("lost")               // rows in the answer may be lost forever
	ErrUnknownOutcome   = errors.New("unknown outcome")    // a change may be done, or be done later
	ErrDiskFull         = errors.New("the node's disk is full")
	ErrCorrupt          = errors.New("the node's data is damaged")

	// Of SPARQL.
	ErrStopped       = errors.New("stopped")                       // by an operator; an update changed nothing
	ErrQueryTimeout  = errors.New("the query took too long")       // an update changed nothing
	ErrQueryLimit    = errors.New("the query needs too much")      // memory, or depth
	ErrConflict      = errors.New("conflict")                      // CREATE of a graph that exists, and the like; Leave without a cluster
	ErrRemote        = errors.New("another server failed")         // one used by SERVICE or LOAD
	ErrNotAcceptable = errors.New("the answer is of another sort") // such as a CONSTRUCT given to Query
)

var sentinels = map[string]error{
	"bad-request":            ErrBadRequest,
	"bad-parameter":          ErrBadRequest,
	"bad-cursor":             ErrBadCursor,
	"syntax":                 ErrSyntax,
	"unauthorized":           ErrUnauthorized,
	"forbidden":              ErrForbidden,
	"read-only":              ErrReadOnly,
	"not-found":              ErrNotFound,
	"too-large":              ErrTooLarge,
	"unsupported-media-type": ErrUnsupportedMedia,
	"busy":                   ErrBusy,
	"unavailable":            ErrUnavailable,
	"lost":                   ErrLost,
	"unknown-outcome":        ErrUnknownOutcome,
	"disk-full":              ErrDiskFull,
	"corrupt":                ErrCorrupt,
	"query-timeout":          ErrQueryTimeout,
	"stopped":                ErrStopped,
	"query-limit":            ErrQueryLimit,
	"conflict":               ErrConflict,
	"remote":                 ErrRemote,
	"not-acceptable":         ErrNotAcceptable,
	"gone":                   ErrGone,
	"precondition-failed":    ErrPrecondition,
}

// Error is an error returned by a node.
type Error struct {
	Status  int    // of HTTP
	Kind    string // such as "syntax"; "" if the answer is not a node's
	Message string
	Where   string // a parameter, or source:line:column; may be ""
	// Line and Column are those of a malformed query, update or document, from 1; 0 if there is
	// none. Columns count code points.
	Line, Column int
	// Done is the number of triples changed before the error, if the work has several steps. They
	// stay changed.
	Done int64
	// Begun is set if a part of a change was written, or found as wanted.
	Begun bool
	// Continue and Read are set if the error is [ErrGone]: the position at which to continue in the
	// change feed when the requests of Read, paths with parameters, are read again.
	Continue string
	Read     []string
	// Version is the current version of an annotation whose condition does not hold; "" if there is
	// no annotation.
	Version string

	retryAfter time.Duration
}

// Error returns message and place.
func (e *Error) Error() string {
	switch {
	case e.Kind == "" && e.Status != 0: // not a node's answer
		return fmt.Sprintf("HTTP status %d: %s", e.Status, e.Message)
	case e.Where != "":
		return e.Where + ": " + e.Message
	}
	return e.Message
}

// Is reports whether target is the package's error for the kind of e.
func (e *Error) Is(target error) bool { return target != nil && sentinels[e.Kind] == target }

// maxErrorBytes bounds the bytes read of an error's body.
const maxErrorBytes = 64 << 10

// errorOf reads the error in an answer, and closes the answer. If the body is not a node's, the
// message is its beginning.
func errorOf(answer *http.Response) *Error {
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxErrorBytes)) // a part of the body is better than none
	e := parseError(text, answer.StatusCode)
	e.retryAfter = retryAfter(answer.Header.Get("Retry-After"), time.Now())
	return e
}

// parseError returns the error in the body of an answer.
func parseError(text []byte, status int) *Error {
	e := &Error{Status: status}
	var wire struct {
		Error struct {
			Kind, Message, Where string
			Line, Column         int
			Done                 int64
			Begun                bool
			Continue             string
			Read                 []string
			Version              string
		}
	}
	if json.Unmarshal(text, &wire) == nil && wire.Error.Kind != "" {
		e.Kind, e.Message, e.Where = wire.Error.Kind, wire.Error.Message, wire.Error.Where
		e.Line, e.Column, e.Done, e.Begun = wire.Error.Line, wire.Error.Column, wire.Error.Done, wire.Error.Begun
		e.Continue, e.Read = wire.Error.Continue, wire.Error.Read
		e.Version = wire.Error.Version
		return e
	}
	e.Message = strings.ToValidUTF8(strings.TrimSpace(string(text[:min(len(text), 200)])), "\uFFFD")
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	return e
}

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(strings.TrimSpace(header)); err == nil {
		return time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), 24*time.Hour)
	}
	return 0
}
