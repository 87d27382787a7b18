// Contexts outside of the document.

package jsonld

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/triple/iri"
)

// ErrRemoteContext means that a document refers to a context that cannot be had.
var ErrRemoteContext = errors.New("remote contexts are not fetched")

// Loader returns the context with an absolute URL.
type Loader func(url string) (*Context, error)

// Context is a context outside of the document. It does not change, so many documents may use it at
// the same time.
type Context struct {
	// URL is that of the document that has the context, after redirects. "" means the one that was
	// asked for.
	URL   string
	local any
}

// ParseContext returns the context in a JSON document, which must be an object with @context. source
// is the document's name in errors.
func ParseContext(data []byte, source string) (*Context, error) {
	document, err := decode(data)
	if err != nil {
		return nil, fail(source, err)
	}
	o, ok := document.(object)
	if !ok {
		return nil, fail(source, failf(invalidRemote, "it is an object with @context, not %s", show(document)))
	}
	local, ok := o.get("@context")
	if !ok {
		return nil, fail(source, failf(invalidRemote, "the document has no @context"))
	}
	return &Context{local: local}, nil
}

// newProcessor returns the processor of a document.
func newProcessor(opts Options) (*processor, error) {
	p := &processor{load: opts.Contexts, loaded: make(map[string]*Context), kept: make(map[reuse]*context)}
	if p.load == nil {
		p.load = func(string) (*Context, error) {
			return nil, fmt.Errorf("%w; put it into the document", ErrRemoteContext)
		}
	}
	if opts.Base != "" {
		base, err := iri.NewBase(opts.Base)
		if err != nil {
			return nil, err
		}
		p.base, p.url = base, base.String()
	}
	return p, nil
}
