// Tests of samples of lists and streams.

package sample

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/links/uid"
)

func TestSample(t *testing.T) {
	r := random(t)
	for range 3000 {
		links := aList(r, r.IntN(100), 1+r.IntN(20))
		page := uid.UID(1+r.IntN(20)) << uid.PageBits
		s := Spec{N: r.IntN(110) - 2, Class: Class(r.IntN(numClasses)), Seed: r.Uint64()}
		kept := inClass(links, s.Class, page)
		want := min(max(s.N, 0), len(kept))
		dst := []uid.UID{7}
		before := slices.Clone(links)

		got := Sample(dst, links, page, s, pairs{})
		again := Sample(nil, links, page, s, pairs{})
		if got[0] != 7 || !slices.Equal(got[1:], again) {
			t.Fatalf("%+v: %v, then %v", s, got, again)
		}
		if len(again) != want || !ascending(again) || !subset(again, kept) {
			t.Fatalf("%+v of %v: %v are not %d of %v", s, links, again, want, kept)
		}

		s.Mode = ModeConsistent
		got = Sample(dst, links, page, s, pairs{})
		if got[0] != 7 || !slices.Equal(got[1:], smallest(kept, s.N)) {
			t.Fatalf("%+v of %v: %v, want %v", s, links, got, smallest(kept, s.N))
		}
		if !slices.Equal(links, before) {
			t.Fatal("the list was changed")
		}
	}
}

// Different pages and seeds must have different samples of the same list.
func TestSeeds(t *testing.T) {
	links := aList(random(t), 2000, 12)
	draw := func(seed uint64, page uid.UID) []uid.UID {
		return Sample(nil, links, page, Spec{N: 20, Seed: seed}, nil)
	}
	for i := range uint64(50) {
		a, otherPage, otherSeed := draw(i, 1), draw(i, 2), draw(i+1, 1)
		if slices.Equal(a, otherPage) || slices.Equal(a, otherSeed) || slices.Equal(otherPage, otherSeed) {
			t.Fatalf("seed %d: %v, %v, %v", i, a, otherPage, otherSeed)
		}
	}
}

func ascending(links []uid.UID) bool {
	for i := 1; i < len(links); i++ {
		if links[i-1] >= links[i] {
			return false
		}
	}
	return true
}

func subset(a, b []uid.UID) bool {
	return !slices.ContainsFunc(a, func(u uid.UID) bool { return !slices.Contains(b, u) })
}

// The class of all links needs no hosts. It contains a self-link, and no other class does.
func TestClasses(t *testing.T) {
	page := uid.Make(3, 4, 5)
	links := []uid.UID{page}
	for _, mode := range []Mode{ModeRandom, ModeConsistent} {
		if got := Sample(nil, links, page, Spec{N: 3, Mode: mode}, nil); !slices.Equal(got, links) {
			t.Errorf("%s: %v", mode, got)
		}
		for _, class := range []Class{InterHost, InterDomain} {
			if got := Sample(nil, links, page, Spec{N: 3, Mode: mode, Class: class}, pairs{}); len(got) > 0 {
				t.Errorf("%s, %s: %v", mode, class, got)
			}
		}
	}
	for _, c := range []struct {
		extent uid.Extent
		want   Class
	}{{6, All}, {7, All}, {8, InterHost}, {11, InterHost}, {12, InterDomain}, {5, InterDomain}} {
		if got := ClassesOf(pairs{}, 6<<uid.PageBits).Narrowest(c.extent); got != c.want {
			t.Errorf("from extent 6 to %d: %s, want %s", c.extent, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for class, name := range []string{"all", "inter-host", "inter-domain"} {
		if got, err := ParseClass(name); err != nil || got != Class(class) || got.String() != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for mode, name := range []string{"random", "consistent"} {
		if got, err := ParseMode(name); err != nil || got != Mode(mode) || got.String() != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ParseClass("class 3"); err == nil {
		t.Error("class 3")
	}
	if _, err := ParseMode(""); err == nil {
		t.Error("an empty mode")
	}
}

func TestRun(t *testing.T) {
	for length := range 70 {
		for rest := range 5 {
			var links []uid.UID
			for i := range length + 1 {
				links = append(links, uid.Make(1, 1, uint32(i)))
			}
			for i := range rest {
				links = append(links, uid.Make(1, 2, uint32(i)))
			}
			if got, _ := (Classes{}).Run(links); got != length+1 {
				t.Fatalf("%d of one extent and %d: %d", length+1, rest, got)
			}
		}
	}
}

// chiSquare checks that the counts come from equally likely outcomes. If the program is right, it
// fails with probability 1e-6 at most for another seed than the test's (Wilson and Hilferty's
// approximation of the chi-square distribution).
func chiSquare(t *testing.T, what string, counts []int) {
	t.Helper()
	total := 0
	for _, count := range counts {
		total += count
	}
	expected := float64(total) / float64(len(counts))
	if expected < 20 {
		t.Fatalf("%s: %.1f of each are too few to tell", what, expected)
	}
	sum := 0.0
	for _, count := range counts {
		sum += (float64(count) - expected) * (float64(count) - expected) / expected
	}
	const deviations = 4.7534 // of the normal distribution: 1e-6 above
	freedom := float64(len(counts) - 1)
	limit := freedom * math.Pow(1-2/(9*freedom)+deviations*math.Sqrt(2/(9*freedom)), 3)
	if sum > limit {
		t.Errorf("%s: chi-square is %.0f with %.0f degrees of freedom, over %.0f", what, sum, freedom, limit)
	}
}

// subsets numbers the subsets of size n of count things, by bit masks.
func subsets(count, n int) map[uint32]int {
	of := map[uint32]int{}
	for mask := range uint32(1) << count {
		if ones(mask) == n {
			of[mask] = len(of)
		}
	}
	return of
}

func ones(mask uint32) int {
	n := 0
	for ; mask != 0; mask &= mask - 1 {
		n++
	}
	return n
}

// Every subset is equally likely: of few, of many, of a class, of a stream.
func TestRandomIsUniform(t *testing.T) {
	page := uid.UID(7) << uid.PageBits
	// Every third link is of the page's host; those of a class are numbered.
	mixed, numbers := []uid.UID(nil), map[uid.UID]int{}
	for i := range 30 {
		u := uid.UID(1+i)<<uid.PageBits | 5
		mixed = append(mixed, u)
		if classes := ClassesOf(pairs{}, page); classes.Narrowest(u.Extent()) == InterDomain {
			numbers[u] = len(numbers)
		}
	}
	plain := mixed[:15]
	// In a long list, 15 links of other domains are sometimes found by trying,
	// and mostly not.
	rareOnes := slices.Collect(maps.Keys(numbers))[:15]
	slices.Sort(rareOnes)
	rare := slices.Clone(rareOnes)
	for i := range uid.UID(400 + 4*len(rareOnes)) {
		rare = append(rare, page+i)
	}
	for i := range uid.UID(100) {
		rare = append(rare, 9<<uid.PageBits+i) // another host of the domain
	}
	slices.Sort(rare)
	position := func(u uid.UID) int { return slices.Index(plain, u) }
	for _, c := range []struct {
		name     string
		count, n int
		draw     func(n int, seed uint64) []uid.UID
		number   func(uid.UID) int
	}{
		{"few", 15, 3, func(n int, seed uint64) []uid.UID { return Random(nil, plain, n, All, Classes{}, seed) }, position},
		{"most", 15, 12, func(n int, seed uint64) []uid.UID { return Random(nil, plain, n, All, Classes{}, seed) }, position},
		{"class", len(numbers), 2, func(n int, seed uint64) []uid.UID {
			return Random(nil, mixed, n, InterDomain, ClassesOf(pairs{}, page), seed)
		}, func(u uid.UID) int { return numbers[u] }},
		{"rare class", 15, 2, func(n int, seed uint64) []uid.UID {
			return Random(nil, rare, n, InterDomain, ClassesOf(pairs{}, page), seed)
		}, func(u uid.UID) int { return slices.Index(rareOnes, u) }},
	} {
		outcomes := subsets(c.count, c.n)
		counts := make([]int, len(outcomes))
		for seed := range uint64(50 * len(counts)) {
			mask := uint32(0)
			for _, u := range c.draw(c.n, SeedOf(seed, page)) {
				mask |= 1 << c.number(u)
			}
			outcome, ok := outcomes[mask]
			if !ok {
				t.Fatalf("%s: %b is not %d different links", c.name, mask, c.n)
			}
			counts[outcome]++
		}
		chiSquare(t, c.name, counts)
	}
}

func TestStreamEdges(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 3, math.MaxInt} {
		s := NewSmallest(n)
		if len(s.Append(nil)) != 0 {
			t.Errorf("%d of nothing", n)
		}
		links := []uid.UID{9, 8, 5}
		s.Add(links...)
		if got := s.Append([]uid.UID{1}); !slices.Equal(got[1:], smallest(links, n)) {
			t.Errorf("%d consistently: %v", n, got)
		}
	}
}

// A consistent sampler of a stream in any order, with duplicates, must return the sample of the
// list at any time.
func TestSmallest(t *testing.T) {
	r := random(t)
	for range 300 {
		n := r.IntN(40)
		s := NewSmallest(n)
		var links []uid.UID
		for range 1 + r.IntN(5) {
			more := aList(r, r.IntN(300), 5)
			r.Shuffle(len(more), func(i, j int) { more[i], more[j] = more[j], more[i] })
			s.Add(more...)
			links = append(links, more...)
			slices.Sort(links)
			links = slices.Compact(links)
			if got := s.Append(nil); !slices.Equal(got, smallest(links, n)) {
				t.Fatalf("%d of %d: %v, want %v", n, len(links), got, smallest(links, n))
			}
		}
	}
}

// The similarity of two lists, estimated from consistent samples: the share of the smallest of
// the union found in both estimates their Jaccard coefficient (Broder 1997). Its standard
// deviation is sqrt(J(1-J)/n). If the program is right, it fails here with probability 1e-6 for
// each of the ten for another seed.
func TestConsistentKeepsSimilarity(t *testing.T) {
	const n, links = 400, 6000
	for trial := range uid.UID(10) {
		var a, b []uid.UID // ascending
		for i := range uid.UID(links) {
			u := (trial*links + i + 1) << 7 // a third in a, in b, and in both
			if i%3 != 0 {
				a = append(a, u)
			}
			if i%3 != 1 {
				b = append(b, u)
			}
		}
		of := func(links []uid.UID) []uid.UID { return Consistent(nil, links, n, All, Classes{}) }
		union := NewSmallest(n)
		union.Add(of(a)...)
		union.Add(of(b)...)
		common := 0
		for _, u := range union.Append(nil) {
			if contains(a, u) && contains(b, u) {
				common++
			}
		}
		j := 1.0 / 3
		if got := float64(common) / n; math.Abs(got-j) > 4.9*math.Sqrt(j*(1-j)/n) {
			t.Errorf("trial %d: %.3f, want about %.3f", trial, got, j)
		}
	}
}

// A consistent sample must not prefer one end of a list, in any numbering of UIDs.
func TestConsistentIsUnbiased(t *testing.T) {
	for _, shift := range []int{0, 12, uid.PageBits} {
		counts := make([]int, 100)
		for trial := range uid.UID(2000) {
			var links []uid.UID
			for i := range uid.UID(len(counts)) {
				links = append(links, (1+trial*100+i)<<shift)
			}
			for _, u := range Consistent(nil, links, 10, All, Classes{}) {
				counts[u>>shift-1-trial*100]++
			}
		}
		chiSquare(t, fmt.Sprintf("UIDs << %d", shift), counts)
	}
}
