// Errors on the wire, and how to recognize definite ones.

package peer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A Code is the reason of a refusal.
type Code string

const (
	CodeEpoch       Code = "epoch"       // the receiver has adopted another view
	CodeLease       Code = "lease"       // the receiver holds no lease
	CodeNotOwner    Code = "not-owner"   // the receiver does not own what was requested
	CodeTick        Code = "tick"        // the receiver has not kept the rows of a tick
	CodeUnavailable Code = "unavailable" // cannot be done now
	CodeStranger    Code = "stranger"    // not from this cluster, or not in this format
	CodeGeneration  Code = "generation"  // from a generation of the cluster that is over
	CodeSuperseded  Code = "superseded"  // a later process runs as the sender's machine
	CodeClosing     Code = "closing"     // the receiver shuts down
	CodeBusy        Code = "busy"        // too much runs already
	CodeMethod      Code = "method"      // the receiver does not know the method
	CodeTooLarge    Code = "too-large"   // the body is above the receiver's limit
	CodeOther       Code = "other"       // the receiver is another machine than Header.To
	CodeInvalid     Code = "invalid"     // what is requested cannot be done, now or later
	CodeDiskFull    Code = "disk-full"   // a disk lacks room for it
)

// A Refusal is a definite answer: nothing was done.
//
// A handler must return a *Refusal of its own making, not wrapped. If it is wrapped, or if
// another node returned it to a call of the handler, it does not cover the handler's other work,
// so it is sent as a plain error.
type Refusal struct {
	Code    Code
	Message string
	Epoch   uint64 // the view that the refusing node has adopted; 0 where that is beside the point

	addr string // who refused, where the refusal came from another node
}

// Refuse returns the definite answer that nothing was done, by a node in an epoch.
func Refuse(code Code, epoch uint64, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Epoch: epoch, Message: fmt.Sprintf(format, args...)}
}

func (r *Refusal) Error() string {
	by := "peer"
	if r.addr != "" {
		by = "peer " + r.addr
	}
	if r.Epoch != 0 {
		return fmt.Sprintf("%s refuses (%s, in epoch %d): %s", by, r.Code, r.Epoch, r.Message)
	}
	return fmt.Sprintf("%s refuses (%s): %s", by, r.Code, r.Message)
}

// A RemoteError is the failure of a handler at another node. The request may
// have been carried out in part.
type RemoteError struct {
	Addr, Method, Message string
}

func (e *RemoteError) Error() string {
	return fmt.Sprintf("%s at %s: %s", e.Method, e.Addr, e.Message)
}

// ErrClosed is the error of requests to and of a [Client] or [Stream] that was closed.
var ErrClosed = errors.New("peer: closed")

// unsent is an error that came before the first byte of the request was sent to its recipient.
type unsent struct {
	addr, method string
	err          error
}

func (e *unsent) Error() string {
	return fmt.Sprintf("%s at %s: not sent: %v", e.method, e.addr, e.err)
}

func (e *unsent) Unwrap() error { return e.err }

// IsDefinite reports whether err, of one request, proves that nothing was done:
// the other node refused, or the request was never sent. Every other error is
// ambiguous. It looks through wrapping; of errors joined from several requests
// it has nothing of use.
func IsDefinite(err error) bool {
	var r *Refusal
	var u *unsent
	return errors.As(err, &r) || errors.As(err, &u)
}

const (
	maxFailure = 64 << 10 // bytes of the JSON of a failure
	maxMessage = 8 << 10  // bytes of its message: JSON may write each as six
)

// failure is the JSON of a refusal (Code set) or of a handler's error.
type failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Epoch   uint64 `json:"epoch,omitempty"`
}

// failureOf returns the message for a handler's error.
func failureOf(err error) failure {
	// Not errors.As: see Refusal.
	if r, ok := err.(*Refusal); ok && r.addr == "" && r.Code != "" {
		return failure{r.Code, cut(r.Message), r.Epoch}
	}
	return failure{Message: cut(err.Error())}
}

func cut(message string) string { return message[:min(len(message), maxMessage)] }

func (f failure) encode() ([]byte, error) { return json.Marshal(f) }

// decodeFailure returns the error that data, the JSON of a failure, stands for.
func decodeFailure(addr, method string, data []byte) error {
	var f failure
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("%s at %s: the answer is a failure that cannot be read: %w", method, addr, err)
	}
	if f.Code == "" {
		return &RemoteError{addr, method, f.Message}
	}
	if f.Code == CodeOther {
		return &unsent{addr, method, errors.New(f.Message)} // the recipient has not answered at all
	}
	return &Refusal{Code: f.Code, Message: f.Message, Epoch: f.Epoch, addr: addr}
}
