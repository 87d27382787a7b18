// What a server and a directory have in common.

package client

import (
	"context"
	"io"
	"iter"

	"github.com/trefoildb/trefoil/triple"
)

// Store is a store of triples, wherever it is: a [Client] is one on a server or a cluster, and a Store of
// package node one in a directory that this process has opened. So a program can be written once:
//
//	var db client.Store
//	if strings.Contains(where, "://") {
//		db, err = client.New(where, client.Options{})
//	} else {
//		db, err = node.Open(where, node.Options{})
//	}
//
// The methods return the same answers. Their errors match the same variables of this package, such as
// [ErrSyntax] and [ErrNotFound], and those of package triple; only a server returns an [*Error]. A closed
// directory returns [ErrUnavailable]. Some promises differ, because a request has a size and a way to go:
//
//   - A directory makes each Add and Delete as a whole; [Client.Add] may send several requests.
//   - A read of a directory sees one moment. Match and Range of a server see one moment in each page.
//   - An update is atomic, except in a cluster: see [UpdateResult].
//   - A cursor is valid in the store that returned it.
type Store interface {
	Reader
	Counter
	Writer
	Querier
	// Status returns the status of the store, or of its cluster.
	Status(context.Context) (Status, error)
	// Backup writes a full backup: a tar archive for trefoil restore. If it fails, the bytes in w must not be used.
	Backup(ctx context.Context, w io.Writer) error
	// Close ends the use of the store. All loops over its iterators must have ended.
	Close() error
}

// Reader lists triples. A zero term of a pattern matches any term. An error ends an iterator.
type Reader interface {
	Match(context.Context, triple.Pattern) iter.Seq2[triple.Triple, error]
	Range(context.Context, triple.Bounds, RangeOptions) iter.Seq2[triple.Triple, error]
	// A page may hold fewer triples than its limit although more follow; only Next marks the end.
	MatchPage(context.Context, triple.Pattern, PageOptions) (Page, error)
	RangePage(context.Context, triple.Bounds, PageOptions) (Page, error)
}

// Counter counts triples.
type Counter interface {
	Count(context.Context, triple.Pattern) (int64, error)
	// Estimate returns about the count, faster. exact reports whether n is the count.
	Estimate(context.Context, triple.Pattern) (n int64, exact bool, err error)
}

// Writer adds and deletes triples, durably when a method returns. A zero Graph is the default graph.
type Writer interface {
	Add(context.Context, []triple.Triple) (AddResult, error)
	Delete(context.Context, []triple.Triple) (DeleteResult, error)
	// DeleteMatch deletes all triples that match a pattern, which must have a term or the default graph.
	DeleteMatch(context.Context, triple.Pattern) (DeleteResult, error)
	// Update makes a SPARQL update.
	Update(ctx context.Context, update string, o QueryOptions) (UpdateResult, error)
}

// Querier runs queries of SPARQL. A query of another form than the method's is [ErrNotAcceptable].
type Querier interface {
	Query(ctx context.Context, query string, o QueryOptions) iter.Seq2[Solution, error]
	Ask(ctx context.Context, query string, o QueryOptions) (bool, error)
	// Construct runs a CONSTRUCT or DESCRIBE. A triple may come more than once.
	Construct(ctx context.Context, query string, o QueryOptions) iter.Seq2[triple.Triple, error]
	// Explain returns the plan of a query. If run is set, the query first runs to its end.
	Explain(ctx context.Context, query string, run bool, o QueryOptions) (Explanation, error)
}

// AnnotationStore is the annotations of a [Store]: the field Annotations of a [Client] and of a Store of
// package node. [Annotations] says what each method does.
type AnnotationStore interface {
	List(context.Context, triple.Triple) ([]Annotation, error)
	Set(context.Context, triple.Triple, Annotation, AnnotationCondition) (version string, err error)
	Remove(ctx context.Context, t triple.Triple, applicationID string, when AnnotationCondition) error
	Change(context.Context, iter.Seq2[triple.AnnotationChange, error]) (AnnotateResult, error)
	AddTriples(context.Context, []triple.Triple, [][]triple.ApplicationData) (AddResult, error)
}

// PrefixStore is the prefixes of a [Store]: the field Prefixes of a [Client] and of a Store of package
// node. [Prefixes] says what each method does.
type PrefixStore interface {
	List(context.Context) (PrefixList, error)
	Set(ctx context.Context, name, iri string) error
	Keep(ctx context.Context, prefixes map[string]string) error
	Remove(ctx context.Context, name string) error
}

var (
	_ Store           = (*Client)(nil)
	_ AnnotationStore = (*Annotations)(nil)
	_ PrefixStore     = (*Prefixes)(nil)
)
