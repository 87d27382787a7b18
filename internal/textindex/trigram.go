// Trigrams: the folded characters of a text, three at a time.

package textindex

import (
	"math"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/cases"
	tags "golang.org/x/text/language"
)

// trigramPrefix begins the terms of trigrams. Terms of words begin with a language or a byte 0, so no word has it.
const trigramPrefix = 1

// trigramTerms is before all terms of trigrams, and behind the terms of words without a language.
const trigramTerms = string(rune(trigramPrefix))

// gram is a trigram: three runes of 21 bits.
type gram uint64

const runeBits = 21

func (g gram) runes() [3]rune {
	const mask = 1<<runeBits - 1
	return [3]rune{rune(g >> (2 * runeBits)), rune(g >> runeBits & mask), rune(g & mask)}
}

// term returns the term of a trigram. Terms have the order of trigrams, because UTF-8 has the order of runes.
func (g gram) term() string {
	b := []byte{trigramPrefix}
	for _, r := range g.runes() {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}

// folder folds texts. A text and its LCASE and UCASE have one folded form, and so have texts that a regular
// expression with the flag i does not distinguish. A character is folded by itself, so a part of a text has a part
// of the folded text. A folder is not safe for concurrent use.
type folder struct {
	known map[rune][]rune
	text  []rune
}

// maxFoldedRunes bounds the characters that a folder keeps.
const maxFoldedRunes = 1 << 16

// fold returns the folded text. It is valid until the next call.
func (f *folder) fold(text []byte) []rune {
	f.text = f.text[:0]
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			f.text, text = append(f.text, rune(c)), text[1:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		folded, ok := f.known[r]
		if !ok {
			folded = foldRune(r)
			if f.known == nil || len(f.known) >= maxFoldedRunes {
				f.known = map[rune][]rune{}
			}
			f.known[r] = folded
		}
		f.text = append(f.text, folded...)
	}
	return f.text
}

// foldRune returns the folded form of a character: full case folding of its upper case. The upper case makes one
// letter of the i with and without a dot, and of the long s.
func foldRune(r rune) []rune {
	return []rune(cases.Fold().String(cases.Upper(tags.Und).String(string(r))))
}

// trigrams calls yield with the trigrams of a folded text, in order. Invalid bytes have none.
func trigrams(folded []rune, yield func(gram)) {
	valid, g := 0, gram(0)
	for _, r := range folded {
		if valid++; r == utf8.RuneError {
			valid = 0
		}
		g = (g<<runeBits | gram(r)) & (1<<(3*runeBits) - 1)
		if valid >= 3 {
			yield(g)
		}
	}
}

// gramBuilder collects the trigrams of the documents of a segment. A document counts once for each.
type gramBuilder struct {
	folder   folder
	ids      map[gram]uint32
	grams    []gram   // by number
	counts   []uint32 // documents, by number
	last     []int    // the last document, by number, from 1 on
	postings []uint32 // numbers of the trigrams of all documents
	docs     int
}

// add adds the trigrams of a document, and returns the start and the end of its postings.
func (b *gramBuilder) add(text []byte) (start, end int) {
	start = len(b.postings)
	b.docs++
	trigrams(b.folder.fold(text), func(g gram) {
		id, ok := b.ids[g]
		if !ok {
			id = uint32(len(b.grams))
			b.ids[g] = id
			b.grams, b.counts, b.last = append(b.grams, g), append(b.counts, 0), append(b.last, 0)
		}
		if b.last[id] != b.docs {
			b.last[id] = b.docs
			b.counts[id]++
			b.postings = append(b.postings, id)
		}
	})
	return start, len(b.postings)
}

// full reports whether no more documents may be added.
func (b *gramBuilder) full() bool { return b != nil && len(b.postings) > math.MaxInt32 }

// bytes returns about the memory that the builder takes, with that of finish.
func (b *gramBuilder) bytes() int {
	if b == nil {
		return 0
	}
	return 8*len(b.postings) + 100*len(b.grams)
}

// finish writes the terms of all trigrams. docs are the documents in their order in the segment.
func (b *gramBuilder) finish(w *segmentWriter, docs []builtDocument) {
	// 1. The first posting of each trigram, in their order.
	order := make([]uint32, len(b.grams))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int {
		if b.grams[x] < b.grams[y] {
			return -1
		}
		return 1
	})
	next, at := make([]int, len(b.grams)), 0
	for _, id := range order {
		next[id] = at
		at += int(b.counts[id])
	}
	// 2. Distribute the documents to them.
	documents := make([]uint32, len(b.postings))
	for i := range docs {
		d := &docs[i]
		for _, id := range b.postings[d.grams[0]:d.grams[1]] {
			documents[next[id]] = uint32(i)
			next[id]++
		}
	}
	// 3. Write them. A trigram has no positions, and each frequency is 1.
	most := uint32(0)
	for _, n := range b.counts {
		most = max(most, n)
	}
	ones := slices.Repeat([]uint32{1}, int(most))
	for _, id := range order {
		n := int(b.counts[id])
		w.addTerm([]byte(b.grams[id].term()), documents[next[id]-n:next[id]], ones[:n], nil)
	}
}
