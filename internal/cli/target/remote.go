// A server as the store of a command: calls through package client, and uploads.

package target

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"syscall"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/triple"
)

// remote is a server as the store of a command: a client and its parts.
type remote struct{ *client.Client }

func (r remote) Match(ctx context.Context, p triple.Pattern, page Page) *Listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return r.MatchPage(ctx, p, o) })
}

func (r remote) Range(ctx context.Context, b triple.Bounds, page Page) *Listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return r.RangePage(ctx, b, o) })
}

// pages makes a listing of the server's pages. They may be shorter than the limit.
func pages(page Page, fetch func(client.PageOptions) (client.Page, error)) *Listing {
	list := &Listing{}
	list.Items = func(yield func(Item, error) bool) {
		// 1. Fetch a page. Only a cursor of the user's can be wrong.
		given, cursor, offset := int64(0), page.Cursor, page.Offset
		for {
			limit := 0 // the client's page size
			if page.Limit > 0 {
				limit = int(page.Limit - given)
			}
			got, err := fetch(client.PageOptions{Limit: limit, Cursor: cursor, Offset: offset, Reverse: page.Reverse, Annotations: page.Annotations})
			if err != nil {
				if errors.Is(err, client.ErrBadCursor) && cursor == page.Cursor {
					err = console.Usagef("--cursor: %w", err)
				}
				yield(nil, err)
				return
			}
			// 2. Yield its triples, and stop at the limit.
			for i, t := range got.Triples {
				it := Statement{Triple: t}
				if page.Annotations {
					it.Attached = got.Annotations[i]
				}
				if !yield(it, nil) {
					return
				}
			}
			offset = 0 // the next page's cursor is behind the skipped triples
			given += int64(len(got.Triples))
			if cursor = got.Next; cursor == "" {
				return
			}
			if page.Limit > 0 && given >= page.Limit {
				list.Next = cursor
				return
			}
		}
	}
	return list
}

func (r remote) Count(ctx context.Context, p triple.Pattern, estimate bool) (int64, bool, error) {
	if estimate {
		return r.Client.Estimate(ctx, p)
	}
	n, err := r.Client.Count(ctx, p)
	return n, true, err
}

// Annotations implements [triples].
func (r remote) Annotations(ctx context.Context, t triple.Triple) ([]client.Annotation, error) {
	return r.Client.Annotations.List(ctx, t)
}

// AddAnnotated implements [changes].
func (r remote) AddAnnotated(ctx context.Context, all []triple.Triple, annotations [][]triple.ApplicationData) (client.AddResult, error) {
	return r.Client.Annotations.AddTriples(ctx, all, annotations)
}

// AnnotateAll implements [changes].
func (r remote) AnnotateAll(ctx context.Context, changes iter.Seq2[triple.AnnotationChange, error]) (client.AnnotateResult, error) {
	return r.Client.Annotations.Change(ctx, changes)
}

// Explain implements [queries].
func (r remote) Explain(ctx context.Context, query string, run bool, o client.QueryOptions) (client.Explanation, error) {
	return r.SPARQL.Explain(ctx, query, run, o)
}

// Prefixes implements [prefixStore].
func (r remote) Prefixes(ctx context.Context) (client.PrefixList, error) {
	return r.Client.Prefixes.List(ctx)
}

// SetPrefix implements [prefixStore].
func (r remote) SetPrefix(ctx context.Context, name, iri string) error {
	return r.Client.Prefixes.Set(ctx, name, iri)
}

// KeepPrefixes implements [prefixStore].
func (r remote) KeepPrefixes(ctx context.Context, found map[string]string) error {
	return r.Client.Prefixes.Keep(ctx, found)
}

// RemovePrefix implements [prefixStore].
func (r remote) RemovePrefix(ctx context.Context, name string) error {
	return r.Client.Prefixes.Remove(ctx, name)
}

// Check implements [upkeep].
func (r remote) Check(ctx context.Context) (client.CheckReport, error) { return r.Admin.Check(ctx) }

// BackupSince implements [upkeep].
func (r remote) BackupSince(ctx context.Context, w io.Writer, since string) error {
	return r.Admin.BackupSince(ctx, w, since)
}

// Status is the status of a store, in this process or of a server.
type Status = client.Status

// Hint returns a hint for a server's error; "" if there is none.
func Hint(err error) string {
	var unknown x509.UnknownAuthorityError
	var request *url.Error // the end of a file is none of a connection
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("Give the certificate of its authority, ca.crt, with --ca F, or in $%s.", EnvCA)
	case errors.As(err, &request) && (errors.Is(request, io.EOF) || errors.Is(request, syscall.ECONNRESET)):
		return "The server hung up. If it speaks TLS, its address begins with https://."
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Sprintf("Give the server's token with --token-file F, or in $%s.", EnvToken)
	case errors.Is(err, client.ErrUnknownOutcome):
		return "The change may be done, now or later. Read the data before you repeat it: if others change the same triples, repeating it could undo that."
	case errors.Is(err, client.ErrLost):
		return "All machines that held some of it died; trefoil cluster status names the ranges."
	case errors.Is(err, client.ErrQueryTimeout):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-timeout."
	case errors.Is(err, client.ErrQueryLimit):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-memory."
	}
	return ""
}
