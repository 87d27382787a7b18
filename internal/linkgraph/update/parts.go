// Changes of very many links: they are made in parts, so that memory and messages are bounded.

package update

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/internal/linkgraph/edits"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// ChangedLinks is about the number of links in one change of the store. Their URLs and labels have
// about Options.MessageBytes, because the change may be a message to another machine.
const ChangedLinks = 20_000

// prefix returns the number of targets of a change, from the first one on, that fit into a change of
// the store in which links and size are in use already. It returns what they need as well.
func (w *Writer) prefix(c *links.Change, inUse, size int) (n, bytes int) {
	bytes = len(c.Source)
	for n < len(c.Targets) && inUse+n < ChangedLinks {
		more := len(c.Targets[n])
		if c.Labels != nil {
			more += len(c.Labels[n].Anchor)
		}
		if size+bytes+more > w.Options.MessageBytes && n+inUse > 0 {
			break
		}
		bytes += more
		n++
	}
	return n, bytes
}

// fittingPrefix returns the number of changes, from the first one on, that fit into one change of the
// store; 0 if the first one alone does not.
func (w *Writer) fittingPrefix(changes []links.Change) (n int) {
	for total, size := 0, 0; n < len(changes); n++ {
		fits, bytes := w.prefix(&changes[n], total, size)
		if fits < len(changes[n].Targets) || n > 0 && size+bytes > w.Options.MessageBytes {
			break
		}
		total, size = total+fits, size+bytes
	}
	return n
}

// partsOf yields the parts of a change of very many links.
func (w *Writer) partsOf(c *links.Change) iter.Seq[links.Change] {
	return func(yield func(links.Change) bool) {
		for rest := *c; len(rest.Targets) > 0; {
			n, _ := w.prefix(&rest, 0, 0)
			part := links.Change{Kind: c.Kind, Source: c.Source, Targets: rest.Targets[:n]}
			rest.Targets = rest.Targets[n:]
			if c.Labels != nil {
				part.Labels, rest.Labels = rest.Labels[:n], rest.Labels[n:]
			}
			if !yield(part) {
				return
			}
		}
	}
}

// errLongLists reports that the lists to be replaced are too long for one change of the store.
var errLongLists = fmt.Errorf("lists to be replaced have more than %d links", 2*ChangedLinks)

// changeParts makes changes that depend on the present links, in parts if these links are very many.
func (w *Writer) changeParts(ctx context.Context, changes []links.Change, labels *[]edits.Labelled, done *store.Result) error {
	for {
		// 1. Try them all at once.
		some, result, err := w.changeOnce(ctx, changes)
		done.Added += result.Added
		done.Deleted += result.Deleted
		if !errors.Is(err, errLongLists) {
			*labels = append(*labels, some...)
			return err
		}
		// 2. Make one half after the other, because each change may be made alone.
		if half := len(changes) / 2; half > 0 {
			if err := w.changeParts(ctx, changes[:half], labels, done); err != nil {
				return err
			}
			changes = changes[half:]
			continue
		}
		// 3. Shorten a long list: afterwards it can only be long again by adds.
		if err := w.shorten(ctx, &changes[0], done); err != nil {
			return err
		}
	}
}

// shorten deletes the links of a page that a replacement of its list does not name, in parts.
func (w *Writer) shorten(ctx context.Context, c *links.Change, done *store.Result) error {
	return w.deleteOthers(ctx, c, func(gone []string) error {
		list := make([]triple.Triple, len(gone))
		for i, dst := range gone {
			list[i] = links.Link(w.Options.Predicate, c.Source, dst)
		}
		some, err := store.Apply(ctx, w.Node, store.Steps{Delete: slices.Values(list)})
		done.Deleted += some.Deleted
		return err
	})
}

// deleteOthers calls del with the targets of a page that a replacement of its list does not name, some
// at a time.
func (w *Writer) deleteOthers(ctx context.Context, c *links.Change, del func(gone []string) error) error {
	// 1. List what stays.
	kept := make(map[string]bool, len(c.Targets))
	for _, target := range c.Targets {
		kept[target] = true
	}
	sn, err := w.Node.Reader()
	if err != nil {
		return err
	}
	defer sn.Close()
	// 2. Pass on the others as they are read.
	var gone []string
	size := 0
	err = w.eachTarget(ctx, sn, c.Source, func(dst string) error {
		if kept[dst] {
			return nil
		}
		gone, size = append(gone, dst), size+len(dst)
		if len(gone) < ChangedLinks && size < w.Options.MessageBytes {
			return nil
		}
		err := del(gone)
		gone, size = gone[:0], 0
		return err
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return del(gone)
}
