// Which documents of a term may reach a score, by its frequency in them and by their length.

package textindex

import "math"

// reach computes which documents of a term may reach a score. Different terms share the words of a document, so one that is
// short enough for a good score has little room for other terms. With L for its length and f for the term's frequency, no
// document scores more than
//
//	weight * saturate(f, L) + others * saturate(min(times, share*(L-f)), L)
//
// because saturate is concave in the frequency (Jensen's inequality). Bounds of blocks add up the best of different
// documents, and are much higher. The table keeps which lengths reach a score with each frequency, because few differ.
type reach struct {
	*scorer
	weight float64 // of the term
	others float64 // the sum of the weights of the other terms
	share  float64 // the greatest of these as a part of their sum; 0 if a word of a document may count for two terms
	each   float64 // words that an occurrence takes at least: more than one for a phrase
	tables [reachTables]reachTable
}

const (
	reachTables      = 4
	reachFrequencies = 16
)

// reachTable has the lengths of documents that may score need, if no other term is more frequent than times.
type reachTable struct {
	need   float64
	times  uint32
	known  uint32                        // bit f: ranges[f] is computed; bit 0: the table is in use
	ranges [reachFrequencies]lengthRange // ranges[0] stands for all greater frequencies, and has all lengths
}

// lengthRange is the lengths from least to least + span.
type lengthRange struct{ least, span uint32 }

var (
	allLengths = lengthRange{0, math.MaxUint32}
	noLength   = lengthRange{math.MaxUint32, 0} // no document has so many words
)

// lengthSlack makes up for the rounding of the longest length.
const lengthSlack = 1 + 1e-6

func (r lengthRange) has(length uint32) bool { return length-r.least <= r.span }

// table returns the table of a score and of the greatest frequency of the others.
func (r *reach) table(need float64, times uint32) *reachTable {
	t := &r.tables[times%reachTables]
	if t.known == 0 || t.need != need || t.times != times {
		t.need, t.times, t.known = need, times, 1
		for i := range t.ranges {
			t.ranges[i] = allLengths
		}
		if need <= 0 {
			t.known = math.MaxUint32
		}
	}
	return t
}

// excludes reports whether it is known that no document with a frequency and a length scores what the table needs.
func (t *reachTable) excludes(frequency, length uint32) bool {
	if frequency >= reachFrequencies {
		frequency = 0
	}
	return !t.ranges[frequency].has(length)
}

// has reports whether a document may score what the table needs.
func (r *reach) has(t *reachTable, frequency, length uint32) bool {
	if frequency >= reachFrequencies {
		return t.need <= 0 || r.bound(frequency, t.times, length) >= t.need
	}
	if t.known>>frequency&1 == 0 {
		t.ranges[frequency] = r.lengths(frequency, t)
		t.known |= 1 << frequency
	}
	return t.ranges[frequency].has(length)
}

// bound returns a score that no document with a frequency and a length exceeds, but for rounding.
func (r *reach) bound(frequency, times, length uint32) float64 {
	f, g, n := float64(frequency), float64(times), float64(length)
	if r.share > 0 {
		g = min(g, r.share*max(n-f, 0))
	}
	f = min(f, n/r.each)
	damp := r.base + r.slope*n
	return r.weight*(f/(f+damp)) + r.others*(g/(g+damp))
}

// lengths returns the lengths of documents with a frequency that may score what the table needs.
func (r *reach) lengths(frequency uint32, t *reachTable) lengthRange {
	// 1. But for the limits by the length, scores descend with it. With d = base + slope*L and g = times, the score is need if
	// need*d*d + p*d + q = 0.
	f, g := float64(frequency), float64(t.times)
	p := t.need*(f+g) - r.weight*f - r.others*g
	q := f * g * (t.need - r.weight - r.others)
	root := math.Sqrt(p*p - 4*t.need*q)
	d := (root - p) / (2 * t.need)
	if p > 0 {
		d = -2 * q / (root + p) // it is the same, but not the difference of near numbers
	}
	longest := (d*lengthSlack - r.base) / r.slope
	if !(longest >= 0) { // no length, or not a number
		return noLength
	}
	// 2. The limits exclude some of the shortest and of the longest.
	least, most := frequency, uint32(min(longest, math.MaxUint32-1))
	for steps := 0; steps < reachFrequencies && least <= most && r.bound(frequency, t.times, least) < t.need; steps++ {
		least++
	}
	for steps := 0; steps < reachFrequencies && least <= most && r.bound(frequency, t.times, most) < t.need; steps++ {
		most--
	}
	if least > most {
		return noLength
	}
	return lengthRange{least, most - least}
}

// repeats reports whether some lists are the same, so that a word of a document may count for several of them.
func repeats(lists []list) bool {
	seen := map[*byte]bool{}
	for _, l := range lists {
		if seen[&l.postings[0]] {
			return true
		}
		seen[&l.postings[0]] = true
	}
	return false
}

// shareLengths makes the terms of some operands bound each other.
func shareLengths(operands []operand) {
	// 1. The terms, and the sums of the weights before and behind each: a difference of sums would lose digits.
	var terms []*termMatcher
	var lists []list
	for _, o := range operands {
		if o.term != nil {
			terms, lists = append(terms, o.term), append(lists, o.term.list)
		}
	}
	behind := make([]float64, len(terms)+1)
	greatest := make([]float64, len(terms)+1)
	for i := len(terms) - 1; i >= 0; i-- {
		behind[i] = behind[i+1] + terms[i].weight
		greatest[i] = max(greatest[i+1], terms[i].weight)
	}
	// 2. What the others of each may score.
	distinct := !repeats(lists)
	before, most := 0.0, 0.0
	for i, m := range terms {
		others := before + behind[i+1]
		r := m.reaching()
		r.others = others * slack
		if others > 0 && distinct {
			r.share = min(max(most, greatest[i+1])/others*slack, 1)
		}
		before, most = before+m.weight, max(most, m.weight)
	}
}

// rivals returns what operands that are no terms score in a window at most, and the greatest frequency of the terms.
func rivals(operands []operand) (score float64, times uint32) {
	for _, o := range operands {
		if o.term != nil {
			times = max(times, o.term.times)
		} else {
			score += o.most * slack
		}
	}
	return score, times
}
