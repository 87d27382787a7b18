// Names such as ex:age in the arguments of commands, and the prefixes of their store.

package target

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Names are the prefixes of a command's store. They are read when the first one is needed, because
// most commands need none.
type Names struct {
	e    *console.Env
	open func(*console.Env) (Store, error)

	all  prefixes.Names // nil until they are read
	used prefixes.Names // those that lookup has returned
	Err  error          // of the read
}

// Names returns the prefixes of the store in the flags.
func (d *StoreFlags) Names(e *console.Env) *Names {
	return &Names{e: e, open: func(e *console.Env) (Store, error) { return d.open(e, Reading) }}
}

// ServerNames returns the prefixes of the server in the flags.
func (s *ServerFlags) ServerNames(e *console.Env) *Names {
	n := (&StoreFlags{ServerFlags: *s}).Names(e)
	if e.Links != nil { // a test has no server
		n.all, n.used = prefixes.WellKnown(), prefixes.Names{}
	}
	return n
}

// Lookup returns the IRI of a prefix. If the store cannot be read, Err is the reason.
func (n *Names) Lookup(name string) (string, bool) {
	if n.all == nil {
		n.all = prefixes.Names{}
		kept, err := n.read()
		if err != nil {
			n.Err = err
			return "", false
		}
		n.all, n.used = kept.All(), prefixes.Names{}
	}
	iri, ok := n.all[name]
	if ok {
		n.used[name] = iri
	}
	return iri, ok
}

func (n *Names) read() (kept prefixes.Names, err error) {
	r, err := n.open(n.e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return KeptPrefixes(n.e.Ctx, r.Prefixes)
}

// Text returns the parser of arguments with these names.
func (n *Names) Text() triple.Text { return triple.Text{Prefix: n.Lookup} }

// Cause returns the error of the store if a name could not be looked up, and else err.
func (n *Names) Cause(err error) error {
	if err != nil && n.Err != nil {
		return n.Err
	}
	return err
}

// Declared returns a SPARQL text with a line that declares the looked-up prefixes.
func (n *Names) Declared(text string) string {
	line := ""
	for _, name := range slices.Sorted(maps.Keys(n.used)) {
		line += "PREFIX " + name + ": <" + n.used[name] + "> "
	}
	if line == "" {
		return text
	}
	return line + "\n" + text
}

// Expand replaces prefixed names in a list of IRIs or other words. What has no known prefix stays.
func (n *Names) Expand(words []string) error {
	for i, word := range words {
		name, local, ok := strings.Cut(word, ":")
		if !ok || name == "" || strings.HasPrefix(local, "//") || prefixes.Check(name, "urn:x") != nil {
			continue
		}
		if iri, ok := n.Lookup(name); ok {
			words[i] = iri + local
		}
		if n.Err != nil {
			return n.Err
		}
	}
	return nil
}

// OutputNames returns the prefixes for a document of a syntax: those that its query declares, and for Turtle
// and TriG those of the store.
func OutputNames(e *console.Env, store client.PrefixStore, to syntax.Syntax, declared prefixes.Names) (prefixes.Names, error) {
	if to != syntax.Turtle && to != syntax.TriG {
		return declared, nil
	}
	kept, err := KeptPrefixes(e.Ctx, store)
	return kept.All().With(declared), err
}

// Prologue returns the prefixes of a query's prologue that an output in Turtle can declare.
func Prologue(declared []ast.Prefix) prefixes.Names {
	names := prefixes.Names{}
	for _, p := range declared {
		if prefixes.Check(p.Name, "urn:x") == nil || p.Name == "" {
			names[p.Name] = p.IRI
		}
	}
	return names
}

// KeptPrefixes returns the prefixes of a store, without well-known ones.
func KeptPrefixes(ctx context.Context, of client.PrefixStore) (prefixes.Names, error) {
	p, err := of.List(ctx)
	return p.Kept, err
}

// KeepPrefixes keeps the prefixes of documents, if they have some.
func KeepPrefixes(ctx context.Context, in client.PrefixStore, found prefixes.Names) error {
	if len(found) == 0 {
		return nil
	}
	return in.Keep(ctx, found)
}
