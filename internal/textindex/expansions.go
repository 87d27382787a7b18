// Bounds of the terms that prefixes and fuzzy words stand for, and the lists that a request keeps of them.

package textindex

import (
	"errors"
	"fmt"
)

// expansions counts the words that the prefixes and fuzzy words of a query stand for. A word counts once, even if several
// segments have it. Because a set of words takes memory, add first counts a word once for each segment. If that sum is too
// large, it returns errRecount, and the caller counts again with the set.
type expansions struct {
	n        int
	segments int
	seen     map[expandedWord]struct{} // the different words; nil in the first count
}

// expandedWord is a leaf and the hash of a term.
type expandedWord struct {
	leaf int
	hash uint64
}

// errRecount means that the words must be counted again, with the set of different words.
var errRecount = errors.New("count the words again")

// add counts a term of a leaf.
func (e *expansions) add(l *leaf, term []byte) error {
	n := 0
	if e.seen != nil {
		e.seen[expandedWord{l.index, Hash(term)}] = struct{}{}
		n = len(e.seen)
	} else {
		e.n++
		n = e.n
	}
	switch {
	case n <= MaxExpansions:
		return nil
	case e.segments > 1 && e.seen == nil:
		return errRecount
	}
	what := l.text
	switch l.kind {
	case prefixLeaf:
		what += "*"
	case fuzzyLeaf:
		what = fmt.Sprintf("%s~%d", l.text, l.edits)
	}
	return fmt.Errorf("%w: %s and what is before it stand for more than %d words of the index; write more of the words", ErrQuery, what, MaxExpansions)
}

// maxKept bounds the lists that a request keeps.
const maxKept = 8192

// keptLists are the lists that Collect has found for the prefixes and fuzzy words of a request.
type keptLists struct {
	n     int
	lists map[keptKey][]list
}

type keptKey struct {
	segment *Segment
	leaf    int
	lang    string
}

func (k *keptLists) keep(key keptKey, lists []list) {
	if _, has := k.lists[key]; has || k.n+len(lists) > maxKept {
		return
	}
	if k.lists == nil {
		k.lists = map[keptKey][]list{}
	}
	k.lists[key] = lists
	k.n += len(lists)
}

// Forget returns the request without what Collect has kept for the first search: it would keep old segments in memory.
func (r *Request) Forget() *Request {
	return &Request{Query: r.Query, Predicates: r.Predicates, Language: r.Language}
}
