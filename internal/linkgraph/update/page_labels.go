// Labels of pages: annotations of the triples of their UIDs.

package update

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// labelPages writes the labels of pages, and returns the other changes. The last label of a page
// counts.
func (w *Writer) labelPages(ctx context.Context, changes []links.Change, result *links.UpdateResult) ([]links.Change, error) {
	isLabel := func(c links.Change) bool { return c.Kind == links.LabelPage }
	if !slices.ContainsFunc(changes, isLabel) {
		return changes, nil
	}
	// Find the pages, and assign UIDs to those that get a label. A page without a UID has none to
	// lose.
	last := map[string]links.Label{}
	var urls, unknown []string
	for _, c := range changes {
		if isLabel(c) {
			if _, seen := last[c.Source]; !seen {
				urls = append(urls, c.Source)
			}
			last[c.Source] = c.Labels[0]
		}
	}
	uids, err := w.Reader.UIDs(ctx, urls)
	if err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	named := map[string]uid.UID{}
	for i, url := range urls {
		if named[url] = uids[i]; uids[i] == 0 && last[url] != cell.NoLabel {
			unknown = append(unknown, url)
		}
	}
	given, err := w.Assigner.Resolve(ctx, unknown, named)
	result.Pages += given
	if err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	var labels []edits.Labelled
	for _, url := range urls {
		if named[url] != 0 {
			labels = append(labels, edits.Labelled{Triple: links.UIDTriple(url, named[url]), Label: last[url]})
		}
	}
	if err := edits.WriteLabels(ctx, labels, w.annotate); err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(changes), isLabel), nil
}
