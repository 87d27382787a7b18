// Bodies of requests: their syntax, compression and size.

package request

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// BodyName is the name of a body in errors.
const BodyName = "body"

// Body is a request's decompressed body of at most max bytes. Its error is kept, because some
// parsers drop a reader's error. It must be used by one goroutine only.
type Body struct {
	*input.Reader
	max  int64 // 0: no limit
	read int64
	err  error
	// Account, if set, pays for Weight times the bytes read.
	Account *limits.Account
	Weight  int64
	turn    *turns.Turn // nil for a small body
}

// A document in memory must not unfold beyond 200 times its compressed size, after its first 4 MiB.
// Every document with a limit on its size is held in memory. Ordinary RDF is about 10 to 50 times
// smaller when it is compressed.
const (
	maxHeldRatio  = 200
	heldRatioFrom = 4 << 20
)

// Open opens a request's body. Content-Encoding may be gzip, zstd or identity, and must match the
// bytes. max bounds the decompressed bytes; 0 is no limit. The caller must Close it.
func Open(r *Request, max int64) (*Body, error) {
	limits := input.Limits{}
	if max > 0 {
		limits = input.Limits{MaxRatio: maxHeldRatio, RatioFrom: heldRatioFrom}
	}
	// 1. Read the declared compression, and reject a body if its length already exceeds max.
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(r.Header.Values("Content-Encoding"), ",")))
	var declared input.Compression
	switch encoding {
	case "", "identity":
		encoding = ""
		if max > 0 && r.ContentLength > max {
			return nil, TooLarge(r, max)
		}
	case "gzip", "x-gzip":
		declared = input.Gzip
	case "zstd":
		declared = input.Zstd
	default:
		return nil, problem.Errorf(problem.KindUnsupportedMedia, "Content-Encoding", "%q is not gzip, zstd or identity", problem.Clip(encoding))
	}
	// 2. Limit the compressed bytes. No turn is held while they arrive.
	var raw io.Reader = r.Body
	if max > 0 {
		raw = http.MaxBytesReader(nil, r.Body, max) // also limits compressed bytes that decompress to nothing
	}
	if r.turn != nil {
		raw = arriving{raw, r.turn}
	}
	// 3. Decompress, and compare the found compression with the declared one.
	in, err := input.NewReader(raw, BodyName, limits)
	if err != nil {
		return nil, BodyError(err)
	}
	if encoding != "" && in.Compression() != declared {
		in.Close()
		return nil, problem.Errorf(problem.KindBadRequest, "Content-Encoding", "says %s, but the body is not", encoding)
	}
	return &Body{Reader: in, max: max, turn: r.turn}, nil
}

// arriving is a body from the network. It holds no slot of turns while it waits.
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

func (b *Body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if err == nil && b.turn != nil {
		err = b.turn.Check()
	}
	if err == nil && b.Account != nil {
		err = b.Account.Grow(int64(n) * b.Weight)
	}
	if b.max > 0 && b.read > b.max {
		n, err = 0, problem.Errorf(problem.KindTooLarge, "", "the document is larger than %d bytes, decompressed; %s", b.max, limits.LoadHint)
	}
	if err != nil && err != io.EOF {
		err = BodyError(err)
	}
	b.err = err
	return n, err
}

// Failed returns the error of reading; nil if there was none, or only io.EOF.
func (b *Body) Failed() error {
	if b.err == io.EOF {
		return nil
	}
	return b.err
}

func TooLarge(r *Request, max int64) error {
	if r.URL.Path == "/load" {
		return problem.Errorf(problem.KindTooLarge, "", "the body has %d bytes, this node takes up to %d", r.ContentLength, max)
	}
	return problem.Errorf(problem.KindTooLarge, "", "the document has %d bytes, this endpoint takes up to %d; %s", r.ContentLength, max, limits.LoadHint)
}

// BodyError returns an error of reading a body in the form for clients.
func BodyError(err error) error {
	var e *problem.Error
	if errors.As(err, &e) {
		return e
	}
	e = &problem.Error{Kind: problem.KindBadRequest, Message: err.Error(), Cause: err}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return problem.Errorf(problem.KindTooLarge, "", "the body is larger than %d bytes; %s", over.Limit, limits.LoadHint)
	case errors.Is(err, input.ErrBomb):
		e.Kind = problem.KindTooLarge
	case errors.Is(err, input.ErrTruncated):
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Message = "the body ended before its time"
	}
	return e
}

// SyntaxOf returns the syntax of Content-Type. It fails if the header is missing or unknown.
func SyntaxOf(r *Request) (syntax.Syntax, error) {
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		return 0, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "is missing; it tells the document's syntax: %s", mediaTypes())
	}
	s, err := syntax.ByMediaType(contentType)
	if err != nil {
		return 0, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%s", problem.ClipAt(err.Error(), 1000))
	}
	if _, _, err := mime.ParseMediaType(contentType); err != nil {
		return 0, problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%s", problem.ClipAt(err.Error(), 1000))
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
