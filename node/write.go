// Changes of a store: single triples, patterns and bulk loads.

package node

import (
	"context"
	"fmt"
	"io"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// AddResult and DeleteResult count the triples of a change.
type (
	AddResult    = client.AddResult
	DeleteResult = client.DeleteResult
)

// Add adds triples, all or none. A triple with a zero Graph is in the default graph.
func (s *Store) Add(ctx context.Context, triples []triple.Triple) (AddResult, error) {
	r, err := store.Add(ctx, s.db, triples)
	return AddResult{Added: r.Added, Existing: r.Existing}, failed(err)
}

// Delete deletes triples, all or none.
func (s *Store) Delete(ctx context.Context, triples []triple.Triple) (DeleteResult, error) {
	r, err := store.Delete(ctx, s.db, triples)
	return DeleteResult{Deleted: r.Deleted, Missing: r.Missing}, failed(err)
}

// DeleteMatch deletes all triples that match p. p must have a term, a graph or the default graph, because a
// zero pattern is a likely mistake.
func (s *Store) DeleteMatch(ctx context.Context, p triple.Pattern) (DeleteResult, error) {
	if p == (triple.Pattern{}) {
		return DeleteResult{}, failed(fmt.Errorf("%w: the pattern matches every triple: name a term or a graph", store.ErrInvalid))
	}
	if err := p.Check(); err != nil {
		return DeleteResult{}, failed(err)
	}
	r, err := store.DeleteMatch(ctx, s.db, p)
	return DeleteResult{Deleted: r.Deleted, Missing: r.Missing}, failed(err)
}

// LoadFiles loads files in bulk: all of their triples, or none if there is an error. A
// name may be a directory, a pattern with *, or "-" for standard input. A file may be
// compressed by gzip, bzip2, zstd or xz; its extension or its content gives its syntax.
// Files of a directory without such an extension are left out, with a warning.
func (s *Store) LoadFiles(ctx context.Context, names ...string) (rdfload.Summary, error) {
	sources, skipped, err := input.List(names, input.RDF)
	if err != nil {
		return rdfload.Summary{}, fmt.Errorf("load: %w", err)
	}
	summary, err := s.Load(ctx, sources, rdfload.Options{})
	if warning := skipped.Warning(input.RDF); warning != "" {
		summary.Warnings = append(summary.Warnings, warning)
	}
	return summary, err
}

// LoadReader loads the document that r yields in bulk, as LoadFiles loads a file of that
// name.
func (s *Store) LoadReader(ctx context.Context, name string, r io.Reader) (rdfload.Summary, error) {
	source := input.Document(name, r, -1, syntax.Syntax(0))
	return s.Load(ctx, []input.Source{source}, rdfload.Options{})
}

// Load loads documents in bulk with all options of package rdfload.
func (s *Store) Load(ctx context.Context, sources []input.Source, o rdfload.Options) (rdfload.Summary, error) {
	if o.Memory == 0 && s.options.Memory > 0 {
		o.Memory = max(s.options.shares().Load, rdfload.MinMemory)
	}
	if o.Contexts == nil {
		o.Contexts = s.contexts.Context
	}
	return rdfload.Load(ctx, s.db.Sink(), sources, o)
}
