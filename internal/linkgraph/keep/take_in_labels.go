// Labels of links that are added although they exist.

package keep

import (
	"context"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/uid"
)

// findLabels finds the labels of links that are added although they exist. The feed has such an add
// if a link is added in another graph too, or while a machine is lost and its successor does not have
// the link yet. Its label stays, unless the link was deleted in between: so the store is read.
func (a *applier) findLabels(ctx context.Context, changes []change, urls []string) error {
	// 1. Group the adds by source, because a list is read once.
	adds := map[int][]int{}
	for i, c := range changes {
		src := &a.pages[c.src]
		if c.Kind == feed.Add && src.part >= 0 && src.uid != 0 && !src.added && a.parts[src.part].MayHaveLabels(a.views[src.part]) {
			adds[c.src] = append(adds[c.src], i)
		}
	}
	// 2. Find those of existing links with labels.
	var list []uid.UID
	var labels []cell.Label
	for src, of := range adds {
		if err := a.use(a.pages[src].part, cell.ForwardStore); err != nil {
			return err
		}
		v, u := a.views[a.pages[src].part], a.pages[src].uid
		list = v.AppendLinks(list[:0], cell.Forward, u)
		labels = labels[:0]
		for _, i := range of {
			k, ok := slices.BinarySearch(list, a.pages[changes[i].Dst].uid)
			if !ok {
				continue
			}
			if len(labels) == 0 {
				labels = v.AppendLabels(labels, u)
			}
			if k >= len(labels) || labels[k] == cell.NoLabel {
				continue
			}
			label, err := a.labelOf(ctx, urls[src], urls[changes[i].Dst], labels[k])
			if err != nil {
				return err
			}
			if a.labels == nil {
				a.labels = map[int]cell.Label{}
			}
			a.labels[i] = label
		}
	}
	return nil
}

// labelOf returns the label of a link in the store, or the known one if nobody can tell.
func (a *applier) labelOf(ctx context.Context, src, dst string, known cell.Label) (cell.Label, error) {
	r, err := a.Node.Reader()
	if err != nil {
		return known, err
	}
	defer r.Close()
	annotation, err := r.Annotation(ctx, links.Link(a.Options.Predicate, src, dst), links.Application)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return known, nil
	case err != nil:
		return known, err
	case annotation == nil:
		return cell.NoLabel, nil
	}
	return lists.DecodeLabel(annotation.Data)
}
