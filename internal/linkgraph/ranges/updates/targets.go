// Targets of a list that is replaced.

package updates

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// targetsOf returns edits.Targets that reads with r.
func (g *Updater) targetsOf(r *rowreader.Reader) edits.Targets {
	return func(ctx context.Context, src string, do func(dst string)) error {
		return g.forEachTarget(ctx, r, src, do)
	}
}

// forEachTarget is edits.Targets: the links of the default graph, because updates change only
// these. If a machine is down, they come from copies, and a failed read is retried.
func (g *Updater) forEachTarget(ctx context.Context, r *rowreader.Reader, src string, do func(dst string)) error {
	r.Retries = true
	for {
		targets, err := g.presentTargets(ctx, r, src)
		switch {
		case err == nil:
			for _, dst := range targets {
				do(dst)
			}
			return nil
		case !errors.Is(err, store.ErrUnavailable) || !r.WaitRetry(ctx):
			return err
		}
	}
}

// presentTargets returns the targets of a page's links in the default graph. Copies may add
// links that are in named graphs only. That is harmless, because to delete these changes
// nothing.
func (g *Updater) presentTargets(ctx context.Context, r *rowreader.Reader, src string) (targets []string, err error) {
	left, err := g.lists.CopiedTargets(ctx, r, links.Forward, []string{src}, func(_ int, end []byte) error {
		targets = append(targets, string(end))
		return nil
	})
	if err != nil || len(left) == 0 {
		return targets, err
	}
	err = r.LookUpLive(ctx, []linkkeys.Wanted{{Range: g.Keys.List(links.Forward, src), Item: 0}}, func(_ int, row *linkkeys.Row) error {
		page, _ := row.Iri(triple.Subject)
		if end, ok := row.Iri(triple.Object); ok && len(row.Terms[triple.Graph]) == 0 && string(page) == src {
			targets = append(targets, string(end))
		}
		return nil
	})
	return targets, err
}
