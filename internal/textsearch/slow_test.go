// Tests of searches that take too long, in virtual time.

package textsearch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/bubble"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// silent is a reader whose rows do not come before the context ends.
type silent struct{ store.Reader }

func (silent) Source() sparql.Source { return silentSource{} }
func (silent) Close() error          { return nil }

type silentSource struct{ sparql.Source }

func (silentSource) Scan(ctx context.Context, _ triple.Range, _ bool) (sparql.Rows, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silentSource) Lookup(ctx context.Context, _ []triple.Range, _ func(int, []byte, []byte) error) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestTooSlow: a search that takes longer than it may is ErrTooSlow with the remedy; one whose client has left is not.
func TestTooSlow(t *testing.T) {
	reader := func() (store.Reader, error) { return silent{}, nil }
	for name, c := range map[string]struct {
		limit  time.Duration
		remedy string
		search func(ctx context.Context, x *Index) error
	}{
		"index": {searchTimeout, "name a predicate", func(ctx context.Context, x *Index) error {
			// No analyzer is there in time.
			x.analyzers.New = func() any {
				time.Sleep(searchTimeout + time.Second)
				return textindex.NewAnalyzer()
			}
			_, err := x.Search(ctx, Request{Query: "graph"})
			return err
		}},
		"scan": {scanTimeout, "trefoil text add", func(ctx context.Context, x *Index) error {
			_, err := x.Search(ctx, Request{Query: "graph", Predicates: []string{"x:other"}, Scan: true, Reader: reader})
			return err
		}},
		"rows": {searchTimeout, "name a predicate", func(ctx context.Context, x *Index) error {
			s, err := x.Search(ctx, Request{Query: "graph", Reader: reader})
			if err == nil {
				_, err = s.Next(ctx, 1)
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				db, err := store.Open(t.TempDir(), store.Options{})
				require.NoError(t, err)
				x, err := Open(db, Options{Dir: t.TempDir()})
				require.NoError(t, err)
				if _, err := store.Add(t.Context(), db, []triple.Triple{labelled("a", "graph")}); err != nil {
					t.Fatal(err)
				}
				require.NoError(t, errors.Join(x.Add(t.Context(), label), x.Await(t.Context())))
				began := time.Now()
				if err := c.search(t.Context(), x); !errors.Is(err, ErrTooSlow) || !strings.Contains(err.Error(), c.remedy) || time.Since(began) < c.limit {
					t.Errorf("after %s: %v", time.Since(began), err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.limit/2)
				defer cancel()
				if err := c.search(ctx, x); name != "index" && (!errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrTooSlow)) {
					t.Errorf("the client has left: %v", err)
				}
				if err := errors.Join(x.Close(), db.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
