// Package memsource is a [source.Source] in memory, for tests and small data.
package memsource

import (
	"bytes"
	"context"
	"slices"
	"sort"

	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Source holds the rows of triples, sorted. It is never changed; Reads may be
// read between queries only.
type Source struct {
	rows []row
	// Reads counts the rows given by Scan and Lookup.
	Reads int64
}

type row struct{ key, value []byte }

// New returns the rows of triples in all orders. Triples may be there twice.
func New(triples []triple.Triple) *Source {
	s := &Source{}
	for _, t := range triples {
		for _, o := range triple.Orders {
			key, _ := triple.AppendKey(nil, o, t)
			if len(key) == 0 {
				continue
			}
			value := triple.AppendValue(nil, triple.Stamp{}, t)
			s.rows = append(s.rows, row{key, value})
		}
	}
	slices.SortFunc(s.rows, func(a, b row) int { return bytes.Compare(a.key, b.key) })
	s.rows = slices.CompactFunc(s.rows, func(a, b row) bool { return bytes.Equal(a.key, b.key) })
	return s
}

// find returns the index of the first row whose key is at least key.
func (s *Source) find(key []byte) int {
	return sort.Search(len(s.rows), func(i int) bool { return bytes.Compare(s.rows[i].key, key) >= 0 })
}

func (s *Source) bounds(r triple.Range) (from, to int) {
	from, to = s.find(r.Lo), len(s.rows)
	if r.Hi != nil {
		to = max(from, s.find(r.Hi))
	}
	return from, to
}

// Scan iterates over a range.
func (s *Source) Scan(ctx context.Context, r triple.Range, reverse bool) (source.Rows, error) {
	from, to := s.bounds(r)
	rows := &rows{source: s, ctx: ctx, from: from, to: to, at: from - 1, step: 1}
	if reverse {
		rows.at, rows.step = to, -1
	}
	return rows, ctx.Err()
}

// Lookup calls each for the rows of all ranges.
func (s *Source) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	for i, r := range ranges {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, to := s.bounds(r)
		for _, one := range s.rows[from:to] {
			s.Reads++
			if err := each(i, one.key, one.value); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// Count returns how many rows a range has.
func (s *Source) Count(ctx context.Context, r triple.Range) (int64, error) {
	from, to := s.bounds(r)
	return int64(to - from), ctx.Err()
}

// Estimate is Count.
func (s *Source) Estimate(ctx context.Context, r triple.Range) (int64, bool, error) {
	from, to := s.bounds(r)
	return int64(to - from), true, ctx.Err()
}

type rows struct {
	source   *Source
	ctx      context.Context
	from, to int
	at, step int
}

func (r *rows) Next() bool {
	r.at += r.step
	return r.valid()
}

func (r *rows) valid() bool {
	r.at = min(max(r.at, r.from-1), r.to)
	if r.at < r.from || r.at >= r.to || r.ctx.Err() != nil {
		return false
	}
	r.source.Reads++
	return true
}

func (r *rows) SeekGE(key []byte) bool {
	r.at = r.source.find(key)
	if r.step < 0 && (r.at >= len(r.source.rows) || !bytes.Equal(r.source.rows[r.at].key, key)) {
		r.at--
	}
	if r.step > 0 {
		r.at = max(r.at, r.from)
	} else {
		r.at = min(r.at, r.to-1)
	}
	return r.valid()
}

func (r *rows) Row() (key, value []byte) {
	row := r.source.rows[r.at]
	return row.key, row.value
}
func (r *rows) Err() error   { return r.ctx.Err() }
func (r *rows) Close() error { return nil }
