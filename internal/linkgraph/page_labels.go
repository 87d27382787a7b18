// Labels of pages: annotations of the triples of their UIDs.

package linkgraph

import (
	"context"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// pageLabelsAtOnce is the number of labels of pages that are read concurrently. In a cluster each
// is a message.
const pageLabelsAtOnce = 64

// labelPages writes the labels of pages, and returns the other changes. The last label of a page
// counts.
func (w *writer) labelPages(ctx context.Context, changes []links.Change, result *links.UpdateResult) ([]links.Change, error) {
	isLabel := func(c links.Change) bool { return c.Kind == links.LabelPage }
	if !slices.ContainsFunc(changes, isLabel) {
		return changes, nil
	}
	// 1. Find the pages, and assign UIDs to those that get a label. A page without a UID has none to
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
	uids, err := w.reader.UIDs(ctx, urls)
	if err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	named := map[string]uid.UID{}
	for i, url := range urls {
		if named[url] = uids[i]; uids[i] == 0 && last[url] != cell.NoLabel {
			unknown = append(unknown, url)
		}
	}
	given, err := w.assigner.resolve(ctx, unknown, named)
	result.Pages += given
	if err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	f, err := w.forms.form(ctx)
	if err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	// 2. Write the labels.
	var labels []edits.Labelled
	for _, url := range urls {
		if named[url] != 0 {
			labels = append(labels, edits.Labelled{Triple: f.uidTriple(url, named[url]), Label: last[url]})
		}
	}
	if err := edits.Note(ctx, labels, w.annotate); err != nil {
		return nil, fmt.Errorf("label pages: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(changes), isLabel), nil
}

// PageLabels implements links.Graph. The labels are in the rows of the store, and in no cell.
func (rd *reader) PageLabels(ctx context.Context, pages []uid.UID) ([]links.Label, error) {
	urls, err := rd.URLs(ctx, pages)
	if err != nil {
		return nil, err
	}
	labels := make([]links.Label, len(pages))
	err = edits.Each(ctx, len(pages), pageLabelsAtOnce, func(i int) error {
		labels[i] = cell.NoLabel
		if urls[i] == "" {
			return nil
		}
		label, err := rd.pageLabel(ctx, urls[i], pages[i])
		if err == nil && label != nil {
			labels[i], err = decodeLabel(label)
		}
		if err != nil {
			return fmt.Errorf("the label of page %s: %w", pages[i], err)
		}
		return nil
	})
	return labels, err
}

// pageLabel returns the label of a page as bytes, nil if it has none. It retries while a machine of
// the cluster is down.
func (rd *reader) pageLabel(ctx context.Context, url string, u uid.UID) ([]byte, error) {
	read := func() ([]byte, error) {
		r, err := rd.node.Reader()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		f, err := rd.forms.form(ctx)
		if err != nil {
			return nil, err
		}
		a, err := r.Annotation(ctx, f.uidTriple(url, u), application)
		if err != nil || a == nil {
			return nil, err
		}
		return a.Data, nil
	}
	// All tries are one wait, because none of them is progress.
	waiting, cancel := rd.bound(ctx)
	defer cancel()
	for tries := 1; ; tries++ {
		label, err := read()
		if err == nil || rd.node.Lone() != nil || !mayPass(err) {
			return label, err
		}
		if err := rd.router.waitRetry(waiting, tries, err); err != nil {
			return nil, err
		}
	}
}
