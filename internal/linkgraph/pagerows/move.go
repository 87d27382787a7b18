// Moving the triples of UIDs and hosts of earlier releases into the system graph.

package pagerows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

var SystemGraph = systemgraph.Graph

// Forms has the form of UIDs in the store, and moves UIDs from the earlier form (form.go) into the system graph.
//
// A mark in the store says that UIDs are in the system graph. Without it, a lone node and a cluster
// whose machines all have this release move the UIDs, and write it; until then they write and read
// the earlier form, because machines of earlier releases know no other. With the mark, triples of
// the earlier form are an application's own.
//
//	form: mark? ---------------------------------> the system graph
//	      no mark, a machine of an earlier release -> the earlier form
//	      no mark, none: fence; add new rows, then delete old ones; mark -> the system graph
//
// No UID is lost: the fence waits until the writes of earlier epochs are committed, the writes of
// UIDs are fenced (see package assign), and in this epoch each machine calls Form before it reads or writes UIDs. Two
// machines may move at the same time, because both write the same rows.
type Forms struct {
	*machine.Machine
	lock machine.Lock
	// moved is set if this process found the mark or moved the UIDs; lone, if it moved them without
	// a mark, as of a store without UIDs. Then it holds until the node joins a cluster.
	moved, lone, marked atomic.Bool
}

// NewForms returns forms that have read nothing.
func NewForms(m *machine.Machine) *Forms { return &Forms{Machine: m, lock: machine.NewLock()} }

// MovedAtOnce is the number of pages in one change.
var MovedAtOnce = 10_000

// MayBeEarlier reports whether UIDs may have the earlier form now.
func (fs *Forms) MayBeEarlier() bool {
	return !fs.moved.Load() && fs.Node.Lone() == nil && fs.Node.View() == nil
}

// Form returns the form of UIDs in the store. It moves them first if it must.
func (fs *Forms) Form(ctx context.Context) (Form, error) {
	known := func() bool {
		return fs.moved.Load() || fs.lone.Load() && fs.Node.Lone() != nil
	}
	if known() {
		return Form{}, nil
	}
	unlock, err := fs.lock.Lock(ctx)
	if err != nil {
		return Form{}, err
	}
	defer unlock()
	if known() {
		return Form{}, nil
	}
	// 1. The mark decides, because a store of this release may join machines of an earlier one.
	v := fs.Node.View()
	marked, err := fs.readMark(ctx)
	switch {
	case err != nil:
		return Form{}, err
	case marked:
		fs.marked.Store(true)
		fs.moved.Store(true)
		return Form{}, nil
	case fs.Node.Lone() != nil:
	case v == nil:
		return Form{}, machine.ErrNoView
	}
	// 2. Move. A store without UIDs gets its mark with the first one.
	n, err := fs.move(ctx, v)
	if err == nil && n > 0 {
		fs.Log.Info("UIDs were moved into the system graph", "pages", n)
		err = fs.MarkMoved(ctx, Form{})
	}
	if err != nil {
		return Form{}, fmt.Errorf("move the UIDs of an earlier release: %w", err)
	}
	if v == nil {
		fs.lone.Store(true)
	} else {
		fs.moved.Store(true)
	}
	return Form{}, nil
}

// Reconsider makes the next call of form look for UIDs of the earlier form again, unless the store is known to have the
// mark. It is for a backup of an earlier release that is restored into a running store without UIDs.
func (fs *Forms) Reconsider() {
	if !fs.marked.Load() {
		fs.moved.Store(false)
		fs.lone.Store(false)
	}
}

// Forget makes the next call of form read the mark again.
func (fs *Forms) Forget() {
	fs.marked.Store(false)
	fs.Reconsider()
}

// readMark reports whether the store has the mark.
func (fs *Forms) readMark(ctx context.Context) (bool, error) {
	r, err := fs.Node.Reader()
	if err != nil {
		return false, err
	}
	defer r.Close()
	a, err := r.Annotation(ctx, systemgraph.PrefixRow, systemgraph.Links)
	return a != nil, err
}

// MarkMoved writes the mark, before the first UID of the form is written.
func (fs *Forms) MarkMoved(ctx context.Context, f Form) error {
	if f.Earlier || fs.marked.Load() {
		return nil
	}
	_, err := store.Add(ctx, fs.Node, []triple.Triple{systemgraph.PrefixRow})
	if err == nil {
		err = store.Annotate(ctx, fs.Node, systemgraph.PrefixRow, systemgraph.Links, []byte("1"))
	}
	if err != nil {
		return fmt.Errorf("mark that UIDs are in the system graph: %w", err)
	}
	fs.marked.Store(true)
	return nil
}

// move moves all pages and hosts, and returns their number.
func (fs *Forms) move(ctx context.Context, v *view.View) (n int, err error) {
	if v != nil {
		if _, err := fs.Node.Fence(ctx, v.Epoch); err != nil {
			return 0, err
		}
	}
	r, err := fs.Node.Reader()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	m := mover{node: fs.Node, reader: r}
	earlier := Form{Earlier: true}
	// 1. The pages. A triple whose UID is not of its page's slot is an application's own.
	err = earlier.EachPage(ctx, r.Source(), uid.AllSlots.Range(), func(p Page) error {
		url := string(p.URL)
		if uid.SlotOf(HostKey(url)) != p.UID.Slot() || !ValidPage(url) {
			return nil
		}
		return m.add(ctx, earlier.UIDTriple(url, p.UID), links.UIDTriple(url, p.UID))
	})
	if err != nil {
		return 0, err
	}
	// 2. The hosts.
	for row, err := range r.Match(ctx, triple.Pattern{Predicate: triple.NewIRI(EarlierHost), DefaultGraph: true}, store.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		t, err := row.Triple()
		if err != nil {
			return 0, err
		}
		number, isExtent := strings.CutPrefix(t.Subject.Value(), earlierExtent)
		e, err := strconv.ParseUint(number, 10, 64)
		if key := t.Object.Value(); isExtent && err == nil && t == earlier.HostTriple(uid.Extent(e), key) {
			if err := m.add(ctx, t, links.HostTriple(uid.Extent(e), key)); err != nil {
				return 0, err
			}
		}
	}
	return m.moved, m.flush(ctx)
}

// mover moves triples in batches.
type mover struct {
	node     machine.Node
	reader   store.Reader
	from, to []triple.Triple
	moved    int
}

func (m *mover) add(ctx context.Context, from, to triple.Triple) error {
	m.from, m.to = append(m.from, from), append(m.to, to)
	m.moved++
	if len(m.to) < MovedAtOnce {
		return nil
	}
	return m.flush(ctx)
}

// flush adds the new triples with the annotations of the old ones, and then deletes these: a read between has both.
func (m *mover) flush(ctx context.Context) error {
	if len(m.to) == 0 {
		return nil
	}
	node := m.node
	if _, err := store.Add(ctx, node, m.to); err != nil {
		return err
	}
	if node.Lone() == nil || node.Annotated() {
		for i, from := range m.from {
			for a, err := range m.reader.Annotations(ctx, from) {
				if err == nil {
					err = store.Annotate(ctx, node, m.to[i], a.ApplicationID, a.Data)
				}
				if err != nil {
					return fmt.Errorf("move the annotations of %s: %w", from, err)
				}
			}
		}
	}
	_, err := store.Apply(ctx, node, store.Steps{Delete: slices.Values(m.from)})
	m.from, m.to = m.from[:0], m.to[:0]
	return errors.Join(err, context.Cause(ctx))
}
