// Reading patterns and ranges, row by row.

package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/triple"
)

// ReadOptions are the options of a read.
type ReadOptions struct {
	// Reverse reads from the greatest key to the least.
	Reverse bool
	// Offset is the number of rows to skip before the first one. Skipped rows are not sent to
	// other machines, unless only the reading machine can select the rows.
	Offset int64
	// Limit is the maximum number of rows after Offset; 0 is no limit.
	Limit int64
	// After is the key to continue behind, exclusive: the last key of an incomplete answer. If a
	// row exists all the time, it comes exactly once.
	After []byte
	// DefaultGraph leaves out the triples of named graphs.
	DefaultGraph bool
	// Annotations reads the annotations of each row, too.
	Annotations bool
}

// Check returns an error if a number is negative.
func (o ReadOptions) Check() error {
	switch {
	case o.Limit < 0:
		return fmt.Errorf("%w: the limit is %d", ErrInvalid, o.Limit)
	case o.Offset < 0:
		return fmt.Errorf("%w: the offset is %d", ErrInvalid, o.Offset)
	}
	return nil
}

// Row is one triple in one order. Key and Value are valid until the next step.
type Row struct {
	Key, Value []byte
	// Annotations are the annotations of the triple by application ID, if ReadOptions request
	// them. They are of one moment at which the triple existed. In a cluster, if they have more
	// than 1 MiB, they are read in parts, each of its own moment; the triple existed all the time.
	// The caller owns them.
	Annotations []Annotation
}

// Triple decodes the row. The triple shares no memory with it.
func (r Row) Triple() (triple.Triple, error) {
	_, t, err := triple.DecodeKey(r.Key, r.Value)
	return t, fault.Wrap("decode row", err)
}

// AppendNQuad appends the row as a line of N-Quads, with its annotations as [triple.AppendAnnotated] writes them.
// It is faster than decoding the triple.
func (r Row) AppendNQuad(dst []byte) ([]byte, error) {
	if len(r.Annotations) == 0 {
		dst, err := triple.AppendKeyNQuad(dst, r.Key, r.Value)
		return dst, fault.Wrap("decode row", err)
	}
	statement, err := triple.AppendKeyNQuad(nil, r.Key, r.Value)
	if err != nil {
		return dst, fault.Wrap("decode row", err)
	}
	return triple.AppendAnnotated(dst, statement, r.Annotations), nil
}

// Match returns the rows that match p, in the best order for it (see [triple.Pattern.Best]). An
// error ends the answer.
func (sn *Snapshot) Match(ctx context.Context, p triple.Pattern, o ReadOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		scan, err := p.Scan(p.Best())
		if err != nil {
			yield(Row{}, err)
			return
		}
		sn.read(ctx, scan.Range, o, matches(&scan), yield)
	}
}

// Range returns the rows within b, in its order. An error ends the answer. It is
// [triple.ErrBadBounds] if no order can answer b.
func (sn *Snapshot) Range(ctx context.Context, b triple.Bounds, o ReadOptions) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		kr, err := b.KeyRange()
		if err != nil {
			yield(Row{}, err)
			return
		}
		sn.read(ctx, kr.Range, o, accepts(&kr), yield)
	}
}

// filter reports whether a row belongs to an answer. If it is nil, all rows do.
type filter func(key, value []byte) (bool, error)

func matches(scan *triple.Scan) filter {
	if scan.Exact {
		return nil
	}
	return func(key, _ []byte) (bool, error) {
		_, terms, err := triple.SplitKey(key)
		return err == nil && scan.Filter(terms), err
	}
}

func accepts(kr *triple.KeyRange) filter {
	if kr.Exact() {
		return nil
	}
	return func(key, value []byte) (bool, error) {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return false, err
		}
		return kr.Accept(terms, value)
	}
}

// inDefaultGraph returns a filter that leaves out the triples of named graphs, and then calls pass.
func inDefaultGraph(pass filter) filter {
	return func(key, value []byte) (bool, error) {
		_, terms, err := triple.SplitKey(key)
		if err != nil || len(terms[triple.Graph]) > 0 || pass == nil {
			return err == nil && len(terms[triple.Graph]) == 0, err
		}
		return pass(key, value)
	}
}

// read yields the rows of a range that pass the filter.
func (sn *Snapshot) read(ctx context.Context, r triple.Range, o ReadOptions, pass filter, yield func(Row, error) bool) {
	// 1. Narrow the range, because an answer may continue behind a key.
	r, err := o.narrow(r)
	if err != nil {
		yield(Row{}, err)
		return
	}
	if r.Empty() {
		return
	}
	if o.DefaultGraph {
		pass = inDefaultGraph(pass)
	}
	rows, err := sn.Rows(ctx, r)
	if err != nil {
		yield(Row{}, err)
		return
	}
	defer rows.Close()
	// 2. Open the readers. Annotations need an iterator of their own, because rows moves on.
	var annotations *annotatedReader
	if o.Annotations {
		if annotations, err = sn.newAnnotatedReader(); err != nil {
			yield(Row{}, err)
			return
		}
		defer annotations.close()
	}
	valid, step := false, rows.Next
	if o.Reverse {
		valid, step = rows.Last(), rows.Prev
	} else {
		valid = rows.First()
	}
	// 3. Yield row after row. A filtered row must not count against the offset or the limit.
	skip := o.Offset
	for left := o.Limit; valid; valid = step() {
		row := Row{Key: rows.Key(), Value: rows.Value()}
		if pass != nil {
			ok, err := pass(row.Key, row.Value)
			if err != nil {
				yield(Row{}, fault.Wrap("read", err))
				return
			}
			if !ok {
				continue
			}
		}
		if skip > 0 {
			skip--
			continue
		}
		if annotations != nil {
			if row.Annotations, err = annotations.of(ctx, row.Key); err != nil {
				yield(Row{}, err)
				return
			}
		}
		if !yield(row, nil) {
			return
		}
		if left--; left == 0 {
			return
		}
	}
	if err := rows.Err(); err != nil {
		yield(Row{}, err)
	}
}

// narrow returns the part of a range behind After.
func (o ReadOptions) narrow(r triple.Range) (triple.Range, error) {
	if err := o.Check(); err != nil {
		return r, err
	}
	if o.After == nil {
		return r, nil
	}
	if o.Reverse {
		return r.Intersect(triple.Range{Hi: o.After}), nil
	}
	return r.Intersect(triple.Range{Lo: append(bytes.Clone(o.After), 0)}), nil
}
