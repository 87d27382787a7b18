// Searches without an index, for predicates that have none or none yet.

package textsearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/textindex"
)

// maxScanBytes bounds the literals that a search without an index reads.
const maxScanBytes = 64 << 20

// scanBuildPart: this part of the memory of builds is for the builder of a scan.
const scanBuildPart = 4

// scanTimeout bounds the time of a scan, because rows of other types and other graphs do not count as literals.
const scanTimeout = 30 * time.Second

// scan reads the literals of the predicates, and makes an index of them for this search. So the answer is that of an
// index.
func (s *Search) scan(ctx context.Context) (err error) {
	x := s.index
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer func() {
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && client.Err() == nil {
			err = fmt.Errorf("%w: a scan may read literals for %s; trefoil text add makes an index", ErrTooSlow, scanTimeout)
		}
	}()
	// One scan at a time, because each takes memory for its literals and their index.
	unlock, err := x.scanning.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	predicates := s.request.Predicates
	if predicates == nil {
		if predicates, err = x.Predicates(ctx); err != nil {
			return err
		}
	}
	s.predicates = predicates
	if len(predicates) == 0 {
		return fmt.Errorf("%w: no predicate is indexed, and a scan needs the predicates to read: name one by p of /search, or text:predicate in SPARQL", ErrNotIndexed)
	}
	// 1. The literals.
	a := textindex.NewAnalyzer()
	s.scanned = []*textindex.Part{}
	s.bytes = 1 // a scan that finds nothing is one, too
	if err := s.scanLiterals(ctx, a, predicates); err != nil {
		return err
	}
	// 2. The statistics.
	s.stats, err = textindex.Collect(a, s.request, s.scanned, func() error { return context.Cause(ctx) })
	return err
}

// scanLiterals makes parts of the literals of the predicates.
func (s *Search) scanLiterals(ctx context.Context, a *textindex.Analyzer, predicates []string) (err error) {
	r, err := s.readerOf()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	total := 0
	for _, p := range predicates {
		b := textindex.NewBuilder(a, p, 0)
		finish := func() error {
			segment, err := b.Finish()
			if err != nil {
				return err
			}
			s.scanned = append(s.scanned, &textindex.Part{Segment: segment})
			s.bytes += int64(len(segment.Body()))
			b = textindex.NewBuilder(a, p, 0)
			return nil
		}
		var last []byte
		err := eachDocumentOf(ctx, r, p, func(key []byte) error {
			// 1. A literal with several rows counts once.
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
			// 2. A builder takes much more memory than its segment, so it must stay small.
			if b.Len() > 0 && b.Bytes()+len(key) > s.index.scanBuildBytes() {
				if err := finish(); err != nil {
					return err
				}
			}
			return b.Add(d)
		})
		if err == nil {
			err = finish()
		}
		if err != nil {
			return err
		}
	}
	s.bytes += int64(total)
	return nil
}

// scanBuildBytes is about how many bytes the builder of a scan may use.
func (x *Index) scanBuildBytes() int { return int(x.o.BuildMemory / scanBuildPart) }
