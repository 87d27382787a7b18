// Repeated pages in link files: the later list replaces the earlier one.

package load

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/rdfload/input"
	"github.com/trefoildb/trefoil/triple"
)

// listPlace is the place of a list: its source, and its offset in it. Lists are ordered by their
// places.
type listPlace struct {
	source int
	at     int64
}

func (p listPlace) isBefore(q listPlace) bool {
	return p.source < q.source || p.source == q.source && p.at < q.at
}

// lastPages holds the last lists of repeated pages. If it is nil, no page is repeated.
//
// It is found in one reading. If a page's hash is in a Bloom filter already, the page may be
// repeated, and its last place is kept from then on. Its first place is not needed, because a list
// is superseded if it is at another place than the last. A false positive of the filter only costs
// memory.
type lastPages struct {
	seed maphash.Seed
	last map[uint64]listPlace // by the page's hash
}

// superseded reports whether a later list of the same page follows. It is safe for concurrent use.
func (l *lastPages) superseded(source int, at int64, page []byte) bool {
	if l == nil {
		return false
	}
	last, ok := l.last[maphash.Bytes(l.seed, page)]
	return ok && listPlace{source, at}.isBefore(last)
}

// lastPageBytes is about the memory of an entry of the map.
const lastPageBytes = 64

// bytes returns about the memory of l.
func (l *lastPages) bytes() int64 {
	if l == nil {
		return 0
	}
	return int64(len(l.last)) * lastPageBytes
}

// lastFinder reads files in order and fills a lastPages.
type lastFinder struct {
	reading linkfile.Options
	most    int // entries
	filter  []uint64
	mask    uint64
	result  *lastPages
	watch   func(rdfload.Progress)
	done    int64 // bytes of completed sources
	total   int64
}

// errManyTwice is the error if too many pages are repeated.
var errManyTwice = errors.New("too many pages come more than once in these files for this memory")

// findLast reads the sources with whole lists. It may use memory bytes in this way: a sixteenth for
// the filter, freed at the end, and an eighth for the result. The result is nil if no page is
// repeated.
func findLast(ctx context.Context, sources []input.Source, reading linkfile.Options, memory int64, watch func(rdfload.Progress)) (*lastPages, error) {
	f := newLastFinder(reading, uint64(1)<<(bits.Len64(uint64(memory)/16/8)-1), int(memory/8/lastPageBytes), watch)
	return f.find(ctx, sources)
}

// newLastFinder returns a finder with a filter of words words, a power of two.
func newLastFinder(reading linkfile.Options, words uint64, most int, watch func(rdfload.Progress)) *lastFinder {
	return &lastFinder{reading: reading, most: most, filter: make([]uint64, words), mask: words*64 - 1,
		result: &lastPages{seed: maphash.MakeSeed(), last: make(map[uint64]listPlace)}, watch: watch}
}

func (f *lastFinder) find(ctx context.Context, sources []input.Source) (*lastPages, error) {
	for _, s := range sources {
		f.total += max(s.Size, 0)
	}
	for i, s := range sources {
		if err := f.read(ctx, i, s); err != nil {
			return nil, err
		}
	}
	if len(f.result.last) == 0 {
		return nil, nil
	}
	return f.result, nil
}

// progressBytes is the number of bytes of a file between two reports of progress.
const progressBytes = 8 << 20

func (f *lastFinder) read(ctx context.Context, source int, s input.Source) (err error) {
	// 1. Open the file, and report progress from time to time.
	rd, err := rdfload.OpenLinks(ctx, s, linkfile.Position{}, f.reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	reported := int64(0)
	report := func() {
		reported = rd.BytesIn()
		f.watch(rdfload.Progress{Phase: console.ScanPhase, Bytes: f.done + reported, TotalBytes: f.total})
	}
	// 2. Record the places of whole lists. Malformed parts are skipped, because the load reports
	// them.
	for {
		at := rd.Position().Offset
		switch {
		case rd.Scan():
			p := rd.Page()
			if p.Replace {
				if err := f.add(listPlace{source, at}, p.Source); err != nil {
					return err
				}
			}
		case rd.Err() == nil:
			report()
			f.done += reported
			return nil
		default: // the load reports malformed parts
			var syntax *triple.SyntaxError
			if err := rd.Err(); !errors.As(err, &syntax) {
				return err
			}
			if _, ok := rd.Recover(); !ok {
				return rd.Err()
			}
		}
		if rd.BytesIn()-reported >= progressBytes {
			report()
		}
	}
}

// add records a list.
func (f *lastFinder) add(at listPlace, page []byte) error {
	hash := maphash.Bytes(f.result.seed, page)
	if !f.seen(hash) {
		return nil
	}
	_, ok := f.result.last[hash]
	if !ok && len(f.result.last) >= f.most {
		return fmt.Errorf("%w: %d and more", errManyTwice, f.most)
	}
	f.result.last[hash] = at // places ascend, so the last one wins
	return nil
}

// seen adds a hash to the filter and reports whether it may have been there. It uses four bits, at
// distances of the hash's upper half (A. Kirsch and M. Mitzenmacher, Less hashing, same
// performance, 2006).
func (f *lastFinder) seen(hash uint64) bool {
	was, step := true, hash>>32|1
	for range 4 {
		word, bit := hash&f.mask>>6, uint64(1)<<(hash&63)
		was = was && f.filter[word]&bit != 0
		f.filter[word] |= bit
		hash += step
	}
	return was
}
