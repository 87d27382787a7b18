// Reads of a store: patterns, ranges and counts.

package node

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// RangeOptions are the parameters of [Store.Range].
type RangeOptions = client.RangeOptions

// Match yields the triples that match p, in the order of triples that answers p best. A
// term of p that is zero matches any term. The triples are those of the moment at which
// the loop begins; an error ends them.
func (s *Store) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return s.read(func(sn *Snapshot) iter.Seq2[triple.Triple, error] { return sn.Match(ctx, p) })
}

// Range yields the triples between bounds, in their order; see [Store.Match].
func (s *Store) Range(ctx context.Context, b triple.Bounds, o RangeOptions) iter.Seq2[triple.Triple, error] {
	return s.read(func(sn *Snapshot) iter.Seq2[triple.Triple, error] { return sn.Range(ctx, b, o) })
}

// read yields the triples of a snapshot, which lasts as long as the loop.
func (s *Store) read(triples func(*Snapshot) iter.Seq2[triple.Triple, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		sn, err := s.Snapshot()
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer sn.Close()
		triples(sn)(yield)
	}
}

// MatchPage returns a part of Match. A page may hold fewer triples than its limit although more follow; only
// Next marks the end.
func (s *Store) MatchPage(ctx context.Context, p triple.Pattern, o client.PageOptions) (client.Page, error) {
	if o.Reverse {
		return client.Page{}, failed(fmt.Errorf("%w: a pattern has no direction; ask for a range", store.ErrInvalid))
	}
	err := p.Check()
	var scan triple.Scan
	if err == nil {
		scan, err = p.Scan(p.Best())
	}
	if err != nil {
		return client.Page{}, failed(err)
	}
	return s.page(o, scan.Range, func(rows store.Matcher, o store.ReadOptions) iter.Seq2[store.Row, error] {
		return rows.Match(ctx, p, o)
	})
}

// RangePage returns a part of Range; see [Store.MatchPage].
func (s *Store) RangePage(ctx context.Context, b triple.Bounds, o client.PageOptions) (client.Page, error) {
	keys, err := b.KeyRange()
	if err != nil {
		return client.Page{}, failed(err)
	}
	return s.page(o, keys.Range, func(rows store.Matcher, o store.ReadOptions) iter.Seq2[store.Row, error] {
		return rows.Range(ctx, b, o)
	})
}

const (
	maxPageTriples = 10_000 // as a server has it
	maxPageBytes   = 16 << 20

	lineBufferBytes = 64 << 10 // a buffer of a page's size took a third of the time of a page
)

// page reads a page of rows whose keys are within a range.
func (s *Store) page(o client.PageOptions, keys triple.Range, read func(store.Matcher, store.ReadOptions) iter.Seq2[store.Row, error]) (p client.Page, err error) {
	// 1. Read one row more than the page, because only then a page has a successor.
	limit := o.Limit
	if limit == 0 || limit > maxPageTriples {
		limit = maxPageTriples
	}
	options, err := readOptions(o.Cursor, keys, o.Offset)
	if err != nil {
		return p, err
	}
	options.Limit, options.Reverse, options.Annotations = int64(limit)+1, o.Reverse, o.Annotations
	sn, err := s.Snapshot()
	if err != nil {
		return p, err
	}
	defer sn.Close()
	rows := read(sn.rows, options)
	// 2. Make triples of the rows, or lines.
	if o.NQuads == nil {
		if o.Cursor != "" { // the page before was full, so this one may be
			p.Triples = make([]triple.Triple, 0, limit)
		}
		p.Next, err = fillPage(rows, limit, func(row store.Row) error { return appendRow(&p, row, o.Annotations) })
	} else {
		out := bufio.NewWriterSize(o.NQuads, lineBufferBytes)
		p.Next, err = fillPage(rows, limit, func(row store.Row) error { return writeRow(out, row) })
		flushErr := out.Flush() // also after an error, because the lines before it are correct
		if err == nil {
			err = flushErr
		}
	}
	if err != nil {
		return client.Page{}, failed(err)
	}
	return p, nil
}

// fillPage calls add with the rows of one page, and returns the cursor of the next; "" if there is none.
func fillPage(rows iter.Seq2[store.Row, error], limit int, add func(store.Row) error) (next string, err error) {
	var last []byte
	count, size := 0, 0
	for row, err := range rows {
		// The cursor is the key of the last triple, in base64url.
		if err == nil && (count == limit || size >= maxPageBytes) {
			return base64.RawURLEncoding.EncodeToString(last), nil
		}
		if err == nil {
			err = add(row)
		}
		if err != nil {
			return "", err
		}
		last = append(last[:0], row.Key...)
		count++
		size += len(row.Key) + len(row.Value)
		for _, a := range row.Annotations {
			size += len(a.ApplicationID) + len(a.Data)
		}
	}
	return "", nil
}

func appendRow(p *client.Page, row store.Row, annotations bool) error {
	t, err := row.Triple()
	p.Triples = append(p.Triples, t)
	if annotations {
		p.Annotations = append(p.Annotations, row.Annotations)
	}
	return err
}

func writeRow(out *bufio.Writer, row store.Row) error {
	line, err := row.AppendNQuad(out.AvailableBuffer())
	if err == nil {
		_, err = out.Write(line)
	}
	return err
}

// readOptions returns the options of a read that continues behind a cursor, if there is one.
func readOptions(cursor string, keys triple.Range, offset int64) (o store.ReadOptions, err error) {
	o.Offset = offset
	if cursor == "" {
		return o, nil
	}
	if offset != 0 {
		return o, failed(fmt.Errorf("%w: an offset with a cursor, which is behind the skipped triples already", store.ErrInvalid))
	}
	o.After, err = base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		_, _, err = triple.SplitKey(o.After)
	}
	if err != nil {
		return o, fmt.Errorf("%w: %.80s is none that this store has returned", client.ErrBadCursor, cursor)
	}
	if !keys.Contains(o.After) {
		return o, fmt.Errorf("%w: it is of another pattern or range, which stay the same from page to page", client.ErrBadCursor)
	}
	return o, nil
}

// Count returns how many triples match p.
func (s *Store) Count(ctx context.Context, p triple.Pattern) (n int64, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	return sn.Count(ctx, p)
}

// Estimate returns about how many triples match p. It is faster than Count. exact reports whether n is the
// count.
func (s *Store) Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return 0, false, err
	}
	defer sn.Close()
	if err = p.Check(); err == nil {
		n, exact, err = sn.rows.Estimate(ctx, p)
	}
	return n, exact, failed(err)
}

// Snapshot returns the store as it is now. The caller must close it, because it keeps
// files of that moment on the disk.
func (s *Store) Snapshot() (*Snapshot, error) {
	sn, err := s.db.Snapshot()
	if err != nil {
		return nil, failed(err)
	}
	return &Snapshot{sn, prefixes.HideIn(sn)}, nil
}

// Snapshot is a read view of a store at one moment. Later changes do not show in it. Its
// methods may be called concurrently.
type Snapshot struct {
	snapshot *store.Snapshot
	rows     store.Matcher
}

// Match yields the triples that match p; see [Store.Match].
func (sn *Snapshot) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	if err := p.Check(); err != nil {
		return ending(err)
	}
	return decode(sn.rows.Match(ctx, p, store.ReadOptions{}))
}

// Range yields the triples between bounds; see [Store.Range].
func (sn *Snapshot) Range(ctx context.Context, b triple.Bounds, o RangeOptions) iter.Seq2[triple.Triple, error] {
	keys, err := b.KeyRange()
	var options store.ReadOptions
	if err == nil {
		options, err = readOptions(o.Cursor, keys.Range, o.Offset)
	}
	if err != nil {
		return ending(err)
	}
	options.Reverse = o.Reverse
	return decode(sn.rows.Range(ctx, b, options))
}

// Count returns how many triples match p.
func (sn *Snapshot) Count(ctx context.Context, p triple.Pattern) (n int64, err error) {
	if err = p.Check(); err == nil {
		n, err = sn.rows.Count(ctx, p)
	}
	return n, failed(err)
}

// Has reports whether the snapshot has a triple.
func (sn *Snapshot) Has(ctx context.Context, t triple.Triple) (bool, error) {
	return sn.snapshot.Has(ctx, t)
}

// Annotations yields the annotations of a triple by the IDs of applications.
func (sn *Snapshot) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[triple.ApplicationData, error] {
	return sn.snapshot.Annotations(ctx, t)
}

// Close ends the snapshot.
func (sn *Snapshot) Close() error { return sn.snapshot.Close() }

// ending yields an error.
func ending(err error) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) { yield(triple.Triple{}, failed(err)) }
}

// decode yields the triples of rows.
func decode(rows iter.Seq2[store.Row, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for row, err := range rows {
			var t triple.Triple
			if err == nil {
				t, err = row.Triple()
			}
			if !yield(t, failed(err)) || err != nil {
				return
			}
		}
	}
}
