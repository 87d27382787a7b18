// Analysis: the words of a text, and the terms of a word by language.

package textindex

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/char/asciifolding"
	"github.com/blevesearch/bleve/v2/analysis/token/stop"
	"github.com/blevesearch/bleve/v2/registry"
	"github.com/blevesearch/segment"
	"golang.org/x/text/unicode/norm"

	// The analyzers of the languages.
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ar"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ckb"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/da"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/de"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/es"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fa"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/fr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hi"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hr"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/hu"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/it"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/nl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/no"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pl"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/pt"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ro"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/ru"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/sv"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/tr"
)

// analyzed are the primary subtags with an analyzer of bleve. Other languages are analyzed without a
// stemmer.
var analyzed = map[string]string{
	"ar": "ar", "ckb": "ckb", "da": "da", "de": "de", "en": "en", "es": "es", "fa": "fa", "fi": "fi", "fr": "fr",
	"hi": "hi", "hr": "hr", "hu": "hu", "it": "it", "nl": "nl", "no": "no", "nb": "no", "nn": "no", "pl": "pl", "pt": "pt",
	"ro": "ro", "ru": "ru", "sv": "sv", "tr": "tr",
}

const (
	// maxWordBytes is the length to which longer words are cut, in texts and in queries.
	maxWordBytes = 128
	// maxCachedWords bounds the words whose terms an analyzer keeps, of each language.
	maxCachedWords = 100_000
	// wordsAtOnce is how many words are segmented at a time.
	wordsAtOnce = 256
)

// Analyzer analyzes texts. It keeps the terms of words that it has met. It is not safe for concurrent
// use.
type Analyzer struct {
	cache     *registry.Cache
	languages map[string]*language
	fold      *asciifolding.AsciiFoldingFilter
	values    [][]byte
	types     []int
}

// language is the analysis of one language.
type language struct {
	name    string // the primary subtag in lower case
	bigrams bool   // of ideographs: Chinese, Japanese and Korean
	joiners bool   // zero-width non-joiners separate words
	filters []analysis.TokenFilter
	words   map[string][]string
}

// NewAnalyzer returns an analyzer.
func NewAnalyzer() *Analyzer {
	return &Analyzer{
		cache: registry.NewCache(), languages: map[string]*language{}, fold: asciifolding.New(),
		values: make([][]byte, 0, wordsAtOnce), types: make([]int, 0, wordsAtOnce),
	}
}

// LanguageOf returns the language of a tag: its primary subtag in lower case, "" without a tag.
func LanguageOf(tag string) string {
	primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
	return primary
}

// language returns the analysis of a language.
func (a *Analyzer) language(name string) *language {
	if l := a.languages[name]; l != nil {
		return l
	}
	l := &language{name: name, words: map[string][]string{}}
	l.bigrams, l.joiners = hasBigrams(name), name == "fa"
	if id := analyzed[name]; id != "" {
		// The analyzers are in the program, so there is no error.
		if named, err := a.cache.AnalyzerNamed(id); err == nil {
			for _, f := range named.(*analysis.DefaultAnalyzer).TokenFilters {
				if _, stops := f.(*stop.StopTokensFilter); !stops {
					l.filters = append(l.filters, f)
				}
			}
		}
	}
	a.languages[name] = l
	return l
}

// hasBigrams reports whether ideographs of a language are indexed in pairs.
func hasBigrams(lang string) bool {
	return slices.Contains([]string{"zh", "ja", "ko", "yue", "wuu"}, lang)
}

// Word is a word of a text.
type Word struct {
	Term string
	// Start and End are its bytes in the text.
	Start, End int
}

// Words calls yield with each word of a text, in order, until it returns false. The number of a call
// is the position of the word. A word may have several terms, each with a position of its own.
func (a *Analyzer) Words(lang string, text []byte, yield func(Word) bool) {
	l := a.language(lang)
	a.segment(l, text, func(raw []byte, start, end int) bool {
		for _, term := range a.terms(l, raw) {
			if !yield(Word{term, start, end}) {
				return false
			}
		}
		return true
	})
}

// joiner is the zero-width non-joiner, which stands between the words of a Persian compound.
var joiner, joinerSpaces = []byte("\u200c"), []byte("   ")

// segment calls yield with each word of a text as it is written, by the rules of Unicode (UAX #29).
func (a *Analyzer) segment(l *language, text []byte, yield func(raw []byte, start, end int) bool) {
	if l.joiners {
		text = bytes.ReplaceAll(text, joiner, joinerSpaces)
	}
	runStart, runEnd := 0, 0 // ideographs, or letters of a script without spaces, without a gap
	for at := 0; at < len(text); {
		// 1. Segment some words. The types tell words from what is between them.
		values, types, read, err := segment.SegmentWordsDirect(text[at:], a.values[:0], a.types[:0])
		if err != nil || read == 0 {
			return // no text makes the segmenter fail
		}
		for i, value := range values {
			start, end := at, at+len(value)
			at = end
			// 2. Collect what is indexed by pairs until another word or a gap.
			if l.pairs(value, types[i]) {
				if runStart == runEnd {
					runStart = start
				}
				runEnd = end
				continue
			}
			if runStart < runEnd {
				if !yieldBigrams(text, runStart, runEnd, yield) {
					return
				}
				runStart, runEnd = 0, 0
			}
			if types[i] == segment.None {
				continue
			}
			if !yield(cutWord(text[start:end]), start, end) {
				return
			}
		}
	}
	if runStart < runEnd {
		yieldBigrams(text, runStart, runEnd, yield)
	}
}

// pairs reports whether what the rules take for a word of a type is indexed in pairs with its neighbours.
func (l *language) pairs(value []byte, kind int) bool {
	if kind == segment.Ideo || kind == segment.Kana {
		return l.bigrams
	}
	// The rules leave the letters of Thai, Lao, Khmer and Burmese to dictionaries.
	r, _ := utf8.DecodeRune(value)
	return kind == segment.None && unicode.IsLetter(r)
}

// inPairs reports whether a text is one letter that a language indexes in pairs.
func (a *Analyzer) inPairs(lang, text string) bool {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) != 1 {
		return false
	}
	values, types, _, err := segment.SegmentWordsDirect([]byte(text), a.values[:0], a.types[:0])
	return err == nil && len(values) == 1 && a.language(lang).pairs(values[0], types[0])
}

// yieldBigrams calls yield with the pairs of neighbouring runes of a range, or with its only rune.
func yieldBigrams(text []byte, start, end int, yield func(raw []byte, start, end int) bool) bool {
	_, first := utf8.DecodeRune(text[start:end])
	if start+first == end {
		return yield(text[start:end], start, end)
	}
	for start+first < end {
		_, second := utf8.DecodeRune(text[start+first : end])
		if !yield(text[start:start+first+second], start, start+first+second) {
			return false
		}
		start, first = start+first, second
	}
	return true
}

// cutWord returns a word, or the beginning of a very long one.
func cutWord(raw []byte) []byte {
	if len(raw) <= maxWordBytes {
		return raw
	}
	n := maxWordBytes
	for n > maxWordBytes-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
		n--
	}
	return raw[:n]
}

// terms returns the terms of a word: normalized, without accents, in lower case, and stemmed.
func (a *Analyzer) terms(l *language, raw []byte) []string {
	if known, ok := l.words[string(raw)]; ok {
		return known
	}
	var terms []string
	if plain := a.plain(raw); len(plain) > 0 {
		stream := analysis.TokenStream{{Term: plain, End: len(plain), Position: 1, Type: analysis.AlphaNumeric}}
		for _, f := range l.filters {
			stream = f.Filter(stream)
		}
		for _, token := range stream {
			if term := token.Term; len(term) > 0 {
				terms = append(terms, string(cutWord(bytes.ReplaceAll(term, []byte{0}, nil))))
			}
		}
	}
	if len(l.words) >= maxCachedWords {
		clear(l.words)
	}
	l.words[string(raw)] = terms
	return terms
}

// plain returns a word in normal form KC, without accents and in lower case. Accents go before the stemmer,
// because a word must have the same term with and without them.
func (a *Analyzer) plain(raw []byte) []byte {
	for _, b := range raw {
		if b >= utf8.RuneSelf {
			marked := bytes.ToLower(norm.NFKD.Bytes(raw))
			return a.fold.Filter(norm.NFC.Bytes(dropMarks(bytes.ToValidUTF8(marked, nil))))
		}
	}
	return bytes.ToLower(raw)
}

// dropMarks drops the accents of decomposed letters, and signs that only control the display. The breve of the
// Cyrillic short i stays, because it is another letter. A Greek sigma at the end of a word is an ordinary one.
func dropMarks(decomposed []byte) []byte {
	const breve, cyrillicI, finalSigma = '\u0306', 'и', 'ς'
	last := rune(0)
	return bytes.Map(func(r rune) rune {
		before := last
		last = r
		switch {
		case r == finalSigma:
			return 'σ'
		case r == breve && before == cyrillicI:
		case r >= 0x300 && r < 0x370 || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, decomposed)
}

// Normalize returns a word as a prefix of terms: as terms have it, but not stemmed.
func (a *Analyzer) Normalize(text string) string {
	return string(cutWord(bytes.ReplaceAll(a.plain([]byte(text)), []byte{0}, nil)))
}

// termOf returns the term of the dictionary for an analyzed word.
func termOf(lang, word string) string { return lang + "\x00" + word }
