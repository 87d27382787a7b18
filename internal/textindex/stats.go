// Statistics of a query's words: counted in parts, added up over machines, and turned into weights.

package textindex

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Part is a segment with its deleted documents. It must not be changed.
type Part struct {
	*Segment
	// Deleted has a bit for each document; nil is none.
	Deleted []uint64
	// Gone are segments of the deleted documents. Their counts are subtracted.
	Gone []*Segment
}

func (p *Part) deleted(doc uint32) bool {
	return p.Deleted != nil && p.Deleted[doc/64]>>(doc%64)&1 != 0
}

// Live returns the number of documents that are not deleted.
func (p *Part) Live() int {
	n := p.Documents()
	for _, g := range p.Gone {
		n -= g.Documents()
	}
	return n
}

// Request is what a search looks for. Collect must not run beside other uses of it.
type Request struct {
	Query *Query
	// Predicates are the predicates to search; nil is all.
	Predicates []string
	// Language, if set, is a range of language tags: en also matches en-GB. "" matches literals without a tag.
	Language *string

	kept keptLists
}

// Selects reports whether a part may have documents for a request.
func (r *Request) Selects(p *Part) bool {
	return r.Predicates == nil || slices.Contains(r.Predicates, p.Predicate())
}

// Stats are the counts that scores need. Those of disjoint parts add up.
type Stats struct {
	Documents, Tokens uint64
	// Frequencies are the numbers of documents by term or, for a prefix or a fuzzy word, by leaf and
	// language.
	Frequencies map[string]uint64
	// Languages are those of the documents, sorted.
	Languages []string
}

// Add adds the counts of other parts.
func (s *Stats) Add(other Stats) {
	s.Documents += other.Documents
	s.Tokens += other.Tokens
	if s.Frequencies == nil {
		s.Frequencies = map[string]uint64{}
	}
	for key, n := range other.Frequencies {
		s.Frequencies[key] += n
	}
	s.Languages = append(s.Languages, other.Languages...)
	slices.Sort(s.Languages)
	s.Languages = slices.Compact(s.Languages)
}

// Fixed returns statistics with the languages of s that depend on no document: each word has the same weight, and a
// literal of 10 words is of average length.
func (s Stats) Fixed() Stats {
	return Stats{Documents: 1, Tokens: 10, Languages: s.Languages}
}

// expansionKey is the key in Frequencies of a prefix or a fuzzy word.
func expansionKey(l *leaf, lang string) string { return fmt.Sprintf("\x01%d\x00%s", l.index, lang) }

// analyzed are the words of the leaves of a query in one language.
type analyzedQuery struct {
	lang  string
	words [][]string // by leaf
}

// analyze analyzes a query in a language.
func (r *Request) analyze(a *Analyzer, lang string) analyzedQuery {
	q := analyzedQuery{lang, make([][]string, len(r.Query.leaves))}
	for i, l := range r.Query.leaves {
		a.Words(lang, []byte(l.text), func(w Word) bool {
			q.words[i] = append(q.words[i], w.Term)
			return len(q.words[i]) < 2*MaxPhrase
		})
	}
	return q
}

// word returns the only word of a leaf, "" if it has none or more.
func (q *analyzedQuery) word(leaf int) string {
	if len(q.words[leaf]) == 1 {
		return q.words[leaf][0]
	}
	return ""
}

// languagesOf returns those languages that a request may find.
func (r *Request) languagesOf(languages []string) []string {
	if r.Language == nil {
		return languages
	}
	lang := LanguageOf(*r.Language)
	if slices.Contains(languages, lang) {
		return []string{lang}
	}
	return nil
}

// Collect counts what a request needs of some parts. check is called now and then, and ends the work by an
// error.
func Collect(a *Analyzer, r *Request, parts []*Part, check func() error) (Stats, error) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *Part) bool { return !r.Selects(p) })
	e := &expansions{segments: len(parts)}
	s, err := r.collect(a, parts, e, check)
	if errors.Is(err, errRecount) {
		e.seen = map[expandedWord]struct{}{}
		s, err = r.collect(a, parts, e, check)
	}
	return s, err
}

func (r *Request) collect(a *Analyzer, parts []*Part, e *expansions, check func() error) (Stats, error) {
	s := Stats{Frequencies: map[string]uint64{}}
	queries := map[string]analyzedQuery{}
	for _, p := range parts {
		if err := check(); err != nil {
			return s, err
		}
		// 1. All documents count, whatever their language is.
		s.Add(Stats{Languages: p.languages})
		s.Documents, s.Tokens = s.Documents+uint64(p.documents), s.Tokens+p.tokens
		for _, g := range p.Gone {
			s.Documents, s.Tokens = s.Documents-uint64(g.documents), s.Tokens-g.tokens
		}
		// 2. The terms of each language.
		for _, lang := range r.languagesOf(p.languages) {
			q, ok := queries[lang]
			if !ok {
				q = r.analyze(a, lang)
				queries[lang] = q
			}
			if err := r.count(a, p.Segment, &q, e, check, func(key string, n uint64) { s.Frequencies[key] += n }); err != nil {
				return s, err
			}
			for _, g := range p.Gone {
				if err := r.count(a, g, &q, nil, check, func(key string, n uint64) { s.Frequencies[key] -= n }); err != nil {
					return s, err
				}
			}
		}
	}
	return s, nil
}

// count calls add with the frequencies of a query's terms in a segment. A term that occurs twice in the query
// counts once. e counts the terms of prefixes and fuzzy words; without it the segment has deleted documents.
func (r *Request) count(a *Analyzer, s *Segment, q *analyzedQuery, e *expansions, check func() error, add func(key string, n uint64)) error {
	seen := map[string]bool{}
	for i, l := range r.Query.leaves {
		// 1. A prefix or a fuzzy word counts as one term.
		if l.kind != wordLeaf {
			lists, err := s.expand(l, q.lang, a.Normalize(l.text), q.word(i), e, check)
			if err != nil {
				return err
			}
			key := expansionKey(l, q.lang)
			for i := range lists {
				add(key, uint64(lists[i].count))
			}
			if e != nil {
				r.kept.keep(keptKey{s, l.index, q.lang}, lists)
			}
			continue
		}
		// 2. The words of a phrase count each.
		for _, word := range q.words[i] {
			term := termOf(q.lang, word)
			if seen[term] {
				continue
			}
			seen[term] = true
			list, ok, err := s.find([]byte(term))
			if err != nil {
				return err
			}
			if ok {
				add(term, uint64(list.count))
			}
		}
	}
	return nil
}

// weights are the weights of the leaves of a query, by language.
type weights struct {
	average   float64
	languages []string
	queries   map[string]analyzedQuery
	of        map[string][]float64
}

// inverse returns the inverse document frequency of a word.
func (s *Stats) inverse(frequency uint64) float64 {
	f, n := float64(min(frequency, s.Documents)), float64(s.Documents)
	return math.Log(1 + (n-f+0.5)/(f+0.5))
}

// weigh returns the weights by the statistics of all parts. A word has one weight in all languages, because a
// rare language must not make its documents better. A phrase has the weight of its words.
func (r *Request) weigh(a *Analyzer, s *Stats) *weights {
	w := &weights{average: 1, languages: r.languagesOf(s.Languages), queries: map[string]analyzedQuery{}, of: map[string][]float64{}}
	if s.Documents > 0 && s.Tokens > 0 {
		w.average = float64(s.Tokens) / float64(s.Documents)
	}
	for _, lang := range w.languages {
		w.queries[lang] = r.analyze(a, lang)
		w.of[lang] = make([]float64, len(r.Query.leaves))
	}
	for i, l := range r.Query.leaves {
		// 1. The sum over the languages in which the leaf is one word.
		sum := uint64(0)
		for _, lang := range w.languages {
			q := w.queries[lang]
			switch {
			case l.kind != wordLeaf:
				sum += s.Frequencies[expansionKey(l, lang)]
			case len(q.words[i]) == 1:
				sum += s.Frequencies[termOf(lang, q.words[i][0])]
			}
		}
		// 2. The weight in each language.
		for _, lang := range w.languages {
			words := w.queries[lang].words[i]
			if l.kind != wordLeaf || len(words) == 1 {
				w.of[lang][i] = s.inverse(sum)
				continue
			}
			for _, word := range words {
				w.of[lang][i] += s.inverse(s.Frequencies[termOf(lang, word)])
			}
		}
	}
	return w
}

// Clone returns a copy.
func (s Stats) Clone() Stats {
	s.Frequencies, s.Languages = maps.Clone(s.Frequencies), slices.Clone(s.Languages)
	return s
}

// Estimate returns about how many documents a request finds.
func (r *Request) Estimate(s *Stats) int64 { return int64(r.estimate(r.Query.root, s)) }

// estimate guesses that operands have nothing to do with each other.
func (r *Request) estimate(n node, s *Stats) float64 {
	total := float64(max(s.Documents, 1))
	switch n := n.(type) {
	case *allOf:
		share := 1.0
		for _, o := range n.of {
			if _, negative := o.(*notOf); !negative {
				share *= r.estimate(o, s) / total
			}
		}
		return share * total
	case *anyOf:
		sum := 0.0
		for _, o := range n.of {
			sum += r.estimate(o, s)
		}
		return min(sum, total)
	case *leaf:
		// A leaf is as frequent as its rarest word, in all languages together.
		a, sum := NewAnalyzer(), 0.0
		for _, lang := range r.languagesOf(s.Languages) {
			if n.kind != wordLeaf {
				sum += float64(s.Frequencies[expansionKey(n, lang)])
				continue
			}
			least := total
			a.Words(lang, []byte(n.text), func(w Word) bool {
				least = min(least, float64(s.Frequencies[termOf(lang, w.Term)]))
				return true
			})
			sum += least
		}
		return min(sum, total)
	}
	return total
}
