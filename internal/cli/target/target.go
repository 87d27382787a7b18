// Package target is the store that a command works on, wherever it is: a directory that the command opens, or a
// server. [StoreFlags] choose it, [Store] is the face of both. The package also has what arguments name in a store:
// patterns, bounds and prefixes.
package target

import (
	"context"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// Store is the store of a command: an opened data directory ([local]) or a server ([remote]). Both answer alike, so
// a command is written once. The methods with upper-case names are those of [client.Client] and its parts.
type Store interface {
	Triples
	Changes
	Queries
	prefixStore
	upkeep
	Close() error
}

// Triples lists and counts triples.
type Triples interface {
	Match(context.Context, triple.Pattern, Page) *Listing
	Range(context.Context, triple.Bounds, Page) *Listing
	Count(ctx context.Context, p triple.Pattern, estimate bool) (n int64, exact bool, err error)
	// Annotations returns the annotations of a triple, with their versions.
	Annotations(context.Context, triple.Triple) ([]client.Annotation, error)
}

// Changes changes triples and annotations.
type Changes interface {
	Add(context.Context, []triple.Triple) (client.AddResult, error)
	// AddAnnotated adds triples and then sets their annotations.
	AddAnnotated(context.Context, []triple.Triple, [][]triple.ApplicationData) (client.AddResult, error)
	Delete(context.Context, []triple.Triple) (client.DeleteResult, error)
	DeleteMatch(context.Context, triple.Pattern) (client.DeleteResult, error)
	// AnnotateAll makes changes of annotations. A change that fails leaves the others as they are.
	AnnotateAll(context.Context, iter.Seq2[triple.AnnotationChange, error]) (client.AnnotateResult, error)
}

// Queries runs SPARQL.
type Queries interface {
	Query(ctx context.Context, query string, o client.QueryOptions) iter.Seq2[client.Solution, error]
	Ask(ctx context.Context, query string, o client.QueryOptions) (bool, error)
	Construct(ctx context.Context, query string, o client.QueryOptions) iter.Seq2[triple.Triple, error]
	Explain(ctx context.Context, query string, run bool, o client.QueryOptions) (client.Explanation, error)
	Update(ctx context.Context, update string, o client.QueryOptions) (client.UpdateResult, error)
}

// prefixStore has the prefixes of a store.
type prefixStore interface {
	// Prefixes may leave out the well-known ones.
	Prefixes(context.Context) (client.PrefixList, error)
	SetPrefix(ctx context.Context, name, iri string) error
	// KeepPrefixes adds prefixes of documents. Names that the store has keep their IRIs.
	KeepPrefixes(ctx context.Context, found map[string]string) error
	RemovePrefix(ctx context.Context, name string) error
}

// upkeep shows, verifies and copies a store as a whole.
type upkeep interface {
	Status(context.Context) (client.Status, error)
	Check(context.Context) (client.CheckReport, error)
	Backup(context.Context, io.Writer) error
	BackupSince(ctx context.Context, w io.Writer, since string) error
}

var (
	_ Store = (*local)(nil)
	_ Store = remote{}
)
