// Snippets: the part of a text with most words of a query, marked.

package textindex

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Marks around the words of a query in a snippet, and the sign of text left out.
const (
	MarkBegin = "\u27e6" // ⟦
	MarkEnd   = "\u27e7" // ⟧
	ellipsis  = "\u2026"
)

const (
	// snippetBytes is about the length of a snippet.
	snippetBytes = 200
	// maxSnippetText is how much of a text is searched for a snippet.
	maxSnippetText = 1 << 20
)

// span is a marked word.
type span struct{ start, end, leaf int }

// Snippet returns about 200 bytes of a text with the most words of a query, each between [MarkBegin] and [MarkEnd].
// Only the first mebibyte of the text is looked at.
func Snippet(a *Analyzer, q *Query, text, tag string) string {
	if len(text) > maxSnippetText {
		text = cutText(text, maxSnippetText)
	}
	spans := q.spans(a, text, LanguageOf(tag))
	start, end := bestWindow(spans, text)
	// Write the window with its marks.
	var out strings.Builder
	if start > 0 {
		out.WriteString(ellipsis)
	}
	at := start
	for _, s := range spans {
		if s.start < at || s.end > end {
			continue
		}
		out.WriteString(text[at:s.start])
		out.WriteString(MarkBegin)
		out.WriteString(text[s.start:s.end])
		out.WriteString(MarkEnd)
		at = s.end
	}
	out.WriteString(text[at:end])
	if end < len(text) {
		out.WriteString(ellipsis)
	}
	return out.String()
}

// cutText returns the first n bytes of a text, or a few less to end between runes.
func cutText(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// spans returns the words of a text that are words of a query, in order.
func (q *Query) spans(a *Analyzer, text, lang string) (spans []span) {
	// 1. The words to mark. Excluded ones do no harm, because the text has none.
	words := map[string]int{}
	type pattern struct {
		leaf    int
		matches func(term string) bool
	}
	var patterns []pattern
	for _, l := range q.leaves {
		a.Words(lang, []byte(l.text), func(w Word) bool {
			if _, ok := words[w.Term]; !ok {
				words[w.Term] = l.index
			}
			switch {
			case l.kind == fuzzyLeaf:
				patterns = append(patterns, pattern{l.index, newFuzzy(w.Term, l.edits).matches})
			case l.inPairs(lang):
				patterns = append(patterns, pattern{l.index, func(term string) bool { return inPair(term, w.Term) }})
			}
			return true
		})
		if l.kind == prefixLeaf {
			begin := a.Normalize(l.text)
			patterns = append(patterns, pattern{l.index, func(term string) bool { return strings.HasPrefix(term, begin) }})
		}
	}
	// 2. Look at each word once.
	known := map[string]int{}
	a.Words(lang, []byte(text), func(w Word) bool {
		leaf, ok := known[w.Term]
		if !ok {
			leaf = -1
			if i, ok := words[w.Term]; ok {
				leaf = i
			}
			for _, p := range patterns {
				if leaf < 0 && p.matches(w.Term) {
					leaf = p.leaf
				}
			}
			known[w.Term] = leaf
		}
		if leaf >= 0 {
			spans = append(spans, span{w.Start, w.End, leaf})
		}
		return true
	})
	return spans
}

// matches reports whether a term is within the distance.
func (f *fuzzy) matches(term string) bool {
	within, _, _ := f.match([]byte(term))
	return within
}

// bestWindow returns the bytes of the window with the most different leaves, and of these the one with the most words.
func bestWindow(spans []span, text string) (start, end int) {
	best, bestScore := 0, -1
	for i, s := range spans {
		score, seen := 0, map[int]bool{}
		for _, other := range spans[i:min(i+snippetBytes, len(spans))] {
			if other.end-s.start > snippetBytes {
				break
			}
			score++
			if !seen[other.leaf] {
				seen[other.leaf] = true
				score += 1000
			}
		}
		if score > bestScore {
			best, bestScore = s.start, score
		}
		if i == maxWindows {
			break
		}
	}
	// 1. Begin some words before, at a space if there is one.
	start = max(0, best-snippetBytes/5)
	end = min(len(text), start+snippetBytes)
	if i := slices.IndexFunc(spans, func(s span) bool { return s.start == best }); i >= 0 {
		end = max(end, min(spans[i].end, len(text)))
	}
	if start > 0 {
		if i := strings.IndexByte(text[start:best], ' '); i >= 0 {
			start += i + 1
		}
	}
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	// 2. End at a space, too.
	if end < len(text) {
		if i := strings.LastIndexByte(text[max(best, start):end], ' '); i > 0 && max(best, start)+i > start+snippetBytes/2 {
			end = max(best, start) + i
		}
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	return start, end
}

// maxWindows bounds the windows that are compared.
const maxWindows = 10_000
