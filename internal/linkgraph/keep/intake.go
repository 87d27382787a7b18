// Intake: reading the feed ahead of the keeper.

package keep

import (
	"bytes"
	"context"
	"sync"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// takenChanges and takenBytes bound, about, the changes that wait for the keeper.
	takenChanges = 1 << 16
	takenBytes   = 16 << 20
)

// change is a change of the feed. Its ends are indexes in taken.urls.
type change struct {
	Kind      feed.Kind
	src, Dst  int
	label     []byte // of an annotation; empty if it was removed
	sequencer trie.MachineID
	stamp     triple.Stamp
	loaded    bool // a link of a bulk load, which has no stamp of its own
}

// Taken is changes of the feed up to a position, and their pages, each once.
type Taken struct {
	Changes []change
	URLs    []string
	places  map[string]int
	size    int // bytes of the URLs and labels
	Loads   loads
	At      feed.Position
	whole   bool // no request is taken in part
	Void    bool // a bulk load or a cleared graph makes all cells invalid
	moved   bool // there is something to take
	counted bool // links, labels or UIDs have changed
	linked  bool // triples of the predicate have changed
	mixed   bool // one of them is not plain, see state/plain.go
}

func NewTaken(o *machine.Options) *Taken {
	return &Taken{places: map[string]int{}, Loads: loads{predicate: o.Predicate, most: int64(o.Limits.LoadedLinks)}}
}

// page returns the index of a page.
func (t *Taken) page(url []byte) int {
	at, ok := t.places[string(url)]
	if !ok {
		at = len(t.URLs)
		t.URLs = append(t.URLs, string(url))
		t.places[t.URLs[at]] = at
		t.size += len(url)
		t.mixed = t.mixed || !pagerows.ValidPage(t.URLs[at]) // it gets no UID
	}
	return at
}

// mark marks parts that take in the changes.
func (t *Taken) mark(parts []*state.Part) {
	for _, p := range parts {
		p.Plain = p.Plain && !t.mixed
	}
}

// Add adds the changes of a batch.
func (t *Taken) Add(b *feed.Batch) error {
	for i := range b.Changes {
		c := &b.Changes[i]
		if c.Key == nil {
			t.addWhole(c)
			continue
		}
		if err := t.addChange(c); err != nil {
			return err
		}
	}
	t.whole = !b.Continued
	t.At, t.moved = b.Position.Clone(), true
	return nil
}

// addChange adds a change, and skips it if it is of no link.
func (t *Taken) addChange(c *feed.Change) error {
	_, terms, err := triple.SplitKey(c.Key)
	if err != nil {
		return err
	}
	// 1. A UID counts as a change of the graph. If a page has lost its UID, as in a cleared cluster,
	// no cell is right.
	if bytes.Equal(terms[triple.Predicate], uidTerm) {
		t.counted, t.Void = true, t.Void || c.Kind == feed.Delete
		return nil
	}
	if c.Long != nil {
		if terms, err = triple.WholeTerms(terms, c.Long); err != nil {
			return err
		}
	}
	src, isSrc := pagerows.IriOf(terms[triple.Subject])
	dst, isDst := pagerows.IriOf(terms[triple.Object])
	t.linked = t.linked || c.Kind != feed.Annotate
	t.mixed = t.mixed || !isSrc || !isDst || len(terms[triple.Graph]) > 0
	if !isSrc || !isDst {
		return nil
	}
	// 2. A link, or a label of one.
	t.counted = true
	read := change{Kind: c.Kind, src: t.page(src), Dst: t.page(dst), sequencer: c.Sequencer, stamp: c.Stamp}
	if c.Kind == feed.Annotate && !c.Annotation.Removed {
		read.label = append([]byte(nil), c.Annotation.Data...)
		t.size += len(read.label)
	}
	t.Changes = append(t.Changes, read)
	return nil
}

// addWhole adds a load or a clear, whose triples are not in the feed. The links of a load are read
// later if they are few. Otherwise, and if it has UIDs, no cell is right.
func (t *Taken) addWhole(c *feed.Change) {
	t.counted, t.linked = true, true
	if c.Kind != feed.Load || !t.Loads.add(c) {
		t.Void = true
	}
}

// LinkFilter selects the changes of links, of their labels and of UIDs. Loads and clears without
// links and UIDs do not pass it.
func LinkFilter(predicate string) feed.Filter {
	return feed.Filter{
		Pattern: triple.Pattern{Predicate: triple.NewIRI(predicate)}, Application: links.Application,
		Also: &feed.Filter{
			Pattern: triple.Pattern{Predicate: triple.NewIRI(links.UIDPredicate)},
			Kinds:   []feed.Kind{feed.Add, feed.Delete, feed.Load, feed.Clear},
		},
	}
}

// uidTerm is the encoded predicate of UIDs.
var uidTerm = append([]byte{pagerows.TagIRI}, links.UIDPredicate...)

// intake is the changes that wait for the keeper. One goroutine reads the feed, because decoding
// and applying then overlap.
type intake struct {
	More    notify.Wake // has a token if there is something to take
	options *machine.Options

	mu    sync.Mutex
	room  *sync.Cond
	next  *Taken
	ended bool
	err   error // that ended the feed
}

// StartIntake reads the feed from a position on until ctx ends.
func (k *Keeper) StartIntake(ctx context.Context, since feed.Position) *intake {
	in := &intake{More: notify.NewWake(), next: NewTaken(&k.Options), options: &k.Options}
	in.room = sync.NewCond(&in.mu)
	k.Running.Go(func() {
		stop := context.AfterFunc(ctx, func() {
			in.mu.Lock()
			defer in.mu.Unlock()
			in.room.Broadcast()
		})
		defer stop()
		request := feed.Request{Since: since, Filter: LinkFilter(k.Options.Predicate), Follow: true, Positions: true}
		in.end(k.Board.Follower.Read(ctx, k.Node.Feed(), request, func(b *feed.Batch) (bool, error) { return false, in.add(ctx, b) }))
	})
	return in
}

// add adds a batch. It waits while the keeper has enough whole requests to take.
func (in *intake) add(ctx context.Context, b *feed.Batch) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.next.whole && (len(in.next.Changes) >= takenChanges || in.next.size >= takenBytes) && ctx.Err() == nil {
		in.room.Wait()
	}
	if err := in.next.Add(b); err != nil {
		return err
	}
	in.More.Send()
	return ctx.Err()
}

func (in *intake) end(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ended, in.err = true, err
	in.More.Send()
}

// Take returns the changes that came since the last call, nil if a request has come in part
// only. The error is the one that ended the feed, after all changes were taken.
func (in *intake) Take() (*Taken, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	t := in.next
	if t.moved && (t.whole || t.Void) {
		in.next = NewTaken(in.options)
		in.room.Broadcast()
		if in.ended {
			in.More.Send()
		}
		return t, nil
	}
	if in.ended {
		return nil, in.err
	}
	return nil, nil
}
