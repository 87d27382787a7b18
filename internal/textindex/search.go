// Searching parts for the best documents.

package textindex

import (
	"bytes"
	"cmp"
	"container/heap"
	"math"
	"slices"
	"strings"
)

// Hit is a document that a search found.
type Hit struct {
	Score     float64
	Hash      uint64
	Key       []byte
	Predicate string
}

// Compare orders hits: the highest score first, then by hash, key and predicate.
func (h *Hit) Compare(other *Hit) int {
	return cmp.Or(cmp.Compare(other.Score, h.Score), cmp.Compare(h.Hash, other.Hash), bytes.Compare(h.Key, other.Key), cmp.Compare(h.Predicate, other.Predicate))
}

// candidate is a document on its way to become a hit. key is nil until it is needed.
type candidate struct {
	score float64
	hash  uint64
	part  *Part
	doc   uint32
	key   []byte
}

// searcher collects the best candidates. The heap has the worst at its root.
type searcher struct {
	request *Request
	weights *weights
	analyze *Analyzer
	limit   int
	after   *Hit
	check   func() error
	heap    []candidate
	err     error
}

// Search returns up to limit documents of some parts that come first, or first after a hit; fewer if [Cut] says so. Stats must have the
// counts of all parts of the index, also those of other machines. check is called now and then, and ends the work by
// an error.
func Search(a *Analyzer, r *Request, s *Stats, parts []*Part, limit int, after *Hit, check func() error) ([]Hit, error) {
	f := &searcher{request: r, weights: r.weigh(a, s), analyze: a, limit: limit, after: after, check: check}
	if limit <= 0 {
		return nil, nil
	}
	for _, p := range parts {
		if r.Selects(p) {
			if err := f.search(p); err != nil {
				return nil, err
			}
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	return f.hits()
}

// PageBytes is the size of the keys of a page of hits from which it ends, because literals may be long.
const PageBytes = 4 << 20

// Cut reports whether other hits may come behind those of [Search].
func Cut(hits []Hit, limit int) bool {
	bytes := 0
	for i := range hits {
		bytes += len(hits[i].Key)
	}
	return len(hits) >= limit || bytes >= PageBytes
}

// hits returns the best candidates with their keys, a batch at a time until these take PageBytes.
func (f *searcher) hits() ([]Hit, error) {
	slices.SortFunc(f.heap, func(x, y candidate) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.hash, y.hash)) })
	var hits []Hit
	for batch, bytes := 4, 0; len(f.heap) > 0 && bytes < PageBytes; {
		// 1. The next candidates. Those with equal hashes stay together, because only their keys order them.
		n := min(batch, len(f.heap))
		for n < len(f.heap) && f.heap[n].score == f.heap[n-1].score && f.heap[n].hash == f.heap[n-1].hash {
			n++
		}
		// 2. Their keys, in the order of documents, because neighbours are in one block.
		list := f.heap[:n]
		slices.SortStableFunc(list, func(x, y candidate) int { return cmp.Compare(x.doc, y.doc) })
		readers := map[*Part]*keyReader{}
		for i := range list {
			c := &list[i]
			if readers[c.part] == nil {
				readers[c.part] = &keyReader{}
			}
			key, err := readers[c.part].key(c.part.Segment, c.doc)
			if err != nil {
				return nil, err
			}
			bytes += len(key)
			hits = append(hits, Hit{c.score, c.hash, key, c.part.Predicate()})
		}
		// 3. The size of the next batch is what fits if literals stay as long.
		f.heap = f.heap[n:]
		batch = max(1, min(4*batch, (PageBytes-bytes)/max(1, bytes/len(hits))))
	}
	slices.SortFunc(hits, func(x, y Hit) int { return x.Compare(&y) })
	return hits, nil
}

func (c *candidate) load() (err error) {
	if c.key == nil {
		c.key, err = c.part.key(c.doc)
	}
	return err
}

// checkEvery is how many documents lie between two checks.
const checkEvery = 1 << 12

// stopper ends the work on a segment if check returns an error.
type stopper struct {
	check func() error
	n     int
	err   error
}

// stop is called for each document that a matcher looks at, and reports whether it must end.
func (s *stopper) stop() bool {
	if s.n++; s.n%checkEvery == 0 && s.err == nil {
		s.err = s.check()
	}
	return s.err != nil
}

// search searches one part, language by language: a document has one, so no matcher needs the words of two.
func (f *searcher) search(p *Part) error {
	for _, lang := range f.request.languagesOf(p.languages) {
		stop := &stopper{check: f.check}
		m, err := f.matcher(p.Segment, lang, stop)
		if err == nil && m != nil {
			err = cmp.Or(f.keepBest(p, m, stop), m.failed(), stop.err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepBest keeps the best documents of a matcher.
func (f *searcher) keepBest(p *Part, m matcher, stop *stopper) error {
	tags := f.tags(p.Segment)
	threshold := 0.0
	if len(f.heap) == f.limit {
		threshold = f.heap[0].score
		m.setThreshold(threshold)
	}
	for doc := m.advance(0); doc != noDoc && !stop.stop(); doc = m.advance(doc + 1) {
		// 1. Leave out what scores too little, and what the request does not select.
		score := m.score()
		if score < threshold || p.deleted(doc) || tags != nil && !tags[p.tag(doc)] {
			continue
		}
		c := candidate{score: score, hash: p.hash(doc), part: p, doc: doc}
		if f.after != nil && !f.isAfter(&c) {
			continue
		}
		// 2. Keep the best.
		if len(f.heap) < f.limit {
			heap.Push(f, c)
		} else if f.better(&c, &f.heap[0]) {
			f.heap[0] = c
			heap.Fix(f, 0)
		}
		if f.err != nil {
			return f.err
		}
		// 3. Skip what cannot be better. Hashes ascend, so from the worst hash on an equal score is not enough.
		if len(f.heap) == f.limit {
			worst := &f.heap[0]
			next := worst.score
			if c.hash > worst.hash {
				next = math.Nextafter(next, math.Inf(1))
			}
			if next > threshold {
				threshold = next
				m.setThreshold(threshold)
			}
		}
	}
	return nil
}

// isAfter reports whether a candidate comes behind the hit that a page begins after.
func (f *searcher) isAfter(c *candidate) bool {
	switch a := f.after; {
	case c.score != a.Score:
		return c.score < a.Score
	case c.hash != a.Hash:
		return c.hash > a.Hash
	}
	if f.err = c.load(); f.err != nil {
		return false
	}
	h := Hit{c.score, c.hash, c.key, c.part.Predicate()}
	return f.after.Compare(&h) < 0
}

// better reports whether a candidate comes before another one.
func (f *searcher) better(c, other *candidate) bool {
	if order := cmp.Or(cmp.Compare(other.score, c.score), cmp.Compare(c.hash, other.hash)); order != 0 {
		return order < 0
	}
	if err := cmp.Or(c.load(), other.load()); err != nil {
		f.err = err
		return false
	}
	return cmp.Or(bytes.Compare(c.key, other.key), cmp.Compare(c.part.Predicate(), other.part.Predicate())) < 0
}

// The heap of candidates.
func (f *searcher) Len() int           { return len(f.heap) }
func (f *searcher) Less(i, j int) bool { return f.better(&f.heap[j], &f.heap[i]) }
func (f *searcher) Swap(i, j int)      { f.heap[i], f.heap[j] = f.heap[j], f.heap[i] }
func (f *searcher) Push(c any)         { f.heap = append(f.heap, c.(candidate)) }
func (f *searcher) Pop() any           { panic("nothing is popped") }

// tags returns the language tags of a segment that a request selects; nil if the terms select them already.
func (f *searcher) tags(s *Segment) map[string]bool {
	r := f.request.Language
	if r == nil || LanguageOf(*r) == strings.ToLower(*r) {
		return nil
	}
	tags := map[string]bool{}
	for _, tag := range s.tags {
		tags[tag] = InRange(tag, *r)
	}
	return tags
}

// InRange reports whether a language tag is in a range: it is the range, or begins with it and a hyphen, in
// any case. The range "" has "" only.
func InRange(tag, languages string) bool {
	tag, languages = strings.ToLower(tag), strings.ToLower(languages)
	return tag == languages || languages != "" && strings.HasPrefix(tag, languages+"-")
}

// languageSearcher makes the matchers of one segment and one language.
type languageSearcher struct {
	*searcher
	*scorer
	query   *analyzedQuery
	weights []float64 // by leaf
	// expansions are those of all leaves.
	expansions expansions
}

// matcher returns the matcher of the query in a language; nil if nothing of the segment can match.
func (f *searcher) matcher(s *Segment, lang string, stop *stopper) (matcher, error) {
	q, ok := f.weights.queries[lang]
	if !ok {
		return nil, nil // its documents came after the statistics
	}
	l := &languageSearcher{searcher: f, scorer: newScorer(s, f.weights.average, stop), query: &q, weights: f.weights.of[lang]}
	return l.node(f.request.Query.root)
}

// node returns the matcher of a node; nil if nothing of the segment can match.
func (f *languageSearcher) node(n node) (matcher, error) {
	switch n := n.(type) {
	case *leaf:
		return f.leaf(n)
	case *anyOf:
		var of []matcher
		for _, operand := range n.of {
			m, err := f.node(operand)
			if err != nil {
				return nil, err
			}
			if m != nil {
				of = append(of, m)
			}
		}
		switch len(of) {
		case 0:
			return nil, nil
		case 1:
			return of[0], nil
		}
		return newDisjunction(of, f.stopper), nil
	case *allOf:
		return f.conjunction(n)
	}
	return nil, nil // Parse allows a NOT within a conjunction only
}

func (f *languageSearcher) conjunction(n *allOf) (matcher, error) {
	var of, excluded []matcher
	for _, operand := range n.of {
		exclude, negative := operand.(*notOf)
		if negative {
			operand = exclude.of
		}
		m, err := f.node(operand)
		switch {
		case err != nil:
			return nil, err
		case negative && m != nil:
			excluded = append(excluded, m)
		case negative:
		case m == nil:
			return nil, nil
		default:
			of = append(of, m)
		}
	}
	if len(of) == 1 && len(excluded) == 0 {
		return of[0], nil
	}
	return newConjunction(of, excluded, f.stopper), nil
}

// leaf returns the matcher of a leaf; nil if nothing of the segment can match.
func (f *languageSearcher) leaf(l *leaf) (matcher, error) {
	weight := f.weights[l.index]
	// 1. A prefix or a fuzzy word. Statistics have found its terms before.
	if l.kind != wordLeaf {
		lists, kept := f.request.kept.lists[keptKey{f.segment, l.index, f.query.lang}]
		if !kept {
			var err error
			if lists, err = f.segment.expand(l, f.query.lang, f.analyze.Normalize(l.text), f.query.word(l.index), &f.expansions, f.check); err != nil {
				return nil, err
			}
		}
		switch len(lists) {
		case 0:
			return nil, nil
		case 1:
			return newTermMatcher(f.scorer, lists[0], weight), nil
		}
		return newUnionMatcher(f.scorer, lists, weight), nil
	}
	// 2. A word or a phrase.
	var lists []list
	for _, word := range f.query.words[l.index] {
		found, ok, err := f.segment.find([]byte(termOf(f.query.lang, word)))
		if err != nil || !ok {
			return nil, err
		}
		lists = append(lists, found)
	}
	switch len(lists) {
	case 0:
		return nil, nil
	case 1:
		return newTermMatcher(f.scorer, lists[0], weight), nil
	}
	return newPhraseMatcher(f.scorer, lists, l.slop, weight), nil
}
