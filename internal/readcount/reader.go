// Readers that count.

package readcount

import (
	"bytes"
	"context"
	"iter"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Observe returns r or, if a subscription needs it, a reader of the same that counts. A nil Counter
// never counts.
func (c *Counter) Observe(r store.Reader, caller Caller) store.Reader {
	if !c.Active() {
		return r
	}
	return &reader{Reader: r, observation: observation{counter: c, caller: caller}}
}

// Active reports whether a subscription needs counts.
func (c *Counter) Active() bool { return c != nil && c.active.Load() }

// Count counts reads that do not go through a [store.Reader].
func (c *Counter) Count(caller Caller, reads iter.Seq2[Pattern, int64]) {
	if !c.Active() {
		return
	}
	o := observation{counter: c, caller: caller}
	for p, rows := range reads {
		o.add(&p, rows)
	}
	o.flush()
}

// observation collects the reads of one request, so that they take the counter's lock seldom.
type observation struct {
	counter *Counter
	caller  Caller

	mu    sync.Mutex
	reads table
	text  []byte // of the last pattern
}

// maxObserved bounds the reads that an observation holds.
const maxObserved = 256

// add counts one read.
func (o *observation) add(p *Pattern, rows int64) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reads == nil {
		o.reads = table{}
	}
	o.text = p.appendTo(o.text[:0])
	o.reads.add(key{o.caller, string(o.text)}, count{1, rows, now, now}, maxObserved)
	if len(o.reads) == maxObserved {
		o.counter.take(o.reads)
		clear(o.reads)
	}
}

// flush hands all to the counter.
func (o *observation) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counter.take(o.reads)
	clear(o.reads)
}

// reader counts what is read through it.
type reader struct {
	store.Reader
	observation
}

// Close implements [store.Reader].
func (r *reader) Close() error {
	r.flush()
	return r.Reader.Close()
}

// Match implements [store.Matcher].
func (r *reader) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return observeRows(r, r.Reader.Match(ctx, p, o), func() Pattern { return PatternOf(p) })
}

// Range implements [store.Matcher].
func (r *reader) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return observeRows(r, r.Reader.Range(ctx, b, o), func() Pattern {
		keys, err := b.KeyRange()
		if err != nil {
			return Pattern{} // the read has failed, too
		}
		return rangePattern(keys.Range)
	})
}

// observeRows counts the rows of one read when it ends. A read that fails before its first row does
// not count.
func observeRows[T any](r *reader, rows iter.Seq2[T, error], pattern func() Pattern) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n, failed := int64(0), false
		defer func() {
			if !failed || n > 0 {
				p := pattern()
				r.add(&p, n)
			}
		}()
		for row, err := range rows {
			if err == nil {
				n++
			}
			failed = failed || err != nil
			if !yield(row, err) {
				return
			}
		}
	}
}

// Count implements [store.Matcher].
func (r *reader) Count(ctx context.Context, all ...triple.Pattern) (sum int64, err error) {
	// One by one, because each pattern has its own rows.
	for _, p := range all {
		n, err := r.Reader.Count(ctx, p)
		if err != nil {
			return 0, err
		}
		read := PatternOf(p)
		r.add(&read, n)
		sum += n
	}
	return sum, nil
}

// Annotation implements [store.AnnotationReader].
func (r *reader) Annotation(ctx context.Context, t triple.Triple, applicationID string) (*store.Annotation, error) {
	a, err := r.Reader.Annotation(ctx, t, applicationID)
	if err == nil {
		read, rows := PatternOf(triple.Exact(t)), int64(0)
		if a != nil {
			rows = 1
		}
		r.add(&read, rows)
	}
	return a, err
}

// Annotations implements [store.AnnotationReader].
func (r *reader) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[store.Annotation, error] {
	return observeRows(r, r.Reader.Annotations(ctx, t), func() Pattern { return PatternOf(triple.Exact(t)) })
}

// Source implements [store.Reader].
func (r *reader) Source() sparql.Source { return observedSource{r.Reader.Source(), r} }

// observedSource counts the scans of a query. Estimates and samples for its plan do not count.
type observedSource struct {
	sparql.Source
	reader *reader
}

var _ source.Surveyor = observedSource{}

// Survey implements [source.Surveyor].
func (s observedSource) Survey(ctx context.Context, questions []source.Question) ([]source.Finding, error) {
	return source.Survey(ctx, s.Source, questions)
}

// Scan implements [source.Source].
func (s observedSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.Source.Scan(ctx, r, reverse)
	if err != nil {
		return nil, err
	}
	return &observedRows{Rows: rows, reader: s.reader, pattern: rangePattern(r).clone()}, nil
}

// Lookup implements [source.Source]. Each range is a read. If it ends early, ranges behind the last
// row were not read.
func (s observedSource) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	at, rows := 0, int64(0)
	end := func(next int) {
		for ; at < next; at, rows = at+1, 0 {
			p := rangePattern(ranges[at])
			s.reader.add(&p, rows)
		}
	}
	err := s.Source.Lookup(ctx, ranges, func(i int, key, value []byte) error {
		end(i)
		rows++
		return each(i, key, value)
	})
	// Before some plans the engine finds out if the store has named graphs at all.
	if len(ranges) == 1 && rows <= 1 && bytes.Equal(ranges[0].Lo, []byte{byte(triple.GSPO)}) {
		return err
	}
	switch {
	case err == nil:
		end(len(ranges))
	case rows > 0:
		end(at + 1)
	}
	return err
}

// Count implements [source.Source].
func (s observedSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	n, err := s.Source.Count(ctx, r)
	if err == nil {
		p := rangePattern(r)
		s.reader.add(&p, n)
	}
	return n, err
}

// observedRows counts the rows of a scan.
type observedRows struct {
	sparql.Rows
	reader  *reader
	pattern Pattern
	rows    int64
	closed  bool
}

// Next implements [source.Rows].
func (r *observedRows) Next() bool {
	ok := r.Rows.Next()
	if ok {
		r.rows++
	}
	return ok
}

// SeekGE implements [source.Rows].
func (r *observedRows) SeekGE(key []byte) bool {
	ok := r.Rows.SeekGE(key)
	if ok {
		r.rows++
	}
	return ok
}

// Close implements [source.Rows].
func (r *observedRows) Close() error {
	if !r.closed && (r.Err() == nil || r.rows > 0) {
		r.reader.add(&r.pattern, r.rows)
	}
	r.closed = true
	return r.Rows.Close()
}
