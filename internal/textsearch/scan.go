// Searches without an index, for predicates that have none or none yet.

package textsearch

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/textindex"
)

// maxScanBytes bounds the literals that a search without an index reads.
const maxScanBytes = 64 << 20

// scan reads the literals of the predicates, and makes an index of them for this search. So the answer is that of an
// index.
func (s *Search) scan(ctx context.Context) error {
	x := s.index
	predicates := s.request.Predicates
	if predicates == nil {
		var err error
		if predicates, err = x.Predicates(ctx); err != nil {
			return err
		}
	}
	if len(predicates) == 0 {
		return fmt.Errorf("%w: no predicate is indexed, and a scan needs the predicates to read: name one by p of /search, or text:predicate in SPARQL", ErrNotIndexed)
	}
	// 1. The literals.
	a := textindex.NewAnalyzer()
	s.scanned = []*textindex.Part{}
	total := 0
	s.bytes = 1 // a scan that finds nothing is one, too
	for _, p := range predicates {
		b := textindex.NewBuilder(a, p, 0)
		var last []byte
		err := x.eachDocument(ctx, p, func(key []byte) error {
			if bytes.Equal(key, last) {
				return nil
			}
			last = append(last[:0], key...)
			if total += len(key); total > maxScanBytes {
				return fmt.Errorf("%w: a scan reads up to %d bytes of literals, and <%s> has more; trefoil text add makes an index", ErrNotIndexed, maxScanBytes, p)
			}
			d, err := documentOf(key)
			if err != nil {
				return err
			}
			return b.Add(d)
		})
		if err != nil {
			return err
		}
		segment, err := b.Finish()
		if err != nil {
			return err
		}
		s.scanned = append(s.scanned, &textindex.Part{Segment: segment})
		s.bytes += int64(len(segment.Body()))
	}
	s.bytes += int64(total)
	// 2. The statistics.
	var err error
	s.stats, err = textindex.Collect(a, s.request, s.scanned, func() error { return context.Cause(ctx) })
	return err
}
