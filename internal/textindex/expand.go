// The terms that a prefix or a fuzzy word stands for.

package textindex

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// expansion is a term that a leaf stands for.
type expansion struct {
	term string
	list list
}

// expand calls yield with each term of a segment that a prefix or a fuzzy word stands for in a language. word is the
// leaf's analyzed word, "" without one. n counts the terms of all leaves of a query.
func (s *Segment) expand(l *leaf, lang, normal, word string, n *int, check func() error, yield func(expansion)) error {
	var err error
	add := func(d *dictionary) bool {
		if *n++; *n > MaxExpansions {
			what := fmt.Sprintf("%s*", l.text)
			if l.kind == fuzzyLeaf {
				what = fmt.Sprintf("%s~%d", l.text, l.edits)
			}
			err = fmt.Errorf("%w: %s and what is before it stand for more than %d words of the index; write more of the words", ErrQuery, what, MaxExpansions)
			return false
		}
		yield(expansion{string(d.term), d.list})
		return true
	}
	if l.kind == prefixLeaf {
		return s.expandPrefix(lang, normal, word, add, &err)
	}
	if word == "" {
		return nil
	}
	f := newFuzzy(word, l.edits)
	prefix := []byte(termOf(lang, ""))
	d := s.seek(prefix)
	for steps := 1; d.next(); steps++ {
		if steps%4096 == 0 {
			if err := check(); err != nil {
				return err
			}
		}
		if !bytes.HasPrefix(d.term, prefix) {
			if bytes.Compare(d.term, prefix) > 0 {
				break
			}
			continue
		}
		within, next := f.match(d.term[len(prefix):])
		if within && !add(d) {
			return err
		}
		if next != nil {
			// No term matches before next, so the dictionary leaves them out.
			if target := append(bytes.Clone(prefix), next...); !d.within(target) {
				d = s.seek(target)
			}
		}
	}
	return d.err
}

// expandPrefix adds the terms with a prefix, and the word itself, because its term may be shorter.
func (s *Segment) expandPrefix(lang, normal, word string, add func(*dictionary) bool, failed *error) error {
	prefix := []byte(termOf(lang, normal))
	for d, err := range s.scan(prefix) {
		if err != nil {
			return err
		}
		if !add(d) {
			return *failed
		}
	}
	if word == "" || bytes.HasPrefix([]byte(termOf(lang, word)), prefix) {
		return nil
	}
	for d, err := range s.scan([]byte(termOf(lang, word))) {
		if err != nil {
			return err
		}
		if string(d.term) == termOf(lang, word) {
			add(d)
		}
		break
	}
	return *failed
}

// within reports whether the next terms of the current block may reach a target, so that a search is not needed.
func (d *dictionary) within(target []byte) bool {
	return d.block*termIndexSize >= len(d.segment.sections[sectionTermIndex]) || bytes.Compare(target, d.segment.firstOf(d.block)) <= 0
}

// fuzzy computes the edit distances of terms to a word: how many runes must be added, removed, replaced, or
// swapped with their neighbour. Terms come in order, so the rows of a shared prefix are kept.
type fuzzy struct {
	word  []rune
	edits int
	term  []rune
	rows  [][]int // rows[i] has the distances of term[:i] to the prefixes of the word
}

func newFuzzy(word string, edits int) *fuzzy {
	f := &fuzzy{word: []rune(word), edits: edits}
	first := make([]int, len(f.word)+1)
	for j := range first {
		first[j] = j
	}
	f.rows = [][]int{first}
	return f
}

// match reports whether a term is within the distance. If no term with some prefix of it is, next is a
// string behind all of these; else nil.
func (f *fuzzy) match(term []byte) (within bool, next []byte) {
	// 1. Keep the rows of the prefix that the term shares with the one before.
	i := 0
	at := 0
	for i < len(f.term) && at < len(term) {
		r, n := utf8.DecodeRune(term[at:])
		if r != f.term[i] {
			break
		}
		i, at = i+1, at+n
	}
	f.term = f.term[:i]
	// 2. Add a row for each other rune, until all distances of a row are too great.
	for at < len(term) {
		r, n := utf8.DecodeRune(term[at:])
		at += n
		f.term = append(f.term, r)
		least := f.row(len(f.term))
		if least > f.edits {
			return false, after(term[:at])
		}
	}
	return f.rows[len(f.term)][len(f.word)] <= f.edits, nil
}

// row computes the row of the first i runes, and returns the least distance of it and of the row before, from which
// a swap may continue.
func (f *fuzzy) row(i int) int {
	if len(f.rows) == i {
		f.rows = append(f.rows, make([]int, len(f.word)+1))
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
	for j := range before {
		least = min(least, before[j]+1)
	}
	return least
}

// after returns the first string behind all strings with a prefix; nil if there is none.
func after(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for len(next) > 0 {
		if next[len(next)-1]++; next[len(next)-1] != 0 {
			return next
		}
		next = next[:len(next)-1]
	}
	return nil
}
