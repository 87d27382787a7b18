// Merging segments, without their deleted documents.

package textindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Merge returns one segment of the documents of some parts of one predicate and partition that are not deleted.
// check is called now and then, and ends the work by an error. All or none of the parts must have trigrams. They must have different documents, and fewer
// than 2^31 together; a document that two parts have is taken once.
func Merge(parts []*Part, check func() error) (*Segment, error) {
	trigrams := parts[0].trigrams
	if slices.ContainsFunc(parts, func(p *Part) bool { return p.trigrams != trigrams }) {
		return nil, fmt.Errorf("some segments of <%s> have trigrams, and others have none", parts[0].Predicate())
	}
	w := newSegmentWriter(parts[0].Predicate(), parts[0].partition, trigrams)
	places, err := w.mergeDocuments(parts, check)
	if err != nil {
		return nil, err
	}
	if err := w.mergeTerms(parts, places, check); err != nil {
		return nil, err
	}
	body, docs := w.finish()
	return Open(body, bytes.NewReader(docs), int64(len(docs)))
}

// source reads the documents of a part in order.
type source struct {
	part *Part
	next func() ([]byte, error, bool)
	doc  uint32
	key  []byte
	hash uint64
}

// step reads the next document. It returns false at the end.
func (s *source) step() (bool, error) {
	key, err, ok := s.next()
	if err != nil || !ok {
		return false, err
	}
	if s.doc++; s.doc >= s.part.documents {
		return false, damaged("a segment has more documents than hashes")
	}
	s.key, s.hash = append(s.key[:0], key...), s.part.hash(s.doc)
	return true, nil
}

// mergeDocuments writes the documents of all parts in order, and returns their new numbers; noDoc is none.
func (w *segmentWriter) mergeDocuments(parts []*Part, check func() error) (places [][]uint32, err error) {
	// 1. Begin with the first document of each part.
	var sources []*source
	places = make([][]uint32, len(parts))
	index := map[*source]int{}
	for i, p := range parts {
		places[i] = make([]uint32, p.documents)
		next, stop := iter.Pull2(p.Keys())
		defer stop()
		s := &source{part: p, next: next, doc: noDoc}
		ok, err := s.step()
		if err != nil {
			return nil, err
		}
		if ok {
			sources, index[s] = append(sources, s), i
		}
	}
	// 2. Take the first of all, again and again. The parts are few.
	var last []byte
	for n := 1; len(sources) > 0; n++ {
		if n%checkEvery == 0 {
			if err := check(); err != nil {
				return nil, err
			}
		}
		s := slices.MinFunc(sources, func(a, b *source) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), bytes.Compare(a.key, b.key))
		})
		places[index[s]][s.doc] = noDoc
		if twice := w.documents > 0 && bytes.Equal(last, s.key); !twice && !s.part.deleted(s.doc) {
			places[index[s]][s.doc] = w.documents
			w.addDocument(s.hash, s.key, s.part.tag(s.doc), s.part.length(s.doc))
			last = append(last[:0], s.key...)
		}
		ok, err := s.step()
		if err != nil {
			return nil, err
		}
		if !ok {
			sources = slices.DeleteFunc(sources, func(o *source) bool { return o == s })
		}
	}
	return places, nil
}

// posting is a posting of a merged list.
type posting struct {
	doc, frequency uint32
	start, end     int // of its positions
}

// mergeTerms writes the terms of all parts.
func (w *segmentWriter) mergeTerms(parts []*Part, places [][]uint32, check func() error) error {
	dictionaries := make([]*dictionary, len(parts))
	left := 0
	for i, p := range parts {
		if dictionaries[i] = p.seek(nil); dictionaries[i].next() {
			left++
		} else if dictionaries[i].err != nil {
			return dictionaries[i].err
		} else {
			dictionaries[i] = nil
		}
	}
	var list []posting
	var positions, ordered, term []byte
	var documents, frequencies []uint32
	for n := 1; left > 0; n++ {
		if n%checkEvery == 0 {
			if err := check(); err != nil {
				return err
			}
		}
		// 1. The first term of all.
		found := false
		for _, d := range dictionaries {
			if d != nil && (!found || bytes.Compare(d.term, term) < 0) {
				term, found = append(term[:0], d.term...), true
			}
		}
		// 2. Its postings in all parts.
		list, positions = list[:0], positions[:0]
		for i, d := range dictionaries {
			if d == nil || !bytes.Equal(d.term, term) {
				continue
			}
			c := newCursor(parts[i].Segment, d.list)
			for doc := c.advance(0); doc != noDoc; doc = c.advance(doc + 1) {
				if place := places[i][doc]; place != noDoc {
					start := len(positions)
					if len(d.list.positions) > 0 {
						positions = append(positions, c.positionBytes()...)
					}
					list = append(list, posting{place, c.frequency(), start, len(positions)})
				}
			}
			if c.err != nil {
				return c.err
			}
			if !d.next() {
				if d.err != nil {
					return d.err
				}
				dictionaries[i] = nil
				left--
			}
		}
		if len(list) == 0 {
			continue
		}
		if len(positions) > math.MaxUint32 {
			return damaged("the positions of one word take more than 4 GiB")
		}
		slices.SortFunc(list, func(a, b posting) int { return cmp.Compare(a.doc, b.doc) })
		documents, frequencies, ordered = documents[:0], frequencies[:0], ordered[:0]
		for _, p := range list {
			documents, frequencies = append(documents, p.doc), append(frequencies, p.frequency)
			ordered = append(ordered, positions[p.start:p.end]...)
		}
		w.addTerm(term, documents, frequencies, ordered)
	}
	return nil
}

// Delete returns a part without some documents, which must not be deleted yet. gone has these documents.
func (p *Part) Delete(docs []uint32, gone *Segment) *Part {
	other := &Part{Segment: p.Segment, Deleted: make([]uint64, (p.documents+63)/64), Gone: append(slices.Clone(p.Gone), gone)}
	copy(other.Deleted, p.Deleted)
	for _, doc := range docs {
		other.Deleted[doc/64] |= 1 << (doc % 64)
	}
	return other
}

// Lookup returns the number of the document with a key; ok is false if there is none, or if it is deleted.
func (p *Part) Lookup(key []byte) (doc uint32, ok bool, err error) {
	doc, ok, err = p.Find(key)
	return doc, ok && !p.deleted(doc), err
}

// AppendDeleted appends the deleted documents as bytes.
func (p *Part) AppendDeleted(dst []byte) []byte {
	for _, word := range p.Deleted {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}
