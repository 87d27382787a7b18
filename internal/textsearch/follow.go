// Following the change feed: its changes become small segments and deletions.

package textsearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds of the changes that are applied at a time.
const (
	maxChanges     = 100_000 // by default
	maxChangeBytes = 64 << 20
)

// errMoved means that the rows of a build are not of one epoch.
var errMoved = errors.New("rows were moved while the text index was built from them")

// documentKey identifies a document.
type documentKey struct{ predicate, key string }

// changes are those between two positions.
type changes struct {
	documents map[documentKey]bool // whether a triple of it was deleted
	bytes     int
	settings  bool              // the indexed predicates may have changed
	again     map[string]bool   // predicates to be built again
	cleared   map[string]bool   // predicates that a cleared graph may have had
	loads     []feed.Change     // bulk loads whose rows must be read, see loads.go
	values    map[string]string // predicates by their encoded form
}

// follow makes the state that the end of the feed leads to.
func (x *Index) follow(ctx context.Context) error {
	unlock, err := x.changing.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err = x.followLocked(ctx); err != nil {
		x.follower.Failed(err)
	}
	return err
}

// followLocked is follow with the lock of changing.
func (x *Index) followLocked(ctx context.Context) error {
	s := x.state.Load()
	l, _ := x.wanted()
	// 1. Begin, or begin again: with the files, or with nothing.
	if s == nil || s.layout != l {
		began, err := x.begin(ctx, l, s == nil)
		if err != nil {
			return err
		}
		x.publish(began)
		s = began
	}
	// 2. Apply all changes.
	for {
		next, more, err := x.step(ctx, s)
		if errors.Is(err, feed.ErrGone) || errors.Is(err, feed.ErrPosition) || errors.Is(err, textindex.ErrDamaged) {
			x.Log.Warn("the text index is built again", "because", err)
			if next, err = x.begin(ctx, l, false); err == nil {
				x.publish(next)
			}
			return err
		}
		if err != nil {
			return fmt.Errorf("follow the change feed: %w", err)
		}
		if next != s {
			x.publish(next)
		}
		if s = next; !more {
			return nil
		}
	}
}

// begin returns the first state: that of the files, if they may be used, or an empty one at the end of the feed.
func (x *Index) begin(ctx context.Context, l layout, useFiles bool) (*state, error) {
	at, err := x.Node.Feed().Position(ctx)
	if err != nil {
		return nil, err
	}
	set, err := x.readSettings(ctx)
	if err != nil {
		return nil, err
	}
	if useFiles {
		s, err := x.readFiles(at)
		if err == nil && s.layout == l {
			s.setSettings(set)
			return s, nil
		}
		if err != nil {
			x.Log.Debug("the text index is not read from its files", "because", err)
		}
	}
	return &state{at: at, layout: l, settings: set, complete: map[string]derived.Partitions{}}, nil
}

// setSettings replaces the settings, and drops what belongs to other predicates or lacks what it shall have.
func (s *state) setSettings(set settings) {
	old := s.settings
	s.settings = set
	s.drop(func(p string, _ int) bool {
		return !slices.Contains(set.predicates, p) || set.hasTrigrams(p) != old.hasTrigrams(p)
	})
}

// filter selects the changes of the settings and of the indexed predicates.
func (s *state) filter() feed.Filter {
	kinds := []feed.Kind{feed.Add, feed.Delete, feed.Load, feed.Clear}
	f := feed.Filter{Pattern: triple.Pattern{Predicate: settingPredicate}, Kinds: kinds, Also: &feed.Filter{Pattern: triple.Pattern{Predicate: trigramPredicate}, Kinds: kinds}}
	for _, p := range s.predicates {
		also := f
		f = feed.Filter{Pattern: triple.Pattern{Predicate: triple.NewIRI(p)}, Kinds: kinds, Also: &also}
	}
	return f
}

// step returns the state behind the next changes. more is set if there may be others.
func (x *Index) step(ctx context.Context, s *state) (next *state, more bool, err error) {
	// 1. Read changes up to a bound. A commit may exceed it: then its documents are applied part by part, because
	// memory is bounded, and the position stays before it. A state may have newer documents than its position.
	c, applied := newChanges(s), false
	next = s.clone()
	err = x.follower.Read(ctx, x.Node.Feed(), feed.Request{Since: s.at, Filter: s.filter()}, func(batch *feed.Batch) (bool, error) {
		for i := range batch.Changes {
			if err := c.add(&batch.Changes[i]); err != nil {
				return false, err
			}
		}
		full := len(c.documents) >= x.o.maxChanges || c.bytes >= maxChangeBytes
		if batch.Continued {
			if !full {
				return false, nil
			}
			applied = true
			return false, x.applyPart(ctx, next, c)
		}
		// Other settings may select other changes.
		next.at, more = batch.Position.Clone(), full || c.settings
		return more, nil
	})
	if err != nil {
		return nil, false, err
	}
	if s.at.Reaches(next.at) && !applied && c.empty() {
		return s, false, nil
	}
	// 2. Apply the rest. Rows may be newer than the changes, so each document is as it is now.
	if c.settings {
		set, err := x.readSettings(ctx)
		if err != nil {
			return nil, false, err
		}
		next.setSettings(set)
	}
	return next, more, x.apply(ctx, next, c)
}

// newChanges returns no changes, for a state.
func newChanges(s *state) *changes {
	c := &changes{values: map[string]string{}}
	for _, p := range s.predicates {
		encoded, _ := triple.AppendTerm(nil, triple.NewIRI(p))
		c.values[string(encoded)] = p
	}
	c.reset()
	return c
}

// reset forgets what was applied. The settings are read at the end of a commit.
func (c *changes) reset() {
	c.documents, c.again, c.cleared = map[documentKey]bool{}, map[string]bool{}, map[string]bool{}
	c.bytes, c.loads = 0, nil
}

func (c *changes) empty() bool {
	return len(c.documents) == 0 && len(c.again) == 0 && len(c.cleared) == 0 && len(c.loads) == 0 && !c.settings
}

// applyPart applies a part of a commit.
func (x *Index) applyPart(ctx context.Context, s *state, c *changes) error {
	err := x.apply(ctx, s, c)
	c.reset()
	return err
}

// add records a change.
func (c *changes) add(change *feed.Change) error {
	// 1. What concerns whole predicates.
	switch change.Kind {
	case feed.Load:
		if change.Load.Predicates.MayHave(settingPredicate) || change.Load.Predicates.MayHave(trigramPredicate) {
			c.settings = true
		}
		small := true
		for _, p := range c.values {
			if change.Load.Predicates.MayHave(triple.NewIRI(p)) && (change.Load.Predicates == nil || change.Load.Predicates[p] > maxLoadRows) {
				c.again[p], small = true, false
			}
		}
		if small {
			c.loads = append(c.loads, *change)
		}
		return nil
	case feed.Clear:
		c.settings = true
		for _, p := range c.values {
			if change.Clear.Predicates.MayHave(triple.NewIRI(p)) {
				c.cleared[p] = true
			}
		}
		// What was added before may be gone.
		for d := range c.documents {
			c.documents[d] = c.documents[d] || c.cleared[d.predicate]
		}
		return nil
	}
	// 2. A triple of an indexed predicate, or a setting.
	_, terms, err := triple.SplitKey(change.Key)
	if err != nil {
		return err
	}
	predicate, indexed := c.values[string(terms[triple.Predicate])]
	if !indexed {
		c.settings = true
		return nil
	}
	if !isText(terms[triple.Object]) {
		return nil
	}
	if change.Long != nil {
		terms, err = triple.WholeTerms(terms, change.Long)
	}
	if err != nil {
		return err
	}
	c.record(documentKey{predicate, string(terms[triple.Object])}, change.Kind == feed.Delete)
	return nil
}

// record notes that a triple of a document was added or deleted.
func (c *changes) record(d documentKey, deleted bool) {
	c.bytes += len(d.key)
	c.documents[d] = c.documents[d] || deleted
}

// firstText and endText are the span of encoded literals that are texts.
var firstText, endText = triple.TextSpan()

// isText reports whether an encoded term is a document.
func isText(term []byte) bool {
	return bytes.Compare(term, firstText) >= 0 && bytes.Compare(term, endText) < 0
}

// documentOf returns the document of a whole encoded literal.
func documentOf(key []byte) (textindex.Document, error) {
	t, err := triple.DecodeTerm(key)
	if err != nil {
		return textindex.Document{}, err
	}
	return textindex.Document{Key: key, Text: []byte(t.Value()), Tag: t.Lang()}, nil
}

// place is a predicate and a partition.
type place struct {
	predicate string
	partition int
}

// edit collects the changes of a place.
type edit struct {
	added  *textindex.Builder
	gone   map[*part]*textindex.Builder
	erased map[*part][]uint32
}

// apply applies changes to a state.
func (x *Index) apply(ctx context.Context, s *state, c *changes) error {
	reader := lazyReader{node: x.Node}
	defer reader.close()
	if err := s.clear(ctx, c, &reader); err != nil {
		return err
	}
	if err := x.takeLoads(ctx, s, c); err != nil {
		return err
	}
	s.drop(func(p string, _ int) bool { return c.again[p] })
	// 1. Find out which documents are new, and which are no more.
	edits := map[place]*edit{}
	for _, d := range slices.SortedFunc(maps.Keys(c.documents), func(a, b documentKey) int {
		return bytes.Compare([]byte(a.key), []byte(b.key))
	}) {
		at := place{d.predicate, s.layout.partitionOf(textindex.Hash([]byte(d.key)))}
		if !s.complete[d.predicate].Has(at.partition) {
			continue // a build reads its rows
		}
		if edits[at] == nil {
			edits[at] = &edit{gone: map[*part]*textindex.Builder{}, erased: map[*part][]uint32{}}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.editDocument(ctx, s, edits[at], at, d, c.documents[d], &reader); err != nil {
			return err
		}
	}
	// 2. Make segments of them.
	for at, e := range edits {
		if err := s.take(at, e); err != nil {
			return err
		}
		if err := x.mergeSmall(s, at); err != nil {
			return err
		}
	}
	return nil
}

// clear empties the cleared predicates that have no rows now. The others are built again.
func (s *state) clear(ctx context.Context, c *changes, reader *lazyReader) error {
	for p := range c.cleared {
		some, err := reader.has(ctx, triple.Pattern{Predicate: triple.NewIRI(p)})
		if err != nil {
			return err
		}
		if some {
			c.again[p] = true
			continue
		}
		s.parts = slices.DeleteFunc(s.parts, func(one *part) bool { return one.Predicate() == p })
	}
	return nil
}

// editDocument records in an edit how a document changes.
func (x *Index) editDocument(ctx context.Context, s *state, e *edit, at place, d documentKey, deleted bool, reader *lazyReader) error {
	// 1. Where it is.
	key := []byte(d.key)
	var in *part
	var number uint32
	for _, p := range s.parts {
		if p.Predicate() != at.predicate || p.partition() != at.partition {
			continue
		}
		doc, ok, err := p.Lookup(key)
		if err != nil {
			return err
		}
		if ok {
			in, number = p, doc
			break
		}
	}
	// 2. Whether it is a document still.
	exists := true
	if deleted {
		var err error
		if exists, err = reader.exists(ctx, at.predicate, key); err != nil {
			return err
		}
	}
	if exists == (in != nil) {
		return nil
	}
	doc, err := documentOf(key)
	if err != nil {
		return err
	}
	// 3. Record the change.
	if exists {
		if e.added == nil {
			e.added = s.newBuilder(x.analyzer, at)
		}
		return e.added.Add(doc)
	}
	if e.gone[in] == nil {
		e.gone[in] = textindex.NewBuilder(x.analyzer, at.predicate, uint32(at.partition))
	}
	e.erased[in] = append(e.erased[in], number)
	return e.gone[in].Add(doc)
}

// take puts the result of an edit into the state.
func (s *state) take(_ place, e *edit) error {
	for i, p := range s.parts {
		gone := e.gone[p]
		if gone == nil {
			continue
		}
		segment, err := gone.Finish()
		if err != nil {
			return err
		}
		s.parts[i] = &part{p.Delete(e.erased[p], segment)}
	}
	if e.added != nil {
		segment, err := e.added.Finish()
		if err != nil {
			return err
		}
		s.parts = append(s.parts, &part{Part: &textindex.Part{Segment: segment}})
	}
	return nil
}

// lazyReader reads rows, if any are needed.
type lazyReader struct {
	node derived.Triples
	r    store.Reader
}

// exists reports whether a triple has a predicate and an object.
func (l *lazyReader) exists(ctx context.Context, predicate string, object []byte) (bool, error) {
	term, err := triple.DecodeTerm(object)
	if err != nil {
		return false, err
	}
	return l.has(ctx, triple.Pattern{Predicate: triple.NewIRI(predicate), Object: term})
}

// has reports whether there is a triple of a pattern.
func (l *lazyReader) has(ctx context.Context, p triple.Pattern) (some bool, err error) {
	if l.r == nil {
		if l.r, err = l.node.Reader(); err != nil {
			return false, err
		}
	}
	next, stop := iter.Pull2(l.r.Match(ctx, p, store.ReadOptions{Limit: 1}))
	defer stop()
	_, err, ok := next()
	return ok && err == nil, err
}

func (l *lazyReader) close() {
	if l.r != nil {
		_ = l.r.Close() // its reads have reported their errors
	}
}
