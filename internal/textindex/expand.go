// The terms that a prefix, a fuzzy word or a letter of pairs stands for.

package textindex

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// expand returns the lists of the terms of a segment that a leaf other than a word stands for in a language. word is the
// leaf's analyzed word, "" without one. e counts the terms, unless it is nil.
func (s *Segment) expand(l *leaf, lang, normal, word string, e *expansions, check func() error) (lists []list, err error) {
	add := func(d *dictionary) error {
		if e != nil {
			if err := e.add(l, d.term); err != nil {
				return err
			}
		}
		lists = append(lists, d.list)
		return nil
	}
	switch {
	case l.kind == prefixLeaf:
		err = s.expandPrefix(lang, normal, word, check, add)
	case word == "":
	case l.inPairs(lang):
		err = s.expandLetter(lang, word, check, add)
	case l.kind == letterLeaf:
		err = s.expandWord(lang, word, add)
	default:
		err = s.expandFuzzy(lang, newFuzzy(word, l.edits), check, add)
	}
	return lists, err
}

// twoRunes are the letters of pairs that are two runes in terms: the vowel am of Thai and Lao, and ligatures of Lao and kana.
var twoRunes = []string{"\u0e4d\u0e32", "\u0ecd\u0eb2", "\u0eab\u0e99", "\u0eab\u0ea1", "より", "コト"}

// inPair reports whether a term is a letter, or a pair with it.
func inPair(term, letter string) bool {
	first, ends := strings.CutSuffix(term, letter)
	return strings.HasPrefix(term, letter) || ends && (utf8.RuneCountInString(first) == 1 || slices.Contains(twoRunes, first))
}

// expandLetter calls add with the terms of a language for which inPair is true. It seeks two terms for each first rune of
// the terms, so an index needs no terms for single letters.
func (s *Segment) expandLetter(lang, letter string, check func() error, add func(*dictionary) error) error {
	target := []byte(termOf(lang, ""))
	prefix := bytes.Clone(target)
	d := s.seek(target)
	more := d.advance(target)
	for steps := 1; more && bytes.HasPrefix(d.term, prefix); steps++ {
		if steps%1024 == 0 {
			if err := check(); err != nil {
				return err
			}
		}
		// 1. The letter itself, and pairs that begin with it, are neighbours.
		rest := d.term[len(prefix):]
		begins := bytes.HasPrefix(rest, []byte(letter))
		_, n := utf8.DecodeRune(rest)
		pair := append(append(target[:len(prefix)], rest[:n]...), letter...)
		order := bytes.Compare(d.term, pair)
		if begins || order == 0 {
			if err := add(d); err != nil {
				return err
			}
		}
		// 2. The pair of another rune with the letter, then the next rune.
		switch {
		case begins || n == 0:
			more = d.next()
		case order < 0:
			target = pair
			more = d.advance(target)
		default:
			next := prefixEnd(pair[:len(prefix)+n])
			if next == nil {
				return d.err
			}
			target = append(target[:0], next...)
			more = d.advance(target)
		}
	}
	if d.err != nil {
		return d.err
	}
	// 3. Pairs of a letter of two runes with the letter.
	for _, first := range twoRunes {
		if strings.HasPrefix(first, letter) {
			continue // its pairs begin with the letter
		}
		if err := s.expandWord(lang, first+letter, add); err != nil {
			return err
		}
	}
	return nil
}

// expandWord calls add with the term of a word, if there is one.
func (s *Segment) expandWord(lang, word string, add func(*dictionary) error) error {
	term := []byte(termOf(lang, word))
	d := s.seek(term)
	if d.advance(term) && bytes.Equal(d.term, term) {
		return add(d)
	}
	return d.err
}

// expandFuzzy calls add with the terms of a language that are within the distance of a word.
func (s *Segment) expandFuzzy(lang string, f *fuzzy, check func() error, add func(*dictionary) error) error {
	// 1. The first term of the language.
	target := []byte(termOf(lang, ""))
	prefix := bytes.Clone(target)
	d := s.seek(target)
	more := d.advance(target)
	for steps := 1; more && bytes.HasPrefix(d.term, prefix); steps++ {
		if steps%1024 == 0 {
			if err := check(); err != nil {
				return err
			}
		}
		// 2. A term that is near, or how far no term is.
		within, next, end := f.match(d.term[len(prefix):])
		if within {
			if err := add(d); err != nil {
				return err
			}
		}
		switch {
		case end:
			return nil
		case next == nil:
			more = d.next()
		default:
			target = append(target[:len(prefix)], next...)
			more = d.advance(target)
		}
	}
	return d.err
}

// expandPrefix calls add with the terms that have a prefix, and the word itself, because its term may be shorter.
func (s *Segment) expandPrefix(lang, normal, word string, check func() error, add func(*dictionary) error) error {
	prefix := []byte(termOf(lang, normal))
	d := s.seek(prefix)
	more := d.advance(prefix)
	for steps := 1; more && bytes.HasPrefix(d.term, prefix); steps++ {
		if steps%1024 == 0 {
			if err := check(); err != nil {
				return err
			}
		}
		if err := add(d); err != nil {
			return err
		}
		more = d.next()
	}
	if d.err != nil {
		return d.err
	}
	if word == "" || strings.HasPrefix(word, normal) {
		return nil
	}
	return s.expandWord(lang, word, add)
}

// advance reads the next term that is not less than target, which is not before the current one. It returns false at
// the end, or if the segment is damaged. It skips blocks in time that is logarithmic in their number.
func (d *dictionary) advance(target []byte) bool {
	// 1. Find the last block that begins before the target, near the current one at first.
	blocks := len(d.segment.sections[sectionTermIndex]) / termIndexSize
	reaches := func(block int) bool { return bytes.Compare(d.segment.firstOf(block), target) > 0 }
	begin, step := d.block, 1
	for begin+step <= blocks && !reaches(begin+step-1) {
		begin += step
		step *= 2
	}
	begin += sort.Search(min(step-1, blocks-begin), func(i int) bool { return reaches(begin + i) })
	if begin > d.block {
		d.block, d.left = begin-1, 0
	}
	// 2. Find the term.
	for d.next() {
		if bytes.Compare(d.term, target) >= 0 {
			return true
		}
	}
	return false
}

// fuzzy computes the edit distances of terms to a word: how many runes must be added, removed, replaced, or
// swapped with their neighbour. Terms come in order, so the rows of a shared prefix are kept.
type fuzzy struct {
	word  []rune
	edits int
	term  []rune
	ends  []int   // ends[i] is the length of term[:i] in bytes
	rows  [][]int // rows[i] has the distances of term[:i] to the prefixes of the word
	least []int   // of each row
}

func newFuzzy(word string, edits int) *fuzzy {
	f := &fuzzy{word: []rune(word), edits: edits, ends: []int{0}, least: []int{0}}
	first := make([]int, len(f.word)+1)
	for j := range first {
		first[j] = j
	}
	f.rows = [][]int{first}
	return f
}

// match reports whether a term is within the distance. If no term with some prefix of it is, next is the least string
// behind all of these that may have a term within the distance as itself or behind it, and end is set if there is none.
func (f *fuzzy) match(term []byte) (within bool, next []byte, end bool) {
	// 1. Keep the rows of the prefix that the term shares with the one before.
	i := 0
	for i < len(f.term) && f.ends[i] < len(term) {
		r, n := utf8.DecodeRune(term[f.ends[i]:])
		if r != f.term[i] || f.ends[i]+n != f.ends[i+1] {
			break
		}
		i++
	}
	f.term = f.term[:i]
	// 2. Add a row for each other rune, until all distances of a row are too great.
	for f.ends[i] < len(term) {
		r, n := utf8.DecodeRune(term[f.ends[i]:])
		f.term = append(f.term, r)
		f.ends = append(f.ends[:i+1], f.ends[i]+n)
		i++
		if !f.row(i) {
			next, end = f.sibling(term)
			return false, next, end
		}
	}
	return f.rows[i][len(f.word)] <= f.edits, nil, false
}

// row computes the row of the first i runes. It reports whether a term that begins with them may be within the
// distance.
func (f *fuzzy) row(i int) (viable bool) {
	if len(f.rows) == i {
		f.rows = append(f.rows, make([]int, len(f.word)+1))
		f.least = append(f.least, 0)
	}
	row, before := f.rows[i], f.rows[i-1]
	row[0] = i
	least := i
	for j := 1; j <= len(f.word); j++ {
		change := before[j-1]
		if f.term[i-1] != f.word[j-1] {
			change++
		}
		row[j] = min(change, before[j]+1, row[j-1]+1)
		if i > 1 && j > 1 && f.term[i-1] == f.word[j-2] && f.term[i-2] == f.word[j-1] {
			row[j] = min(row[j], f.rows[i-2][j-2]+1)
		}
		least = min(least, row[j])
	}
	f.least[i] = least
	if least <= f.edits {
		return true
	}
	// The next rune may complete a swap.
	for j := 2; j <= len(f.word); j++ {
		if f.term[i-1] == f.word[j-1] && before[j-2] < f.edits {
			return true
		}
	}
	return false
}

// sibling returns the least string behind all terms that begin with f.term, and whose next rune in place of one of it
// is viable. end is set if there is none.
func (f *fuzzy) sibling(term []byte) (next []byte, end bool) {
	for i := len(f.term); i > 0; i-- {
		// 1. If one edit is left, each rune may follow.
		before, r := f.rows[i-1], f.term[i-1]
		if f.least[i-1] < f.edits || r == utf8.RuneError {
			if next = prefixEnd(term[:f.ends[i]]); next == nil {
				return nil, true
			}
			return next, false
		}
		// 2. Or else only a rune of the word that costs nothing, or that completes a swap.
		best := rune(-1)
		for j, w := range f.word {
			if w <= r || best >= 0 && w >= best {
				continue
			}
			if before[j] <= f.edits || i > 1 && j+1 < len(f.word) && f.term[i-2] == f.word[j+1] && f.rows[i-2][j] < f.edits {
				best = w
			}
		}
		if best >= 0 {
			return utf8.AppendRune(bytes.Clone(term[:f.ends[i-1]]), best), false
		}
	}
	return nil, true
}

// prefixEnd returns the first string behind all strings with a prefix; nil if there is none.
func prefixEnd(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for len(next) > 0 {
		if next[len(next)-1]++; next[len(next)-1] != 0 {
			return next
		}
		next = next[:len(next)-1]
	}
	return nil
}
