// Which links a list has that is replaced.

package ranges

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// eachTarget is edits.Targets: links of the default graph, which is what updates change.
// While a machine is away they come from copies, and it is tried again where that is in
// vain.
func (r *reader) eachTarget(ctx context.Context, src string, do func(dst string)) error {
	r.repeated = true
	for {
		targets, err := r.presentTargets(ctx, src)
		switch {
		case err == nil:
			for _, dst := range targets {
				do(dst)
			}
			return nil
		case !errors.Is(err, node.ErrUnavailable) || !r.again(ctx):
			return err
		}
	}
}

// presentTargets returns the targets of a page's links in the default graph. Copies do not
// tell those from links that are in named graphs only; to delete these changes nothing.
func (r *reader) presentTargets(ctx context.Context, src string) (targets []string, err error) {
	left, err := r.copiedTargets(ctx, links.Forward, []string{src}, func(_ int, end []byte) error {
		targets = append(targets, string(end))
		return nil
	})
	if err != nil || len(left) == 0 {
		return targets, err
	}
	err = r.lookOnce(ctx, []wanted{{r.graph.listRange(links.Forward, src), 0}}, func(_ int, row *row) error {
		page, _ := row.iri(triple.Subject)
		if end, ok := row.iri(triple.Object); ok && len(row.terms[triple.Graph]) == 0 && string(page) == src {
			targets = append(targets, string(end))
		}
		return nil
	})
	return targets, err
}
