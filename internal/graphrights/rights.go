// The rights themselves, and how a request carries them.

package graphrights

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/trefoildb/trefoil/triple"
)

// Rights are the graphs that the user of a request may read and write. A nil *Rights is all graphs. It is
// safe for concurrent use.
type Rights struct {
	read  map[string]triple.Term // by encoded names; "" and the zero Term are the default graph
	write map[string]bool
}

// New returns rights to graphs. The zero Term is the default graph. Graphs that may be written may be read.
func New(read, write []triple.Term) *Rights {
	r := &Rights{read: map[string]triple.Term{}, write: map[string]bool{}}
	for _, g := range read {
		r.read[encode(g)] = g
	}
	for _, g := range write {
		r.read[encode(g)], r.write[encode(g)] = g, true
	}
	return r
}

// Union returns the rights to the graphs of both. Neither may be nil.
func (r *Rights) Union(other *Rights) *Rights {
	u := &Rights{read: maps.Clone(r.read), write: maps.Clone(r.write)}
	maps.Copy(u.read, other.read)
	maps.Copy(u.write, other.write)
	return u
}

// encode returns the name of a graph as keys have it.
func encode(graph triple.Term) string {
	if graph.IsZero() {
		return ""
	}
	text, _ := triple.AppendTerm(nil, graph)
	return string(text)
}

// ErrForbidden means that a user may not change a graph.
var ErrForbidden = errors.New("it is none of the graphs that this user may write (write-graphs of the users file)")

// mayRead reports whether a graph may be read.
func (r *Rights) mayRead(graph triple.Term) bool {
	if r == nil {
		return true
	}
	_, ok := r.read[encode(graph)]
	return ok
}

// check returns [ErrForbidden], with the name of the graph, if it may not be written.
func (r *Rights) check(graph triple.Term) error {
	if r == nil || r.write[encode(graph)] {
		return nil
	}
	name := "the default graph"
	if !graph.IsZero() {
		name = "the graph " + graph.String()
	}
	return fmt.Errorf("%s may not be changed: %w", name, ErrForbidden)
}

// ErrUnfiltered means that a user with some graphs only may not read what has rows of all graphs.
var ErrUnfiltered = errors.New("it is of all graphs, and this user may read some only (users file)")

type key struct{}

// With returns a context for a request of a user.
func With(ctx context.Context, r *Rights) context.Context {
	if r == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, r)
}

// FromContext returns the rights of a request; nil is all graphs.
func FromContext(ctx context.Context) *Rights {
	r, _ := ctx.Value(key{}).(*Rights)
	return r
}
