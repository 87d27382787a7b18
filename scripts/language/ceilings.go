// How many places of a folder may break a rule that is not yet met everywhere.

package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A rate holds for each folder with at least rateWords words of comments.
const (
	rateWords      = 500
	minConditional = 1.0 // if, because, when, must in 100 words
	maxRelative    = 4.0 // that, what, which, who, where in 100 words
)

// ceilingsFile has a line for each rule that a folder breaks: the rule, the folder, and the
// number of places. A folder that is not in it has none. Numbers may only become smaller.
//
//go:embed ceilings.txt
var ceilingsFile string

// cellKey is a rule in a folder.
type cellKey struct{ rule, folder string }

func (k cellKey) String() string { return k.rule + " " + k.folder }

// exceed records a place that breaks a rule with a ceiling.
func (t *tree) exceed(rule, folder, path string, line int, text string) {
	k := cellKey{rule, folder}
	t.over[k] = append(t.over[k], problem{path, line, text})
}

// readCeilings parses the lines of ceilings.txt.
func readCeilings(text string) (map[cellKey]int, error) {
	ceilings := map[cellKey]int{}
	s := bufio.NewScanner(strings.NewReader(text))
	for s.Scan() {
		var k cellKey
		var n int
		if _, err := fmt.Sscan(s.Text(), &k.rule, &k.folder, &n); err != nil || n <= 0 {
			return nil, fmt.Errorf("ceilings.txt: the line %q is not a rule, a folder and a number", s.Text())
		}
		ceilings[k] = n
	}
	return ceilings, nil
}

// ceilings returns the counts of today in the form of ceilings.txt.
func (t *tree) ceilings() string {
	var b strings.Builder
	for _, k := range t.overKeys() {
		fmt.Fprintln(&b, k.rule, k.folder, len(t.over[k]))
	}
	return b.String()
}

func (t *tree) overKeys() []cellKey {
	return slices.SortedFunc(maps.Keys(t.over), func(a, b cellKey) int { return strings.Compare(a.String(), b.String()) })
}

// above returns the places of each folder with more than its ceiling. A moved file takes its places
// along. So a folder counts only if the sum of its rule over all folders is above that of the
// ceilings, too.
func (t *tree) above(ceilings map[cellKey]int) []problem {
	sums := map[string]int{} // by rule: places above the ceilings, less those below
	for k, places := range t.over {
		sums[k.rule] += len(places)
	}
	for k, most := range ceilings {
		sums[k.rule] -= most
	}
	var all []problem
	for _, k := range t.overKeys() {
		if n, most := len(t.over[k]), ceilings[k]; n > most && sums[k.rule] > 0 {
			all = append(all, problem{k.folder, 0, fmt.Sprintf("%d places break the rule %q, at most %d may. If files were moved, run go run ./scripts/language -ceilings >scripts/language/ceilings.txt", n, k.rule, most)})
			all = append(all, t.over[k]...)
		}
	}
	return all
}

// large returns the types with more methods than maxMethods lets them have.
func (t *tree) large() []problem {
	var all []problem
	for _, name := range slices.Sorted(maps.Keys(t.methods)) {
		folder := name[:strings.LastIndexByte(name, '.')]
		for top, most := range maxMethods {
			if n := t.methods[name]; n > most && strings.HasPrefix(folder+"/", top+"/") {
				all = append(all, problem{folder, 0, fmt.Sprintf("%s has %d methods, want at most %d", name[len(folder)+1:], n, most)})
			}
		}
	}
	return all
}

// rates returns the folders whose comments have too few conditions or too many relative words.
func (t *tree) rates() []problem {
	var all []problem
	for _, folder := range slices.Sorted(maps.Keys(t.folders)) {
		c := t.folders[folder]
		if c.words < rateWords {
			continue
		}
		if n := percent(c.conditional, c.words); n < minConditional {
			all = append(all, problem{folder, 0, fmt.Sprintf("%.1f of if, because, when, must in 100 words of comments, want %.1f", n, minConditional)})
		}
		if n := percent(c.relative, c.words); n > maxRelative {
			all = append(all, problem{folder, 0, fmt.Sprintf("%.1f of that, what, which, who, where in 100 words of comments, want at most %.1f", n, maxRelative)})
		}
	}
	return all
}
