// A request on its way to a handler.

package request

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/queries"
	"github.com/trefoildb/trefoil/internal/turns"
)

// Request is a request accepted for an endpoint.
type Request struct {
	*http.Request
	Params Params
	Caller access.Caller // whose annotations it may read and write; also in its context
	Digest *DigestBody   // the body of a change with a key; nil if it has none
	Trace  *Trace        // what the log will have of it
	Part   int           // number in a form, from 1; 0 if there is no form
	// Prefixes collects those of the documents that the request adds; nil if they do not matter.
	Prefixes *prefixes.Found
	turn     *turns.Turn // in which the body is decompressed and parsed; nil if it is small
}

// Trace is what the log has of a request, beside its method and path.
type Trace struct {
	User  string         // "" if the request was refused before it was known
	Query *queries.Query // nil if it is none
	// Right is what the request needs. Graphs, Added and Deleted are of its change.
	Right          access.Right
	Graphs         graphrights.Touched
	Added, Deleted int64
}

// DigestBody is a request's body, and a digest of the request: method, path, parameters, content
// type and the bytes read so far.
type DigestBody struct {
	io.ReadCloser
	Sum    hash.Hash
	Length int64
	Whole  bool // the end was read
}

func NewDigestBody(r *http.Request) *DigestBody {
	b := &DigestBody{ReadCloser: r.Body, Sum: sha256.New(), Whole: r.Body == nil || r.Body == http.NoBody}
	if r.Body == nil {
		b.ReadCloser = http.NoBody
	}
	fmt.Fprintf(b.Sum, "%q %q %q %q\n", r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"))
	return b
}

func (b *DigestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.Sum.Write(p[:n])
	b.Length += int64(n)
	b.Whole = b.Whole || err == io.EOF
	return n, err
}

// KeyHeader is the header of a request's key. Requests of one caller with the same key are the same
// request.
const KeyHeader = "Idempotency-Key"

// Key returns the key of the request, or "" without one. An application, a user and operators have keys of
// their own, because an answer may be for its caller only. No header has a line break, so their keys
// differ from all others. Other callers have the key of the header.
func (r *Request) Key() string {
	key := r.Header.Get(KeyHeader)
	if key == "" {
		return ""
	}
	switch kind, name := r.Caller.Identity(); kind {
	case access.Applications, access.UserKind:
		return key + "\n" + kind + "\n" + name
	case access.Operator:
		return key + "\n" + kind
	}
	return key
}
