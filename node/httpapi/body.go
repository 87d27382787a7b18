// Bodies of requests: which syntax, how compressed, how large.

package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/trefoildb/trefoil/node/turns"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// bodyName is what a body is called in errors.
const bodyName = "body"

// body is a request's body, decompressed, of at most max bytes. Its error stays,
// for not every parser passes a reader's error on.
type body struct {
	*input.Reader
	max  int64 // 0: no limit
	read int64
	err  error
	// account, where set, pays for weight times the bytes read.
	account *account
	weight  int64
	turn    *turns.Turn // nil: that of a small body
}

// A document that is held in memory, as all are whose size has a limit, unfolds to 200
// times its size at most, beyond its first 4 MiB: RDF that is not made to unfold is some
// 10 to 50 times smaller when it is compressed.
const (
	maxHeldRatio  = 200
	heldRatioFrom = 4 << 20
)

// openBody opens a request's body, which Content-Encoding may call compressed.
// The caller must Close it.
func openBody(r *request, max int64) (*body, error) {
	limits := input.Limits{}
	if max > 0 {
		limits = input.Limits{MaxRatio: maxHeldRatio, RatioFrom: heldRatioFrom}
	}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	var declared input.Compression
	switch encoding {
	case "", "identity":
		encoding = ""
		if max > 0 && r.ContentLength > max {
			return nil, tooLarge(r, max)
		}
	case "gzip", "x-gzip":
		declared = input.Gzip
	case "zstd":
		declared = input.Zstd
	default:
		return nil, errorf(KindUnsupportedMedia, "Content-Encoding", "%q is not gzip, zstd or identity", clip(encoding))
	}
	var raw io.Reader = r.Body
	if max > 0 {
		raw = http.MaxBytesReader(nil, r.Body, max) // much of nothing may be compressed too
	}
	if r.turn != nil {
		raw = arriving{raw, r.turn}
	}
	in, err := input.NewReader(raw, bodyName, limits)
	if err != nil {
		return nil, bodyError(err)
	}
	if encoding != "" && in.Compression() != declared {
		in.Close()
		return nil, errorf(KindBadRequest, "Content-Encoding", "says %s, but the body is not", encoding)
	}
	return &body{Reader: in, max: max, turn: r.turn}, nil
}

// turnless is how long a body is that is read without a turn.
const turnless = 4 << 10

// beginBody begins a turn of the processors for a request that has a large or
// compressed body: decompressing and parsing it takes turns with queries (see package
// turns). end gives it back, and may be called again.
func (a *API) beginBody(r *request) (end func(), err error) {
	small := r.ContentLength >= 0 && r.ContentLength <= turnless && r.Header.Get("Content-Encoding") == ""
	if small || a.options.Engine == nil {
		return func() {}, nil
	}
	if r.turn, err = a.options.Engine.Turns().Begin(r.Context(), clientOf(r.Request)); err != nil {
		return nil, err
	}
	return r.turn.End, nil
}

// arriving is a body as it comes from the network. A wait for it holds no slot.
type arriving struct {
	io.Reader
	turn *turns.Turn
}

func (a arriving) Read(p []byte) (n int, err error) {
	err = a.turn.Wait(func() (err error) {
		n, err = a.Reader.Read(p)
		return err
	})
	return n, err
}

func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if err == nil && b.turn != nil {
		err = b.turn.Check()
	}
	if err == nil && b.account != nil {
		err = b.account.grow(int64(n) * b.weight)
	}
	if b.max > 0 && b.read > b.max {
		n, err = 0, errorf(KindTooLarge, "", "the document is larger than %d bytes, decompressed; %s", b.max, whatTakesMore)
	}
	if err != nil && err != io.EOF {
		err = bodyError(err)
	}
	b.err = err
	return n, err
}

// failed returns the error that reading met, nil where there was none.
func (b *body) failed() error {
	if b.err == io.EOF {
		return nil
	}
	return b.err
}

const whatTakesMore = "POST /load takes documents of any size"

func tooLarge(r *request, max int64) error {
	if r.URL.Path == "/load" {
		return errorf(KindTooLarge, "", "the body has %d bytes, this node takes up to %d", r.ContentLength, max)
	}
	return errorf(KindTooLarge, "", "the document has %d bytes, this endpoint takes up to %d; %s", r.ContentLength, max, whatTakesMore)
}

// bodyError returns an error of reading a body as clients get it.
func bodyError(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	e = &Error{Kind: KindBadRequest, Message: err.Error(), cause: err}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return errorf(KindTooLarge, "", "the body is larger than %d bytes; %s", over.Limit, whatTakesMore)
	case errors.Is(err, input.ErrBomb):
		e.Kind = KindTooLarge
	case errors.Is(err, input.ErrTruncated):
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = "the body ended before its time"
	}
	return e
}

// syntaxOf returns the syntax that Content-Type tells.
func syntaxOf(r *request) (syntax.Syntax, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return 0, errorf(KindUnsupportedMedia, "Content-Type", "is missing; it tells the document's syntax: %s", mediaTypes())
	}
	s, err := syntax.ByMediaType(contentType)
	if err != nil {
		return 0, errorf(KindUnsupportedMedia, "Content-Type", "%s", clipAt(err.Error(), 1000))
	}
	if _, _, err := mime.ParseMediaType(contentType); err != nil {
		return 0, errorf(KindUnsupportedMedia, "Content-Type", "%s", clipAt(err.Error(), 1000))
	}
	return s, nil
}

func mediaTypes() string {
	var types []string
	for _, s := range syntax.All() {
		types = append(types, s.MediaType())
	}
	return strings.Join(types, ", ")
}
