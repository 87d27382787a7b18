// A data directory as the store of a command.

package cli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"

	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// openStore opens an existing data directory.
func openStore(dir string, opts store.Options) (*store.Store, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, hinted{fmt.Errorf("data directory: %w", err), "trefoil load --data DIR FILE... makes one; so do serve and add."}
	}
	opts.Version = thisVersion().Version
	return store.Open(dir, opts)
}

// local reads one snapshot of a store opened by the command.
type local struct {
	store    *store.Store
	snapshot *store.Snapshot
	rows     store.Matcher // of the snapshot, without the row of prefixes
}

func openLocal(dir string) (*local, error) {
	db, err := openStore(dir, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	snapshot, err := db.Snapshot()
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &local{db, snapshot, prefixes.HideIn(snapshot)}, nil
}

func (l *local) Close() error { return errors.Join(l.snapshot.Close(), l.store.Close()) }

func (l *local) match(ctx context.Context, p triple.Pattern, page page) *listing {
	scan, err := p.Scan(p.Best())
	if err != nil {
		return failed(err)
	}
	after, err := decodeCursor(page.cursor, scan.Range)
	if err != nil {
		return failed(err)
	}
	return l.list(l.rows.Match(ctx, p, store.ReadOptions{Offset: page.offset, Limit: page.more(), After: after, Annotations: page.annotations}), page)
}

func (l *local) bounded(ctx context.Context, b triple.Bounds, page page) *listing {
	keys, err := b.KeyRange()
	if err != nil {
		return failed(err)
	}
	after, err := decodeCursor(page.cursor, keys.Range)
	if err != nil {
		return failed(err)
	}
	return l.list(l.rows.Range(ctx, b, store.ReadOptions{Reverse: page.reverse, Offset: page.offset, Limit: page.more(), After: after}), page)
}

// list makes a listing of rows. It reads one more row than the page, because a cursor must be given
// only if more rows follow.
func (l *local) list(rows iter.Seq2[store.Row, error], page page) *listing {
	list := &listing{}
	list.items = func(yield func(item, error) bool) {
		var it localItem
		count := int64(0)
		for row, err := range rows {
			if err != nil {
				yield(nil, err)
				return
			}
			if page.limit > 0 && count == page.limit {
				list.next = base64.RawURLEncoding.EncodeToString(it.last)
				return
			}
			count++
			if it.row = row; count == page.limit {
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

func (i *localItem) appendNQuad(dst []byte) ([]byte, error) {
	return triple.AppendKeyNQuad(dst, i.row.Key, i.row.Value)
}

func (i *localItem) annotations() []triple.ApplicationData { return i.row.Annotations }

func (i *localItem) triple() (triple.Triple, error) { return i.row.Triple() }

func (l *local) count(ctx context.Context, p triple.Pattern, estimate bool) (int64, bool, error) {
	if estimate {
		return l.rows.Estimate(ctx, p)
	}
	n, err := l.rows.Count(ctx, p)
	return n, true, err
}

func (l *local) status(context.Context) (s status, err error) {
	// A node sends the status of its store as JSON, so both ways give the same status.
	text, err := json.Marshal(l.store.Status())
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
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
		return nil, usagef("--cursor %s: none that this command has printed", cursor)
	}
	if !keys.Contains(key) {
		return nil, usagef("--cursor %s: of another question; the other flags stay the same from page to page", cursor)
	}
	return key, nil
}

// localWriter changes a store opened by the command.
type localWriter struct{ store *store.Store }

func (l localWriter) Close() error { return l.store.Close() }

func (l localWriter) add(ctx context.Context, batch []statement) (added, existing int64, err error) {
	r, err := store.Add(ctx, l.store, triplesOf(batch))
	if err == nil {
		var annotated []store.Annotated
		for _, s := range batch {
			annotated = append(annotated, store.Annotated{Triple: s.Triple, Annotations: s.noted})
		}
		err = store.AnnotateAll(ctx, l.store, annotated)
	}
	return r.Added, r.Existing, err
}

func (l localWriter) delete(ctx context.Context, triples []triple.Triple) (deleted, missing int64, err error) {
	r, err := store.Delete(ctx, l.store, triples)
	return r.Deleted, r.Missing, err
}

func (l localWriter) deleteMatch(ctx context.Context, p triple.Pattern) (deleted int64, err error) {
	r, err := store.DeleteMatch(ctx, l.store, p)
	return r.Deleted, err
}
