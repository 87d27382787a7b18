// Scores of given documents.

package textindex

import (
	"cmp"
	"slices"
	"sort"
)

// wantedDoc is a document whose score is requested, and the place of its key.
type wantedDoc struct {
	doc   uint32
	place int
}

// Scores returns the score of each document with one of some keys, 0 if no part has it or if it does not match. Stats
// must have the counts of all parts of the index. The time depends on the number of keys rather than of hits. check is
// called now and then, and ends the work by an error.
func Scores(a *Analyzer, r *Request, s *Stats, parts []*Part, keys [][]byte, check func() error) ([]float64, error) {
	f := &searcher{request: r, weights: r.weigh(a, s), analyze: a, check: check}
	// In the order of hashes, documents ascend.
	hashes := make([]uint64, len(keys))
	places := make([]int, len(keys))
	for i, key := range keys {
		hashes[i], places[i] = Hash(key), i
	}
	slices.SortFunc(places, func(x, y int) int { return cmp.Compare(hashes[x], hashes[y]) })
	scores := make([]float64, len(keys))
	for _, p := range parts {
		if !r.Selects(p) {
			continue
		}
		if err := check(); err != nil {
			return nil, err
		}
		var wanted []wantedDoc
		for _, place := range places {
			first, end := p.docsOf(hashes[place])
			for doc := first; doc < end; doc++ {
				wanted = append(wanted, wantedDoc{doc, place})
			}
		}
		// Equal hashes may repeat the same documents, for another key each.
		slices.SortStableFunc(wanted, func(x, y wantedDoc) int { return cmp.Compare(x.doc, y.doc) })
		if err := f.scores(p, wanted, keys, scores); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

// docsOf returns the range of the documents with a hash.
func (s *Segment) docsOf(hash uint64) (first, end uint32) {
	if s.documents == 0 || hash < s.hash(0) || hash > s.hash(s.documents-1) {
		return 0, 0
	}
	first = uint32(sort.Search(int(s.documents), func(i int) bool { return s.hash(uint32(i)) >= hash }))
	for end = first; end < s.documents && s.hash(end) == hash; end++ {
	}
	return first, end
}

// scores writes the scores of some documents of a part, which ascend, to the places of their keys.
func (f *searcher) scores(p *Part, wanted []wantedDoc, keys [][]byte, scores []float64) error {
	if len(wanted) == 0 {
		return nil
	}
	selected := f.tags(p.Segment)
	var reader keyReader
	for _, lang := range f.request.languagesOf(p.languages) {
		stop := &stopper{check: f.check}
		m, err := f.matcher(p.Segment, lang, stop)
		if err != nil {
			return err
		}
		if m == nil {
			continue
		}
		for _, w := range wanted {
			if stop.stop() {
				return stop.err
			}
			if tag := p.tag(w.doc); p.deleted(w.doc) || selected != nil && !selected[tag] || LanguageOf(tag) != lang || m.advance(w.doc) != w.doc {
				continue
			}
			// The hash is that of the key, but other keys may have it too.
			key, err := reader.key(p.Segment, w.doc)
			if err != nil {
				return err
			}
			if string(key) == string(keys[w.place]) {
				scores[w.place] = m.score()
			}
		}
		if err := cmp.Or(m.failed(), stop.err); err != nil {
			return err
		}
	}
	return nil
}
