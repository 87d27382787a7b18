package cli

// This file is the door to a server: the Go client.

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// remote asks a server.
type remote struct{ client *client.Client }

// connect returns the client of the server that the flags and the environment
// name.
func (s *server) connect(e *env) (*remote, error) { return s.dial(e, client.Options{}) }

// dial is connect with options, which get the server's token and authority. Of a
// degraded answer it tells once.
func (s *server) dial(e *env, options client.Options) (*remote, error) {
	var err error
	if options.Token, err = s.token(); err != nil {
		return nil, err
	}
	if options.RootCAs, err = s.roots(); err != nil {
		return nil, err
	}
	var once sync.Once
	options.Degraded = func(string) {
		once.Do(func() {
			e.sayf("degraded: machines of the cluster are away, and other copies stand in for theirs; the answer is complete. " +
				"See trefoil cluster status")
		})
	}
	c, err := client.New(s.url(), options)
	if err != nil {
		return nil, usageError{err}
	}
	return &remote{c}, nil
}

func (r *remote) Close() error { return r.client.Close() }

func (r *remote) match(ctx context.Context, p triple.Pattern, page page) *listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return r.client.MatchPage(ctx, p, o) })
}

func (r *remote) bounded(ctx context.Context, b triple.Bounds, page page) *listing {
	return pages(page, func(o client.PageOptions) (client.Page, error) { return r.client.RangePage(ctx, b, o) })
}

// pages makes a listing of the server's pages, which may be shorter than asked.
func pages(page page, fetch func(client.PageOptions) (client.Page, error)) *listing {
	list := &listing{}
	list.items = func(yield func(item, error) bool) {
		given, cursor := int64(0), page.cursor
		for {
			limit := 0 // as many as the client asks for at a time
			if page.limit > 0 {
				limit = int(page.limit - given)
			}
			got, err := fetch(client.PageOptions{Limit: limit, Cursor: cursor, Reverse: page.reverse, Annotations: page.annotations})
			if err != nil {
				if errors.Is(err, client.ErrBadCursor) && cursor == page.cursor {
					err = usagef("--cursor: %w", err)
				}
				yield(nil, err)
				return
			}
			for i, t := range got.Triples {
				it := remoteItem{Triple: t}
				if page.annotations {
					it.noted = got.Annotations[i]
				}
				if !yield(it, nil) {
					return
				}
			}
			given += int64(len(got.Triples))
			if cursor = got.Next; cursor == "" {
				return
			}
			if page.limit > 0 && given >= page.limit {
				list.next = cursor
				return
			}
		}
	}
	return list
}

// remoteItem is a triple that a server gave.
type remoteItem struct {
	triple.Triple
	noted []triple.ApplicationData
}

func (i remoteItem) appendNQuad(dst []byte) ([]byte, error) {
	return triple.AppendNQuad(dst, i.Triple), nil
}

func (i remoteItem) annotations() []triple.ApplicationData { return i.noted }

func (i remoteItem) triple() (triple.Triple, error) { return i.Triple, nil }

func (r *remote) count(ctx context.Context, p triple.Pattern, estimate bool) (int64, bool, error) {
	if estimate {
		return r.client.Estimate(ctx, p)
	}
	n, err := r.client.Count(ctx, p)
	return n, true, err
}

func (r *remote) status(ctx context.Context) (status, error) { return r.client.Status(ctx) }

func (r *remote) add(ctx context.Context, batch []statement) (added, existing int64, err error) {
	annotations, some := make([][]triple.ApplicationData, len(batch)), false
	for i, s := range batch {
		annotations[i] = s.annotations
		some = some || len(s.annotations) > 0
	}
	var result client.AddResult
	if some {
		result, err = r.client.AddAnnotated(ctx, triplesOf(batch), annotations)
	} else {
		result, err = r.client.Add(ctx, triplesOf(batch))
	}
	return result.Added, result.Existing, err
}

func (r *remote) delete(ctx context.Context, triples []triple.Triple) (deleted, missing int64, err error) {
	result, err := r.client.Delete(ctx, triples)
	return result.Deleted, result.Missing, err
}

func (r *remote) deleteMatch(ctx context.Context, p triple.Pattern) (deleted int64, err error) {
	result, err := r.client.DeleteMatch(ctx, p)
	return result.Deleted, err
}

// status is what a store says of itself, wherever it is.
type status = client.Status

// hintForRemote says what to do about a server's answer.
func hintForRemote(err error) string {
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("Give the certificate of its authority, ca.crt, with --ca F, or in $%s.", envCA)
	case errors.Is(err, io.EOF):
		return "The server hung up. If it speaks TLS, its address begins with https://."
	case errors.Is(err, client.ErrUnauthorized):
		return fmt.Sprintf("Give the server's token with --token-file F, or in $%s.", envToken)
	case errors.Is(err, client.ErrUnknownOutcome):
		return "The change may be done. It can be repeated: adding or deleting twice is the same as once."
	case errors.Is(err, client.ErrLost):
		return "All machines that held some of it died; trefoil cluster status names the ranges."
	case errors.Is(err, client.ErrQueryTimeout):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-timeout."
	case errors.Is(err, client.ErrQueryLimit):
		return "Look at its plan with --explain; the server's limit is trefoil serve --query-memory."
	}
	return ""
}
