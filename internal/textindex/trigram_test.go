// Tests of trigrams: folding, and candidates compared with all documents.

package textindex

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	tags "golang.org/x/text/language"
	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// lower and upper are LCASE and UCASE of SPARQL, see package expr.
func lower(text string) string {
	return cases.Lower(tags.Und, cases.HandleFinalSigma(false)).String(text)
}
func upper(text string) string { return cases.Upper(tags.Und).String(text) }

func folded(text string) string {
	var f folder
	return string(f.fold([]byte(text)))
}

// TestFoldEachCharacter: a character has the folded form of its lower case, of its upper case, and of all that a
// regular expression with the flag i takes for it.
func TestFoldEachCharacter(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		if !utf8.ValidRune(r) {
			continue
		}
		text := string(r)
		if !unicode.IsLetter(r) && !unicode.IsMark(r) && unicode.SimpleFold(r) == r && lower(text) == text && upper(text) == text {
			continue // it has no case
		}
		want := folded(text)
		for _, other := range []string{lower(text), upper(text), string(unicode.SimpleFold(r)), want} {
			if got := folded(other); got != want {
				t.Errorf("%U is folded to %q, and %q to %q", r, want, other, got)
			}
		}
	}
}

// letters are characters whose case is special, and some others.
var letters = []rune("aAbBiIİıſsSßẞkKKσςΣΐιͅéÉe\u0301ﬁffŉ北京😀😃 -\x00")

var someText = rapid.Custom(func(t *rapid.T) string {
	if rapid.IntRange(0, 19).Draw(t, "invalid") == 0 {
		return string(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes"))
	}
	return string(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 12).Draw(t, "text"))
})

// part returns a part of a text of the documents, as a user may write it, or any text.
func part(t *rapid.T, docs []Document) string {
	if len(docs) == 0 || rapid.IntRange(0, 4).Draw(t, "any") == 0 {
		return someText.Draw(t, "pattern")
	}
	text := []rune(string(rapid.SampledFrom(docs).Draw(t, "of").Text))
	from := rapid.IntRange(0, len(text)).Draw(t, "from")
	return string(text[from:rapid.IntRange(from, len(text)).Draw(t, "to")])
}

// TestCandidates: documents that contain a text in any case are candidates, before and after merges and deletions.
func TestCandidates(t *testing.T) {
	seed.Slow(t)
	rapid.Check(t, func(t *rapid.T) {
		// 1. Some parts, a few documents deleted, and perhaps merged.
		var docs []Document
		var parts []*Part
		a := NewAnalyzer()
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			b := NewBuilder(a, "x:p", 0)
			b.AddTrigrams()
			first := len(docs)
			for range rapid.SampledFrom([]int{0, 3, 40, 300}).Draw(t, "documents") {
				text := someText.Draw(t, "text")
				d := Document{Key: fmt.Appendf(nil, "%d %s", len(docs), text), Text: []byte(text), Tag: rapid.SampledFrom([]string{"", "en", "zh"}).Draw(t, "tag")}
				docs = append(docs, d)
				require.NoError(t, b.Add(d))
			}
			s, err := b.Finish()
			require.NoError(t, err)
			p := &Part{Segment: s}
			for i := len(docs) - 1; i >= first; i-- {
				if rapid.IntRange(0, 9).Draw(t, "delete") > 0 {
					continue
				}
				number, ok, err := p.Lookup(docs[i].Key)
				if err != nil || !ok {
					t.Fatal(ok, err)
				}
				gone := NewBuilder(a, "x:p", 0)
				require.NoError(t, gone.Add(docs[i]))
				segment, err := gone.Finish()
				require.NoError(t, err)
				p, docs = p.Delete([]uint32{number}, segment), slices.Delete(docs, i, i+1)
			}
			parts = append(parts, p)
		}
		if rapid.Bool().Draw(t, "merge") {
			s, err := Merge(parts, noCheck)
			require.NoError(t, err)
			parts = []*Part{{Segment: s}}
		}
		// 2. Candidates are documents, and all that contain the texts are among them.
		for range 20 {
			c := Condition{}
			for range rapid.IntRange(1, 2).Draw(t, "lists") {
				var texts []string
				for range rapid.IntRange(1, 2).Draw(t, "texts") {
					texts = append(texts, part(t, docs))
				}
				c = append(c, texts)
			}
			got := map[string]bool{}
			err := Candidates(c, parts, math.MaxInt, noCheck, func(key []byte) { got[string(key)] = true })
			if !c.Selects() {
				if !errors.Is(err, ErrNoTrigrams) {
					t.Fatalf("%q: %v", c, err)
				}
				continue
			}
			require.NoError(t, err)
			for i := range docs {
				if meets(docs[i].Text, c) && !got[string(docs[i].Key)] {
					t.Errorf("%q contains %q, and is no candidate", docs[i].Text, c)
				}
				delete(got, string(docs[i].Key))
			}
			if len(got) > 0 {
				t.Errorf("%q has candidates that are no documents: %v", c, got)
			}
		}
	})
}

// meets reports whether a text meets a condition by one of the functions of SPARQL.
func meets(text []byte, c Condition) bool {
	for _, texts := range c {
		if !slices.ContainsFunc(texts, func(part string) bool {
			s := string(text)
			if !utf8.ValidString(part) {
				return strings.Contains(s, part)
			}
			return strings.Contains(s, part) || strings.Contains(lower(s), lower(part)) || strings.Contains(upper(s), upper(part)) ||
				regexp.MustCompile("(?i)"+regexp.QuoteMeta(part)).Match(text)
		}) {
			return false
		}
	}
	return true
}

// TestCandidatesAreFew: trigrams select, and the bound of candidates holds.
func TestCandidatesAreFew(t *testing.T) {
	b := NewBuilder(NewAnalyzer(), "x:p", 0)
	b.AddTrigrams()
	for i := range 5000 {
		text := fmt.Sprintf("Numéro %d of the words", i)
		require.NoError(t, b.Add(Document{Key: []byte(text), Text: []byte(text), Tag: "en"}))
	}
	s, err := b.Finish()
	require.NoError(t, err)
	for _, test := range []struct {
		c    Condition
		most int
		want int // or fewDocuments more; negative: too many
	}{
		{Condition{{"RO 4321 OF"}}, 10, 1},
		{Condition{{"ro 4321"}, {"WORDS"}}, 10, 1},
		{Condition{{"ro 4321", "ro 1234"}}, 10, 2},
		{Condition{{"ro 4321"}, {"ro 1234"}}, 20, 0},
		{Condition{{"word"}, {"ro"}}, 5000, 5000},
		{Condition{{"word"}}, 4999, -1},
		{Condition{{"NUMÉRO 4999 "}}, 10, 1},
		{Condition{{"wordy"}}, 10, 0},
	} {
		n := 0
		err := Candidates(test.c, []*Part{{Segment: s}}, test.most, noCheck, func([]byte) { n++ })
		if test.want < 0 && !errors.Is(err, ErrTooMany) || test.want >= 0 && (err != nil || n < test.want || n > test.want+fewDocuments) {
			t.Errorf("%q: %d candidates, %v; want %d", test.c, n, err, test.want)
		}
	}
	if n := s.TrigramBytes(); n < 5000 || n > int64(len(s.Body())) {
		t.Errorf("the trigrams take %d of %d bytes", n, len(s.Body()))
	}
}

// TestTrigramsKeepScores: trigrams change neither statistics nor hits.
func TestTrigramsKeepScores(t *testing.T) {
	var segments []*Segment
	for _, with := range []bool{false, true} {
		b := NewBuilder(NewAnalyzer(), "x:p", 0)
		if with {
			b.AddTrigrams()
		}
		for i, text := range generated(5000, 5) {
			require.NoError(t, b.Add(Document{Key: fmt.Appendf(nil, "%d %s", i, text), Text: []byte(text), Tag: []string{"", "en", "de"}[i%3]}))
		}
		s, err := b.Finish()
		require.NoError(t, err)
		segments = append(segments, s)
	}
	word := syllables(300)
	for _, query := range []string{word, syllables(3) + " OR " + word, word[:2] + "*", word + "~1", word + "~2"} {
		q, err := Parse(query)
		require.NoError(t, err)
		var stats []string
		var hits [][]Hit
		for _, s := range segments {
			r, parts := &Request{Query: q}, []*Part{{Segment: s}}
			a := NewAnalyzer()
			one, err := Collect(a, r, parts, noCheck)
			require.NoError(t, err)
			found, err := Search(a, r, &one, parts, 5000, nil, noCheck)
			require.NoError(t, err)
			stats, hits = append(stats, fmt.Sprint(one)), append(hits, found)
		}
		if stats[0] != stats[1] {
			t.Errorf("%s: the statistics are %s, and with trigrams %s", query, stats[0], stats[1])
		}
		if len(hits[0]) == 0 || !slices.EqualFunc(hits[0], hits[1], func(a, b Hit) bool { return a.Score == b.Score && bytes.Equal(a.Key, b.Key) }) {
			t.Errorf("%s: %d hits, and with trigrams %d others", query, len(hits[0]), len(hits[1]))
		}
	}
	if _, err := Merge([]*Part{{Segment: segments[0]}, {Segment: segments[1]}}, noCheck); err == nil {
		t.Error("segments with and without trigrams were merged")
	}
	err := Candidates(Condition{{"word"}}, []*Part{{Segment: segments[0]}}, 10, noCheck, func([]byte) {})
	if !errors.Is(err, ErrNoTrigrams) {
		t.Errorf("candidates of a segment without trigrams: %v", err)
	}
}
