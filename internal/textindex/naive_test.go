// Searches compared with a naive evaluation of random queries over random documents.

package textindex

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// naive is all documents with their words.
type naive struct {
	analyzer *Analyzer
	docs     []naiveDoc
	known    map[string]bool    // results of stands
	weights  map[string]float64 // by leaf and language
}

type naiveDoc struct {
	Document
	predicate string
	words     []string
}

func newNaive(docs []naiveDoc) *naive {
	n := &naive{analyzer: NewAnalyzer(), known: map[string]bool{}, weights: map[string]float64{}}
	for _, d := range docs {
		d.words = nil
		n.analyzer.Words(LanguageOf(d.Tag), d.Text, func(w Word) bool { d.words = append(d.words, w.Term); return true })
		n.docs = append(n.docs, d)
	}
	return n
}

func (n *naive) search(r *Request) (hits []Hit) {
	var docs []naiveDoc
	tokens := 0
	for _, d := range n.docs {
		if r.Predicates == nil || slices.Contains(r.Predicates, d.predicate) {
			docs = append(docs, d)
			tokens += len(d.words)
		}
	}
	average := 1.0
	if tokens > 0 {
		average = float64(tokens) / float64(len(docs))
	}
	for _, d := range docs {
		if r.Language != nil && !InRange(d.Tag, *r.Language) {
			continue
		}
		if score, ok := n.match(r, r.Query.root, d, docs, average); ok {
			hits = append(hits, Hit{score, Hash(d.Key), d.Key, d.predicate})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return a.Compare(&b) })
	return hits
}

func (n *naive) match(r *Request, of node, d naiveDoc, docs []naiveDoc, average float64) (score float64, ok bool) {
	switch of := of.(type) {
	case *notOf:
		_, ok := n.match(r, of.of, d, docs, average)
		return 0, !ok
	case *allOf:
		for _, o := range of.of {
			s, ok := n.match(r, o, d, docs, average)
			if !ok {
				return 0, false
			}
			score += s
		}
		return score, true
	case *anyOf:
		for _, o := range of.of {
			if s, match := n.match(r, o, d, docs, average); match {
				score, ok = score+s, true
			}
		}
		return score, ok
	}
	l := of.(*leaf)
	times := n.times(l, d)
	if times == 0 {
		return 0, false
	}
	key := fmt.Sprint(l.index, LanguageOf(d.Tag))
	if _, ok := n.weights[key]; !ok {
		n.weights[key] = n.weight(r, l, d, docs)
	}
	return n.weights[key] * float64(times) / (float64(times) + k1*(1-b+b*float64(len(d.words))/average)), true
}

func (n *naive) leafWords(l *leaf, lang string) (words []string) {
	n.analyzer.Words(lang, []byte(l.text), func(w Word) bool { words = append(words, w.Term); return true })
	return words
}

// stands reports whether a word of a text is one that a prefix or a fuzzy word stands for.
func (n *naive) stands(l *leaf, lang, word string) bool {
	key := fmt.Sprint(l.index, lang, " ", word)
	stands, ok := n.known[key]
	if !ok {
		stands = n.standsFor(l, lang, word)
		n.known[key] = stands
	}
	return stands
}

func (n *naive) standsFor(l *leaf, lang, word string) bool {
	words := n.leafWords(l, lang)
	if l.kind == prefixLeaf {
		return strings.HasPrefix(word, n.analyzer.Normalize(l.text)) || len(words) == 1 && words[0] == word
	}
	if l.kind == letterLeaf {
		r := []rune(word)
		pairs := slices.Contains([]string{"ja", "zh"}, lang)
		return len(words) == 1 && (words[0] == word || pairs && (string(r[:1]) == words[0] || len(r) == 2 && string(r[1:]) == words[0]))
	}
	return len(words) == 1 && distance([]rune(words[0]), []rune(word)) <= l.edits
}

// distance is the edit distance with swaps, by a whole matrix.
func distance(a, b []rune) int {
	d := map[[2]int]int{}
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			if i == 0 || j == 0 {
				d[[2]int{i, j}] = i + j
				continue
			}
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			best := min(d[[2]int{i - 1, j}]+1, d[[2]int{i, j - 1}]+1, d[[2]int{i - 1, j - 1}]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, d[[2]int{i - 2, j - 2}]+1)
			}
			d[[2]int{i, j}] = best
		}
	}
	return d[[2]int{len(a), len(b)}]
}

func (n *naive) times(l *leaf, d naiveDoc) (times int) {
	lang := LanguageOf(d.Tag)
	if l.kind != wordLeaf {
		for _, w := range d.words {
			if n.stands(l, lang, w) {
				times++
			}
		}
		return times
	}
	words := n.leafWords(l, lang)
	for i := range d.words {
		if len(words) == 0 || d.words[i] != words[0] {
			continue
		}
		last, ok := i, true
		for _, w := range words[1:] {
			next := slices.Index(d.words[last+1:], w)
			if ok = next >= 0; !ok {
				break
			}
			last += 1 + next
		}
		if ok && last-i-(len(words)-1) <= l.slop {
			times++
		}
	}
	return times
}

// weight is the inverse document frequency of a leaf, that of all its words if it is a phrase.
func (n *naive) weight(r *Request, l *leaf, d naiveDoc, docs []naiveDoc) (sum float64) {
	idf := func(f int) float64 {
		return math.Log(1 + (float64(len(docs)-min(f, len(docs)))+0.5)/(float64(min(f, len(docs)))+0.5))
	}
	lang := LanguageOf(d.Tag)
	if words := n.leafWords(l, lang); l.kind == wordLeaf && len(words) != 1 {
		for _, w := range words {
			f := 0
			for _, other := range docs {
				if LanguageOf(other.Tag) == lang && slices.Contains(other.words, w) {
					f++
				}
			}
			sum += idf(f)
		}
		return sum
	}
	f := 0
	for _, other := range docs {
		lang := LanguageOf(other.Tag)
		if r.Language != nil && lang != LanguageOf(*r.Language) {
			continue
		}
		words := n.leafWords(l, lang)
		seen := map[string]bool{}
		for _, w := range other.words {
			switch {
			case seen[w]:
			case l.kind == wordLeaf && len(words) == 1 && words[0] == w, l.kind != wordLeaf && n.stands(l, lang, w):
				seen[w] = true
				f++
			}
		}
	}
	return idf(f)
}

var vocabulary = strings.Fields("graph graphs grape grap gram store stores stored storing database data café cafe relational relation Graphen 東京都 京都 京 都 北京 京大学 שלום can't C3 a b c d e foo.bar Ärger")

func drawDocs(t *rapid.T) (docs []naiveDoc) {
	seen := map[string]bool{}
	for range rapid.IntRange(0, 60).Draw(t, "documents") {
		d := naiveDoc{predicate: rapid.SampledFrom([]string{"x:p", "x:q"}).Draw(t, "predicate")}
		d.Text = []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 12).Draw(t, "text"), " "))
		d.Tag = rapid.SampledFrom([]string{"", "en", "en-GB", "de", "ja"}).Draw(t, "tag")
		d.Key = []byte(string(d.Text) + "@" + d.Tag)
		if !seen[d.predicate+string(d.Key)] {
			seen[d.predicate+string(d.Key)] = true
			docs = append(docs, d)
		}
	}
	return docs
}

func drawQuery(t *rapid.T, depth int) string {
	word := rapid.SampledFrom(vocabulary)
	if depth > 0 && rapid.Bool().Draw(t, "nested") {
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawQuery(t, depth-1) }), 1, 4).Draw(t, "parts")
		operator := rapid.SampledFrom([]string{" ", " AND ", " OR ", " -"}).Draw(t, "operator")
		return "(" + strings.Join(parts, operator) + ")"
	}
	w := word.Draw(t, "word")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		r := []rune(w)
		if w = string(r[:rapid.IntRange(1, len(r)).Draw(t, "prefix")]); strings.ContainsAny(w, ".'東京") {
			return "g*"
		}
		return w + "*"
	case 1:
		return "database~" + fmt.Sprint(rapid.IntRange(1, 2).Draw(t, "edits"))
	case 2:
		return `"` + strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, "phrase"), " ") + `"~` + fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "slop"))
	}
	return w
}

// buildParts returns parts with some documents, in several segments, of which some are merged, without deleted ones.
func buildParts(t *rapid.T, docs []naiveDoc) (parts []*Part, live []naiveDoc) {
	a := NewAnalyzer()
	for _, predicate := range []string{"x:p", "x:q"} {
		var of []*Part
		n := rapid.IntRange(1, 4).Draw(t, "segments")
		groups := make([][]naiveDoc, n)
		for _, d := range docs {
			if d.predicate == predicate {
				i := rapid.IntRange(0, n-1).Draw(t, "segment")
				groups[i] = append(groups[i], d)
			}
		}
		for _, group := range groups {
			p := &Part{Segment: build(t, a, predicate, group)}
			var gone []naiveDoc
			var numbers []uint32
			for _, d := range group {
				if rapid.IntRange(0, 4).Draw(t, "deleted") > 0 {
					live = append(live, d)
					continue
				}
				doc, ok, err := p.Lookup(d.Key)
				if err != nil || !ok {
					t.Fatalf("document %q is not found: %v", d.Key, err)
				}
				gone, numbers = append(gone, d), append(numbers, doc)
			}
			if len(gone) > 0 {
				p = p.Delete(numbers, build(t, a, predicate, gone))
			}
			of = append(of, p)
		}
		if rapid.Bool().Draw(t, "merge") {
			merged, err := Merge(of, noCheck)
			require.NoError(t, err)
			of = []*Part{{Segment: merged}}
		}
		parts = append(parts, of...)
	}
	return parts, live
}

func noCheck() error { return nil }

func build(t require.T, a *Analyzer, predicate string, docs []naiveDoc) *Segment {
	b := NewBuilder(a, predicate, 0)
	for _, d := range docs {
		require.NoError(t, b.Add(d.Document))
	}
	s, err := b.Finish()
	require.NoError(t, err)
	return s
}

// sameHits compares hits; scores may differ by rounding.
func sameHits(got, want []Hit) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d hits, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if math.Abs(g.Score-w.Score) > 1e-9 || !bytes.Equal(g.Key, w.Key) || g.Predicate != w.Predicate {
			return fmt.Errorf("hit %d is %q of %s, %v; want %q of %s, %v", i, g.Key, g.Predicate, g.Score, w.Key, w.Predicate, w.Score)
		}
	}
	return nil
}

// sameScores compares the scores of some documents, and of a key that no document has, with those of all hits.
func sameScores(a *Analyzer, r *Request, s *Stats, parts []*Part, docs []naiveDoc, hits []Hit) error {
	want := map[string]float64{}
	for _, h := range hits {
		want[string(h.Key)] = h.Score
	}
	keys := [][]byte{[]byte("no document")}
	for _, d := range docs {
		keys = append(keys, d.Key)
	}
	keys = append(keys, keys[len(keys)/2])
	scores, err := Scores(a, r, s, parts, keys, noCheck)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if scores[i] != want[string(key)] {
			return fmt.Errorf("the score of %q is %v, want %v", key, scores[i], want[string(key)])
		}
	}
	return nil
}

// settle orders hits whose scores differ by rounding only by their keys.
func settle(hits []Hit) []Hit {
	for i := range hits {
		hits[i].Score = math.Round(hits[i].Score*1e10) / 1e10
	}
	slices.SortFunc(hits, func(a, b Hit) int { return a.Compare(&b) })
	return hits
}

// TestSearchNaive compares all hits, the best hits, pages, and the sum of the statistics of two machines with those
// of a naive evaluation.
func TestSearchNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := drawDocs(t)
		parts, live := buildParts(t, docs)
		text := drawQuery(t, 3)
		q, err := Parse(text)
		if errors.Is(err, ErrQuery) && strings.Contains(err.Error(), "nothing but excluded") {
			t.Skip("it excludes only")
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		r := &Request{Query: q}
		if rapid.Bool().Draw(t, "of one predicate") {
			r.Predicates = []string{"x:q"}
		}
		if rapid.Bool().Draw(t, "of one language") {
			lang := rapid.SampledFrom([]string{"", "en", "EN-gb", "de", "fr"}).Draw(t, "language")
			r.Language = &lang
		}
		want := settle(newNaive(live).search(r))
		a := NewAnalyzer()
		// 1. The statistics of two machines.
		cut := rapid.IntRange(0, len(parts)).Draw(t, "cut")
		var s Stats
		for _, some := range [][]*Part{parts[:cut], parts[cut:]} {
			one, err := Collect(a, r, some, noCheck)
			require.NoError(t, err)
			s.Add(one)
		}
		// 2. All hits.
		got, err := Search(a, r, &s, parts, 1000, nil, noCheck)
		require.NoError(t, err)
		complete := slices.Clone(got)
		if err := sameHits(settle(slices.Clone(got)), want); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if err := sameScores(a, r, &s, parts, docs, complete); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		// 3. The best hits, and pages.
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		var pages []Hit
		for after := (*Hit)(nil); ; after = &pages[len(pages)-1] {
			page, err := Search(a, r, &s, parts, limit, after, noCheck)
			require.NoError(t, err)
			pages = append(pages, page...)
			if len(page) < limit {
				break
			}
		}
		if err := sameHits(pages, complete); err != nil {
			t.Fatalf("%q in pages of %d: %v", text, limit, err)
		}
	})
}

// TestManyBlocks compares the best hits of lists with many blocks with the beginning of all hits.
func TestManyBlocks(t *testing.T) {
	seed.Slow(t)
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		next := func(n uint64) uint64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return (seed >> 33) % n
		}
		a := NewAnalyzer()
		b := NewBuilder(a, "x:p", 0)
		for i := range 3000 {
			var text strings.Builder
			for range 1 + next(20) {
				fmt.Fprintf(&text, "w%d ", min(next(40), next(40)))
			}
			require.NoError(t, b.Add(Document{Key: fmt.Append(nil, i), Text: []byte(text.String())}))
		}
		segment, err := b.Finish()
		require.NoError(t, err)
		parts := []*Part{{Segment: segment}}
		query := rapid.SampledFrom([]string{"w1", "w1 OR w30", "w1 w2", "w1 OR w2 OR w35", "w1 (w2 OR w33) -w9", "w1* OR w38", `"w1 w2" OR w20`, `"w1 w2 w3"~8`, "w39~1 OR w0"}).Draw(t, "query")
		q, err := Parse(query)
		require.NoError(t, err)
		r := &Request{Query: q}
		s, err := Collect(a, r, parts, noCheck)
		require.NoError(t, err)
		full, err := Search(a, r, &s, parts, 5000, nil, noCheck)
		require.NoError(t, err)
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		best, err := Search(a, r, &s, parts, limit, nil, noCheck)
		require.NoError(t, err)
		if err := sameHits(best, full[:min(limit, len(full))]); err != nil {
			t.Fatalf("%s, the best %d of %d: %v", query, limit, len(full), err)
		}
	})
}

// TestFuzzyDistance compares distances that share rows with their definition.
func TestFuzzyDistance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[abcé]{1,6}`).Draw(t, "word")
		terms := rapid.SliceOf(rapid.StringMatching(`[abcdéü]{0,7}`)).Draw(t, "terms")
		slices.Sort(terms)
		edits := rapid.IntRange(1, 2).Draw(t, "edits")
		f := newFuzzy(word, edits)
		var skip []byte
		end := false
		for _, term := range terms {
			near := distance([]rune(word), []rune(term)) <= edits
			if end || skip != nil && cmp.Compare(term, string(skip)) < 0 {
				if near {
					t.Fatalf("%q is skipped, but near %q", term, word)
				}
				continue
			}
			var within bool
			within, skip, end = f.match([]byte(term))
			if within != near {
				t.Fatalf("%q and %q: within %d edits is %v", word, term, edits, within)
			}
		}
	})
}
