// The store that a command works on, wherever it is.

package cli

import (
	"context"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// target is the store of a command: an opened data directory ([local]) or a server ([remote]). Both answer alike, so
// a command is written once. The methods with upper-case names are those of [client.Client] and its parts.
type target interface {
	triples
	changes
	queries
	prefixStore
	upkeep
	Close() error
}

// triples lists and counts triples.
type triples interface {
	match(context.Context, triple.Pattern, page) *listing
	bounded(context.Context, triple.Bounds, page) *listing
	count(ctx context.Context, p triple.Pattern, estimate bool) (n int64, exact bool, err error)
	// Annotations returns the annotations of a triple, with their versions.
	Annotations(context.Context, triple.Triple) ([]client.Annotation, error)
}

// changes changes triples and annotations.
type changes interface {
	Add(context.Context, []triple.Triple) (client.AddResult, error)
	// AddAnnotated adds triples and then sets their annotations.
	AddAnnotated(context.Context, []triple.Triple, [][]triple.ApplicationData) (client.AddResult, error)
	Delete(context.Context, []triple.Triple) (client.DeleteResult, error)
	DeleteMatch(context.Context, triple.Pattern) (client.DeleteResult, error)
	// AnnotateAll makes changes of annotations. A change that fails leaves the others as they are.
	AnnotateAll(context.Context, iter.Seq2[triple.AnnotationChange, error]) (client.AnnotateResult, error)
}

// queries runs SPARQL.
type queries interface {
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
	_ target = (*local)(nil)
	_ target = remote{}
)
