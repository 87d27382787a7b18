// Names such as ex:age in the arguments of commands, and the prefixes of their store.

package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// storeNames are the prefixes of a command's store. They are read when the first one is needed, because
// most commands need none.
type storeNames struct {
	e    *env
	open func(*env) (target, error)

	all  prefixes.Names // nil until they are read
	used prefixes.Names // those that lookup has returned
	err  error
}

// names returns the prefixes of the store in the flags.
func (d *storeFlags) names(e *env) *storeNames {
	return &storeNames{e: e, open: func(e *env) (target, error) { return d.open(e, reading) }}
}

// serverNames returns the prefixes of the server in the flags.
func (s *serverFlags) serverNames(e *env) *storeNames {
	n := (&storeFlags{serverFlags: *s}).names(e)
	if e.links != nil { // a test has no server
		n.all, n.used = prefixes.WellKnown(), prefixes.Names{}
	}
	return n
}

// lookup returns the IRI of a prefix. If the store cannot be read, err tells why.
func (n *storeNames) lookup(name string) (string, bool) {
	if n.all == nil {
		n.all = prefixes.Names{}
		kept, err := n.read()
		if err != nil {
			n.err = err
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

func (n *storeNames) read() (kept prefixes.Names, err error) {
	r, err := n.open(n.e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return keptPrefixes(n.e.ctx, r)
}

// text returns the parser of arguments with these names.
func (n *storeNames) text() triple.Text { return triple.Text{Prefix: n.lookup} }

// cause returns the error of the store if a name could not be looked up, and else err.
func (n *storeNames) cause(err error) error {
	if err != nil && n.err != nil {
		return n.err
	}
	return err
}

// declared returns a SPARQL text with a line that declares the looked-up prefixes.
func (n *storeNames) declared(text string) string {
	line := ""
	for _, name := range slices.Sorted(maps.Keys(n.used)) {
		line += "PREFIX " + name + ": <" + n.used[name] + "> "
	}
	if line == "" {
		return text
	}
	return line + "\n" + text
}

// expand replaces prefixed names in a list of IRIs or other words. What has no known prefix stays.
func (n *storeNames) expand(words []string) error {
	for i, word := range words {
		name, local, ok := strings.Cut(word, ":")
		if !ok || name == "" || strings.HasPrefix(local, "//") || prefixes.Check(name, "urn:x") != nil {
			continue
		}
		if iri, ok := n.lookup(name); ok {
			words[i] = iri + local
		}
		if n.err != nil {
			return n.err
		}
	}
	return nil
}

// outputNames returns the prefixes for a document of a syntax: those that its query declares, and for Turtle
// and TriG those of the store.
func outputNames(e *env, store prefixStore, to syntax.Syntax, declared prefixes.Names) (prefixes.Names, error) {
	if to != syntax.Turtle && to != syntax.TriG {
		return declared, nil
	}
	kept, err := keptPrefixes(e.ctx, store)
	return kept.All().With(declared), err
}

// prologue returns the prefixes of a query's prologue that an output in Turtle can declare.
func prologue(declared []ast.Prefix) prefixes.Names {
	names := prefixes.Names{}
	for _, p := range declared {
		if prefixes.Check(p.Name, "urn:x") == nil || p.Name == "" {
			names[p.Name] = p.IRI
		}
	}
	return names
}

// keptPrefixes returns the prefixes of a store, without well-known ones.
func keptPrefixes(ctx context.Context, of prefixStore) (prefixes.Names, error) {
	p, err := of.Prefixes(ctx)
	return p.Kept, err
}

// keepPrefixes keeps the prefixes of documents, if they have some.
func keepPrefixes(ctx context.Context, in prefixStore, found prefixes.Names) error {
	if len(found) == 0 {
		return nil
	}
	return in.KeepPrefixes(ctx, found)
}
