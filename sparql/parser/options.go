// The limits of a text.

package parser

import (
	"fmt"
	"math"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// Defaults of [Options].
const (
	DefaultMaxBytes  = 16 << 20
	DefaultMaxTokens = 2 << 20
	DefaultMaxDepth  = 500
	DefaultMaxNodes  = 100_000
)

// Options are the settings of the parser. The zero value has no base, no prefixes and the
// default limits.
type Options struct {
	// Base is the absolute base IRI; "" for none. BASE in the text goes before it.
	Base string
	// Prefixes are declared from the start; the text may declare them anew. They
	// are part of the tree's Prologue.
	Prefixes []ast.Prefix
	// Undeclared, if not nil, returns the IRI of a prefix that the text uses and does not declare; it
	// is an error if ok is false. SPARQL has no such prefixes: this is for commands that add them.
	Undeclared func(name string) (iri string, ok bool)

	MaxBytes  int // greatest text; 0 means DefaultMaxBytes
	MaxTokens int // greatest number of tokens; 0 means DefaultMaxTokens
	// MaxDepth is the greatest depth of groups, parentheses, lists and [ ] in one
	// another; 0 means DefaultMaxDepth.
	MaxDepth int
	// MaxNodes is the greatest number of patterns, parts of paths and expressions
	// together; triples of data and rows of VALUES do not count. No branch of a
	// tree is longer. 0 means DefaultMaxNodes.
	MaxNodes int

	// Check is called every few hundred tokens with the nodes so far, counted as for
	// MaxNodes; it may wait, and its error ends the parse. nil is none.
	Check func(nodes int) error
}

// Validate returns nil if the options can be used.
func (o Options) Validate() error {
	if o.Base != "" {
		if err := triple.CheckIRI(o.Base); err != nil {
			return fmt.Errorf("base: %w", err)
		}
	}
	for _, prefix := range o.Prefixes {
		if n, _ := prefixLen(prefix.Name); n != len(prefix.Name) {
			return fmt.Errorf("prefix %q is not a prefix of the grammar", prefix.Name)
		}
		if err := triple.CheckIRI(prefix.IRI); err != nil {
			return fmt.Errorf("prefix %s: %w", prefix.Name, err)
		}
	}
	if o.MaxBytes < 0 || o.MaxTokens < 0 || o.MaxDepth < 0 || o.MaxNodes < 0 {
		return fmt.Errorf("MaxBytes %d, MaxTokens %d, MaxDepth %d and MaxNodes %d must not be negative",
			o.MaxBytes, o.MaxTokens, o.MaxDepth, o.MaxNodes)
	}
	if o.MaxBytes > math.MaxInt32 {
		return fmt.Errorf("MaxBytes is %d, the greatest is %d", o.MaxBytes, math.MaxInt32)
	}
	return nil
}

func (o Options) withDefaults() Options {
	for _, limit := range []struct {
		value    *int
		standard int
	}{
		{&o.MaxBytes, DefaultMaxBytes},
		{&o.MaxTokens, DefaultMaxTokens},
		{&o.MaxDepth, DefaultMaxDepth},
		{&o.MaxNodes, DefaultMaxNodes},
	} {
		if *limit.value == 0 {
			*limit.value = limit.standard
		}
	}
	return o
}
