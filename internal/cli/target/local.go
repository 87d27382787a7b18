// A data directory as the store of a command.

package target

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/backup"
	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// Opening is how a data directory is opened.
type Opening struct {
	Store  store.Options
	create bool           // make the directory if it is missing
	Engine engine.Options // of queries and updates
}

// Reading is the opening of commands that only read.
var Reading = Opening{Store: store.Options{ReadOnly: true}}

// local is a data directory that the command has opened. Reads are of one snapshot.
type local struct {
	store   *store.Store
	dir     string
	opening Opening
	warn    func(string) // gets why an answer is empty; "" if it is not

	snapshot *store.Snapshot // nil before the first read
	sparql   *engine.Engine  // nil before the first query
}

func openLocal(e *console.Env, dir string, how Opening) (*local, error) {
	if _, err := os.Stat(dir); err != nil && !how.create {
		return nil, console.WithHint(fmt.Errorf("data directory: %w", err), "trefoil load --data DIR FILE... makes one; so do serve and add.")
	}
	how.Store.Version = console.ThisVersion().Version
	db, err := store.Open(dir, how.Store)
	if err != nil {
		return nil, err
	}
	return &local{store: db, dir: dir, opening: how, warn: e.SayEmpty}, nil
}

// OpenMember opens the directory of a member, or of what one has set aside, and returns a snapshot of its rows. end
// must be called.
func OpenMember(e *console.Env, dir string) (s *store.Snapshot, end func() error, err error) {
	l, err := openLocal(e, dir, Opening{Store: store.Options{ReadOnly: true, Member: true}})
	if err != nil {
		return nil, nil, err
	}
	if _, err := l.rows(); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l.snapshot, l.Close, nil
}

func (l *local) Close() (err error) {
	if l.snapshot != nil {
		err = l.snapshot.Close()
	}
	return errors.Join(err, l.store.Close())
}

// rows returns the rows of the snapshot, without the row of prefixes.
func (l *local) rows() (store.Reader, error) {
	if l.snapshot == nil {
		snapshot, err := l.store.Snapshot()
		if err != nil {
			return nil, err
		}
		l.snapshot = snapshot
	}
	return prefixes.HideIn(l.snapshot), nil
}

func (l *local) Match(ctx context.Context, p triple.Pattern, page Page) *Listing {
	scan, err := p.Scan(p.Best())
	if err != nil {
		return failed(err)
	}
	after, err := decodeCursor(page.Cursor, scan.Range)
	if err != nil {
		return failed(err)
	}
	rows, err := l.rows()
	if err != nil {
		return failed(err)
	}
	return l.list(rows.Match(ctx, p, store.ReadOptions{Offset: page.Offset, Limit: page.readLimit(), After: after, Annotations: page.Annotations}), page)
}

func (l *local) Range(ctx context.Context, b triple.Bounds, page Page) *Listing {
	keys, err := b.KeyRange()
	if err != nil {
		return failed(err)
	}
	after, err := decodeCursor(page.Cursor, keys.Range)
	if err != nil {
		return failed(err)
	}
	rows, err := l.rows()
	if err != nil {
		return failed(err)
	}
	return l.list(rows.Range(ctx, b, store.ReadOptions{Reverse: page.Reverse, Offset: page.Offset, Limit: page.readLimit(), After: after}), page)
}

// list makes a listing of rows. It reads one more row than the page, because a cursor must be given
// only if more rows follow.
func (l *local) list(rows iter.Seq2[store.Row, error], page Page) *Listing {
	list := &Listing{}
	list.Items = func(yield func(Item, error) bool) {
		var it localItem
		count := int64(0)
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if page.Limit > 0 && count == page.Limit {
				list.Next = base64.RawURLEncoding.EncodeToString(it.last)
				return
			}
			count++
			if it.row = row; count == page.Limit {
				it.last = append(it.last[:0], row.Key...)
			}
			if !yield(&it, nil) {
				return
			}
		}
	}
	return list
}

// localItem is a row of a store.
type localItem struct {
	row  store.Row
	last []byte // the key of the page's last row
}

func (i *localItem) AppendNQuad(dst []byte) ([]byte, error) {
	return triple.AppendKeyNQuad(dst, i.row.Key, i.row.Value)
}

func (i *localItem) Annotations() []triple.ApplicationData { return i.row.Annotations }

func (i *localItem) Decode() (triple.Triple, error) { return i.row.Triple() }

func (l *local) Count(ctx context.Context, p triple.Pattern, estimate bool) (int64, bool, error) {
	rows, err := l.rows()
	if err != nil {
		return 0, false, err
	}
	if estimate {
		return rows.Estimate(ctx, p)
	}
	n, err := rows.Count(ctx, p)
	return n, true, err
}

// Annotations implements [triples].
func (l *local) Annotations(ctx context.Context, t triple.Triple) (all []client.Annotation, err error) {
	p := triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, Graph: t.Graph, DefaultGraph: t.Graph.IsZero()}
	for it, err := range l.Match(ctx, p, Page{Annotations: true}).Items {
		if err != nil {
			return nil, err
		}
		for _, a := range it.Annotations() {
			media, content := triple.CutMedia(a.Data)
			all = append(all, client.Annotation{ApplicationID: a.ApplicationID, Media: media, Content: content, Version: store.FormatVersion(a.Version)})
		}
	}
	return all, nil
}

// decodeCursor returns the key of a cursor; nil if there is no cursor. The key must be within keys.
func decodeCursor(cursor string, keys triple.Range) ([]byte, error) {
	if cursor == "" {
		return nil, nil
	}
	key, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		_, _, err = triple.SplitKey(key)
	}
	if err != nil {
		return nil, console.Usagef("--cursor %s: none that this command has printed", cursor)
	}
	if !keys.Contains(key) {
		return nil, console.Usagef("--cursor %s: of another question; the other flags stay the same from page to page", cursor)
	}
	return key, nil
}

// Add implements [changes].
func (l *local) Add(ctx context.Context, all []triple.Triple) (client.AddResult, error) {
	r, err := store.Add(ctx, l.store, all)
	return client.AddResult{Added: r.Added, Existing: r.Existing}, err
}

// AddAnnotated implements [changes].
func (l *local) AddAnnotated(ctx context.Context, all []triple.Triple, annotations [][]triple.ApplicationData) (client.AddResult, error) {
	r, err := l.Add(ctx, all)
	if err != nil {
		return r, err
	}
	annotated := make([]store.Annotated, len(all))
	for i, t := range all {
		annotated[i] = store.Annotated{Triple: t, Annotations: annotations[i]}
	}
	return r, store.AnnotateAll(ctx, l.store, annotated)
}

// Delete implements [changes].
func (l *local) Delete(ctx context.Context, all []triple.Triple) (client.DeleteResult, error) {
	r, err := store.Delete(ctx, l.store, all)
	return client.DeleteResult{Deleted: r.Deleted, Missing: r.Missing}, err
}

// DeleteMatch implements [changes].
func (l *local) DeleteMatch(ctx context.Context, p triple.Pattern) (client.DeleteResult, error) {
	r, err := store.DeleteMatch(ctx, l.store, p)
	return client.DeleteResult{Deleted: r.Deleted}, err
}

// AnnotateAll implements [changes]: it makes the changes one after the other.
func (l *local) AnnotateAll(ctx context.Context, changes iter.Seq2[triple.AnnotationChange, error]) (total client.AnnotateResult, err error) {
	n := int64(-1)
	for c, err := range changes {
		if err != nil {
			return total, err
		}
		n++
		// 1. Make the change.
		when := store.Condition{Absent: c.Absent}
		var data []byte
		if c.Version != "" {
			when.Version, err = store.ParseVersion(c.Version)
		}
		if err == nil && !c.Remove {
			data, err = triple.AppendMedia([]byte{}, c.Media, c.Content)
		}
		if err == nil {
			_, err = store.AnnotateIf(ctx, l.store, c.Triple, c.ApplicationID, data, when)
		}
		// 2. Count it. Only its own errors leave the changes after it as they are.
		switch {
		case err == nil && c.Remove:
			total.Removed++
		case err == nil:
			total.Set++
		case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrInvalid):
			total.Failed++
			total.Errors = append(total.Errors, client.AnnotateError{Change: n, Err: &client.Error{Message: err.Error()}})
		default:
			return total, err
		}
	}
	return total, nil
}

// Prefixes implements [prefixStore].
func (l *local) Prefixes(ctx context.Context) (client.PrefixList, error) {
	kept, err := prefixes.Read(ctx, l.store)
	return client.PrefixList{Kept: kept}, err
}

// SetPrefix implements [prefixStore].
func (l *local) SetPrefix(ctx context.Context, name, iri string) error {
	return prefixes.Set(ctx, l.store, name, iri)
}

// KeepPrefixes implements [prefixStore].
func (l *local) KeepPrefixes(ctx context.Context, found map[string]string) error {
	return prefixes.Keep(ctx, l.store, found)
}

// RemovePrefix implements [prefixStore].
func (l *local) RemovePrefix(ctx context.Context, name string) error {
	return prefixes.Remove(ctx, l.store, name)
}

// Status implements [upkeep].
func (l *local) Status(context.Context) (client.Status, error) { return l.store.Status(), nil }

// Check implements [upkeep].
func (l *local) Check(ctx context.Context) (client.CheckReport, error) { return l.store.Check(ctx) }

// Backup implements [upkeep].
func (l *local) Backup(ctx context.Context, w io.Writer) error { return l.store.Backup(ctx, w) }

// BackupSince implements [upkeep].
func (l *local) BackupSince(ctx context.Context, w io.Writer, since string) error {
	from, err := feed.ParsePosition(since)
	if err != nil {
		return err
	}
	return backup.Increment(ctx, l.store, from, console.ThisVersion().Version, w)
}
