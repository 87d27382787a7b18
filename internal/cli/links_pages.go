package cli

// This file finds the pages that come twice in link files, where a later list of
// a page replaces the earlier one.

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/trefoildb/trefoil/links/linkfile"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/triple"
)

// listPlace is where a list is: in which source, and where it begins. Lists are in
// the order of their places.
type listPlace struct {
	source int
	at     int64
}

func (p listPlace) before(q listPlace) bool {
	return p.source < q.source || p.source == q.source && p.at < q.at
}

// lastPages knows the last lists of the pages that come twice. A nil *lastPages
// knows that none do.
//
// It is found in one reading: a page whose hash is in a Bloom filter already may
// have come before, and its last place is kept from then on. Its first place need not
// be known: whatever list of it is at another place than the last is not the last.
// A page that only seems to have come before costs memory and nothing else.
type lastPages struct {
	seed maphash.Seed
	last map[uint64]listPlace // by the page's hash
}

// superseded reports whether a list is followed by another one of its page. It may be
// asked by several goroutines.
func (l *lastPages) superseded(source int, at int64, page []byte) bool {
	if l == nil {
		return false
	}
	last, ok := l.last[maphash.Bytes(l.seed, page)]
	return ok && listPlace{source, at}.before(last)
}

// lastPageBytes is about what an entry of the map takes.
const lastPageBytes = 64

// bytes returns about what l takes.
func (l *lastPages) bytes() int64 {
	if l == nil {
		return 0
	}
	return int64(len(l.last)) * lastPageBytes
}

// lastFinder reads files, one after the other, for a lastPages.
type lastFinder struct {
	reading linkfile.Options
	most    int // entries
	filter  []uint64
	mask    uint64
	result  *lastPages
	watch   func(rdfload.Progress)
	done    int64 // bytes of sources that are read
	total   int64
}

// errManyTwice says that too many pages come twice.
var errManyTwice = errors.New("too many pages come more than once in these files for this memory")

// findLast reads the sources that have whole lists. Memory is what it may take of:
// a sixteenth for the filter, which goes again, and an eighth for what is kept. The
// result is nil where no page comes twice.
func findLast(ctx context.Context, sources []rdfload.Source, reading linkfile.Options, memory int64, watch func(rdfload.Progress)) (*lastPages, error) {
	f := newLastFinder(reading, uint64(1)<<(bits.Len64(uint64(memory)/16/8)-1), int(memory/8/lastPageBytes), watch)
	return f.find(ctx, sources)
}

// newLastFinder returns a finder with a filter of so many words, a power of two.
func newLastFinder(reading linkfile.Options, words uint64, most int, watch func(rdfload.Progress)) *lastFinder {
	return &lastFinder{reading: reading, most: most, filter: make([]uint64, words), mask: words*64 - 1,
		result: &lastPages{seed: maphash.MakeSeed(), last: make(map[uint64]listPlace)}, watch: watch}
}

func (f *lastFinder) find(ctx context.Context, sources []rdfload.Source) (*lastPages, error) {
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

// scanPhase is the reading before a load.
const scanPhase rdfload.Phase = "look through"

// progressBytes is after how many bytes of a file progress is told.
const progressBytes = 8 << 20

func (f *lastFinder) read(ctx context.Context, source int, s rdfload.Source) (err error) {
	rd, err := rdfload.OpenLinks(ctx, s, linkfile.Position{}, f.reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rd.Close()) }()
	told := int64(0)
	tell := func() {
		told = rd.BytesIn()
		f.watch(rdfload.Progress{Phase: scanPhase, Bytes: f.done + told, TotalBytes: f.total})
	}
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
			tell()
			f.done += told
			return nil
		default: // what is malformed is told by the load
			var syntax *triple.SyntaxError
			if err := rd.Err(); !errors.As(err, &syntax) {
				return err
			}
			if _, ok := rd.Recover(); !ok {
				return rd.Err()
			}
		}
		if rd.BytesIn()-told >= progressBytes {
			tell()
		}
	}
}

// add takes note of a list.
func (f *lastFinder) add(at listPlace, page []byte) error {
	hash := maphash.Bytes(f.result.seed, page)
	if !f.seen(hash) {
		return nil
	}
	_, ok := f.result.last[hash]
	if !ok && len(f.result.last) >= f.most {
		return fmt.Errorf("%w: %d and more", errManyTwice, f.most)
	}
	f.result.last[hash] = at // places ascend
	return nil
}

// seen puts a hash into the filter and reports whether it may have been there: four
// bits, at distances that are the hash's upper half (A. Kirsch and M. Mitzenmacher,
// Less hashing, same performance, 2006).
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
