// Candidates: the documents that have the trigrams of some texts.

package textindex

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Condition is a condition on texts: a text must contain one text of each list, in any case of its letters.
type Condition [][]string

// Errors of [Candidates]; test with [errors.Is].
var (
	// ErrTooMany: there are more candidates than the caller wants.
	ErrTooMany = errors.New("there are too many candidates")
	// ErrNoTrigrams: a segment has no trigrams, or the texts of a condition have less than three characters.
	ErrNoTrigrams = errors.New("there are no trigrams")
)

// alternatives are the trigrams of the texts of one list of a condition.
type alternatives [][]gram

// trigrams returns the trigrams of a condition. A list with a short text selects nothing, and is left out.
func (c Condition) trigrams() (lists []alternatives) {
	var f folder
	for _, texts := range c {
		var of alternatives
		for _, text := range texts {
			var list []gram
			trigrams(f.fold([]byte(text)), func(g gram) { list = append(list, g) })
			slices.Sort(list)
			if list = slices.Compact(list); len(list) > 0 {
				of = append(of, list)
			}
		}
		if len(of) == len(texts) && len(of) > 0 {
			lists = append(lists, of)
		}
	}
	return lists
}

// Selects reports whether trigrams say something about a condition.
func (c Condition) Selects() bool { return len(c.trigrams()) > 0 }

// Candidates calls yield with the keys of all documents of some parts that meet a condition, and perhaps of some that
// do not. A key is valid during the call. If there are more than most, the error is [ErrTooMany]. check is called now
// and then, and ends the work by an error.
func Candidates(c Condition, parts []*Part, most int, check func() error, yield func(key []byte)) error {
	lists := c.trigrams()
	if len(lists) == 0 {
		return fmt.Errorf("%w: each text has less than three characters", ErrNoTrigrams)
	}
	// 1. The documents, before the first key is read.
	found := make([][]uint32, len(parts))
	total := 0
	for i, p := range parts {
		docs, err := p.candidates(lists, check)
		if err != nil {
			return err
		}
		if total += len(docs); total > most {
			return fmt.Errorf("%w: more than %d", ErrTooMany, most)
		}
		found[i] = docs
	}
	// 2. Their keys. Documents ascend, so each block is read once.
	for i, p := range parts {
		var keys keyReader
		for n, doc := range found[i] {
			if n%checkKeys == 0 {
				if err := check(); err != nil {
					return err
				}
			}
			key, err := keys.key(p.Segment, doc)
			if err != nil {
				return err
			}
			yield(key)
		}
	}
	return nil
}

// checkKeys is how many keys are read between two checks.
const checkKeys = 256

// candidates returns the documents of a part that have the trigrams of each list, ascending.
func (p *Part) candidates(lists []alternatives, check func() error) (docs []uint32, err error) {
	if !p.trigrams {
		return nil, fmt.Errorf("%w of <%s>", ErrNoTrigrams, p.Predicate())
	}
	for i, of := range lists {
		// 1. Those with the trigrams of one text of the list.
		var any []uint32
		for _, grams := range of {
			if err := check(); err != nil {
				return nil, err
			}
			one, err := p.haveAll(grams)
			if err != nil {
				return nil, err
			}
			any = append(any, one...)
		}
		if len(of) > 1 {
			slices.Sort(any)
			any = slices.Compact(any)
		}
		// 2. Each list must have them.
		if i > 0 {
			any = intersect(docs, any)
		}
		if docs = any; len(docs) == 0 {
			break
		}
	}
	return slices.DeleteFunc(docs, p.deleted), nil
}

// fewDocuments is a number of documents that are not worth another list of postings.
const fewDocuments = 8

// haveAll returns the documents that have all of some trigrams, ascending.
func (s *Segment) haveAll(grams []gram) (docs []uint32, err error) {
	// 1. The lists, the shortest first.
	lists := make([]list, len(grams))
	for i, g := range grams {
		l, ok, err := s.find([]byte(g.term()))
		if err != nil || !ok {
			return nil, err
		}
		lists[i] = l
	}
	slices.SortFunc(lists, func(a, b list) int { return cmp.Compare(a.count, b.count) })
	// 2. The documents of the first that all others have.
	for i, l := range lists {
		c := newCursor(s, l)
		if i == 0 {
			for doc := c.advance(0); doc != noDoc; doc = c.advance(doc + 1) {
				docs = append(docs, doc)
			}
		} else {
			docs = slices.DeleteFunc(docs, func(doc uint32) bool { return c.advance(doc) != doc })
		}
		if c.err != nil {
			return nil, c.err
		}
		if len(docs) <= fewDocuments {
			break
		}
	}
	return docs, nil
}

// intersect returns the documents of both lists, which ascend. It uses the memory of b.
func intersect(a, b []uint32) []uint32 {
	return slices.DeleteFunc(b, func(doc uint32) bool {
		for len(a) > 0 && a[0] < doc {
			a = a[1:]
		}
		return len(a) == 0 || a[0] != doc
	})
}

// HasTrigrams reports whether the segment has the trigrams of its documents.
func (s *Segment) HasTrigrams() bool { return s.trigrams }

// TrigramBytes returns about how many bytes of the body the trigrams take.
func (s *Segment) TrigramBytes() int64 {
	if !s.trigrams {
		return 0
	}
	// The terms of trigrams are neighbours, and so are their postings.
	before := func(bound []byte) uint64 {
		d := s.seek(bound)
		for d.next() {
			if bytes.Compare(d.term, bound) >= 0 {
				return uint64(len(s.sections[sectionTerms])-len(d.rest)) + d.postings - uint64(len(d.list.postings))
			}
		}
		return uint64(len(s.sections[sectionTerms]) + len(s.sections[sectionPostings]))
	}
	return int64(before([]byte{trigramPrefix + 1}) - before([]byte{trigramPrefix}))
}
