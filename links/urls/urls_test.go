// Tables compared with the lists of URLs they were made from.

package urls

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// checkTable compares all results of a table with extents. step is 1 to check every URL, more to
// skip some.
func checkTable(t *testing.T, table *Table, extents []extent, step int) {
	t.Helper()
	n, _ := total(extents)
	if table.Len() != n {
		t.Fatalf("Len = %d, want %d", table.Len(), n)
	}
	it := table.Scan(0)
	ordinal := uint32(0)
	var buffer []byte
	for _, e := range extents {
		for _, url := range e.urls {
			if o, got, ok := it.Next(); !ok || o != ordinal || string(got) != url {
				t.Fatalf("Scan gives %d %.300q %v, want %d %.300q", o, got, ok, ordinal, url)
			}
			if int(ordinal)%step == 0 {
				if buffer = table.AppendURL(buffer[:0], ordinal); string(buffer) != url {
					t.Fatalf("URL %d is %.300q, want %.300q", ordinal, buffer, url)
				}
				if got, ok := table.Find(url, e.hash()); !ok || got != ordinal {
					t.Fatalf("Find(%.300q) = %d, %v, want %d", url, got, ok, ordinal)
				}
			}
			ordinal++
		}
	}
	if o, url, ok := it.Next(); ok {
		t.Fatalf("Scan goes on with %d %.300q", o, url)
	}
}

// checkAbsent searches URLs close to those of the table. They must not be found.
func checkAbsent(t *testing.T, table *Table, extents []extent, rng *rand.Rand) {
	t.Helper()
	there := map[string]bool{}
	for _, e := range extents {
		for _, url := range e.urls {
			there[url] = true
		}
	}
	for _, e := range extents {
		for range 20 {
			if len(e.urls) == 0 {
				break
			}
			url := e.urls[rng.IntN(len(e.urls))]
			at := rng.IntN(len(url) + 1)
			for _, other := range []string{url[:at], url + "x", url + "\x00", url[:at] + "x" + url[at:], url[:at] + "\xff", ""} {
				if _, ok := table.Find(other, e.hash()); ok && !there[other] {
					t.Fatalf("found %.300q, which is not there", other)
				}
			}
		}
	}
	if _, ok := table.Find("http://nowhere.example/", 42); ok {
		t.Fatal("found a URL of a host that is not there")
	}
}

func TestTableEqualsList(t *testing.T) {
	rng := newRand(t)
	for range 3 {
		extents := oddExtents(rng)
		for _, shift := range []uint{defaultShift, 0, rng.UintN(maxShift + 1)} {
			t.Run(fmt.Sprint("blocks of ", 1<<shift), func(t *testing.T) {
				table := mustOpen(t, build(t, shift, extents))
				checkTable(t, table, extents, 1)
				checkAbsent(t, table, extents, rng)
				hashes := map[string]uint64{}
				for _, e := range extents {
					for _, url := range e.urls {
						hashes[url] = e.hash()
					}
				}
				require.NoError(t, table.Check(func(url []byte) uint64 { return hashes[string(url)] }))
			})
		}
	}
}

func TestEmptyTable(t *testing.T) {
	table := mustOpen(t, build(t, defaultShift, nil))
	checkTable(t, table, nil, 1)
	if _, ok := table.Find("", 0); ok {
		t.Error("found a URL in an empty table")
	}
	if err := table.Check(nil); err != nil {
		t.Error(err)
	}
}

func TestScanFromAnywhere(t *testing.T) {
	rng := newRand(t)
	extents := denseHosts(rng, 3, 500)
	var all []string
	for _, e := range extents {
		all = append(all, e.urls...)
	}
	table := mustOpen(t, build(t, defaultShift, extents))
	for from := range uint32(len(all)) {
		for ordinal, url := range table.All(from) {
			if ordinal != from || string(url) != all[from] {
				t.Fatalf("All(%d) begins with %d %q, want %q", from, ordinal, url, all[from])
			}
			break
		}
	}
	for _, from := range []uint32{uint32(len(all)), math.MaxUint32} {
		for range table.All(from) {
			t.Fatalf("All(%d) of %d URLs yields one", from, len(all))
		}
	}
	if got := table.AppendURL([]byte("x"), uint32(len(all))); string(got) != "x" {
		t.Errorf("an ordinal without a URL appends %q", got)
	}
}

// The five pages of the paper, as ordinals 0 to 4 of a cell that begins with
// UID 3072 (M. Najork, HT 2009, Figure 3).
func TestGolden(t *testing.T) {
	letters := []extent{{"org.letters.www", []string{
		"http://www.letters.org/",
		"http://www.letters.org/alep",
		"http://www.letters.org/aleph",
		"http://www.letters.org/alif",
		"http://www.letters.org/alpha",
	}}}
	later := []extent{{"org.letters.www", append(slices.Clone(letters[0].urls), "c", "a", "b", "", "A", "\x01", "\x00")}, {"h", []string{"h:1", "h:2"}}}
	for _, c := range []struct {
		name    string
		shift   uint
		extents []extent
	}{
		{"letters", defaultShift, letters},
		{"letters-2", 1, letters},
		{"later", defaultShift, later},
		{"empty", defaultShift, nil},
	} {
		b := build(t, c.shift, c.extents)
		checkTable(t, mustOpen(t, b), c.extents, 1)
		path := filepath.Join("testdata", c.name+".hex")
		goldenfile.Check(t, path, hex.Dump(b))
	}
}

// The parts between one URL and the next must be those of the paper's Figure 4: the shared bytes,
// the length of the rest, the rest.
func TestLettersAreFrontCoded(t *testing.T) {
	table := mustOpen(t, build(t, defaultShift, []extent{{"org.letters.www", []string{
		"http://www.letters.org/",
		"http://www.letters.org/alep",
		"http://www.letters.org/aleph",
		"http://www.letters.org/alif",
		"http://www.letters.org/alpha",
	}}}))
	want := "\x17http://www.letters.org/\x00" + "\x08" + "\x17\x04\x1b\x01\x19\x02\x19\x03" + "alep" + "h" + "if" + "pha"
	if got := string(table.pieces[:len(table.pieces)-readAhead]); got != want {
		t.Errorf("node and leaf are %q, want %q", got, want)
	}
	for i, url := range []string{"", "alep", "aleph", "alif", "alpha"} {
		if o, ok := table.Find("http://www.letters.org/"+url, xxhash.Sum64String("org.letters.www")); !ok || 3072+o != uint32(3072+i) {
			t.Errorf("%s has the UID %d, want %d", url, 3072+o, 3072+i)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	b := NewBuilder()
	if err := b.Add([]byte("a")); !errors.Is(err, ErrNoExtent) {
		t.Errorf("before an extent: %v", err)
	}
	b.StartExtent(1)
	if err := b.Add(make([]byte, MaxURLBytes+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too long: %v", err)
	}
	require.NoError(t, b.Add([]byte("a")))
	if err := b.Add([]byte("a")); !errors.Is(err, ErrDuplicate) {
		t.Errorf("twice: %v", err)
	}
	b.StartExtent(2)
	if err := b.Add([]byte("a")); err != nil {
		t.Errorf("in another extent: %v", err)
	}
	b.n = MaxURLs
	if err := b.Add([]byte("b")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too many: %v", err)
	}
}

// The longest URL.
func TestLongestURL(t *testing.T) {
	url := strings.Repeat("0123456789abcdef", MaxURLBytes/16)
	extents := []extent{{"a", []string{url[:MaxURLBytes-1], url}}, {"b", []string{"b"}}}
	checkTable(t, mustOpen(t, build(t, defaultShift, extents)), extents, 1)
}

// Hosts must be found even if someone made their hashes collide. At most maxCandidates of them
// are searched.
func TestHostsOfOneHash(t *testing.T) {
	b := NewBuilder()
	const hosts = 3000
	for i := range hosts {
		b.StartExtent(7)
		for j := range 3 {
			require.NoError(t, b.Add(fmt.Appendf(nil, "http://h%05d/%d", i, j)))
		}
	}
	out := b.AppendTo(nil)
	table := mustOpen(t, out)
	for i := range uint32(hosts) {
		for j := range uint32(3) {
			if o, ok := table.Find(fmt.Sprintf("http://h%05d/%d", i, j), 7); !ok || o != 3*i+j {
				t.Fatalf("host %d, page %d: %d, %v", i, j, o, ok)
			}
		}
	}
	if first, last := table.hosts.find(7); last-first != maxCandidates {
		t.Errorf("%d candidates, want %d", last-first, maxCandidates)
	}
	if got, want := table.strays.keys.Len(), 3*(hosts-maxCandidates); got != want {
		t.Errorf("%d strays, want %d", got, want)
	}
}

// A URL must be searched among those of its host, not of its neighbours.
func TestFindAsksOneHost(t *testing.T) {
	table := mustOpen(t, build(t, defaultShift, []extent{{"a", []string{"x", "y"}}, {"b", []string{"z"}}, {"c", []string{"x", "zz"}}}))
	for _, c := range []struct {
		host, url string
		ordinal   uint32
		ok        bool
	}{{"a", "x", 0, true}, {"a", "y", 1, true}, {"b", "z", 2, true}, {"c", "x", 3, true}, {"b", "y", 0, false}, {"b", "x", 0, false}, {"a", "zz", 0, false}} {
		if o, ok := table.Find(c.url, extent{host: c.host}.hash()); ok != c.ok || ok && o != c.ordinal {
			t.Errorf("%s of %s: %d, %v, want %d, %v", c.url, c.host, o, ok, c.ordinal, c.ok)
		}
	}
}

// Of many runs the long ones are searched, the others' URLs are strays.
func TestRunsThatAreSearched(t *testing.T) {
	runs := func(lengths ...int) (urls []string) {
		for i, n := range lengths {
			for j := range n {
				urls = append(urls, fmt.Sprintf("%05d/%d", j, 9-i))
			}
		}
		return urls
	}
	for _, c := range []struct {
		lengths          []int
		searched, strays int
	}{
		{[]int{5}, 1, 0},
		{[]int{1, 2, 3, 4}, 4, 0},
		{[]int{300, 301, 302, 303, 304, 1}, 4, 301},
		{[]int{255, 256, 2000, 255, 255}, 2, 765},
		{[]int{5, 1, 1, 1, 1}, 1, 4},
		{[]int{2, 2, 2, 2, 2}, 0, 10},
	} {
		extents := []extent{{"h", runs(c.lengths...)}}
		table := mustOpen(t, build(t, defaultShift, extents))
		checkTable(t, table, extents, 1)
		if got := table.hosts.keys.Len(); got != c.searched {
			t.Errorf("%v: %d runs are searched, want %d", c.lengths, got, c.searched)
		}
		if got := table.strays.keys.Len(); got != c.strays {
			t.Errorf("%v: %d strays, want %d", c.lengths, got, c.strays)
		}
	}
}

// Strays are found by halving if their keys are equal.
func TestStraysOfOneKey(t *testing.T) {
	const count = 100
	// A falling extent: all runs are of one URL, none is searched.
	x := newEntries(count)
	index := hashIndex{keyBits: x.keyBits}
	var urls []string
	for i := 0; len(urls) < count; i++ {
		if url := fmt.Sprintf("http://h/%d", i); index.key(xxhash.Sum64String(url)) == 5 {
			urls = append(urls, url)
		}
	}
	slices.Sort(urls)
	slices.Reverse(urls)
	extents := []extent{{"h", urls}}
	table := mustOpen(t, build(t, defaultShift, extents))
	checkTable(t, table, extents, 1)
	if first, last := table.strays.find(xxhash.Sum64String(urls[0])); last-first != count {
		t.Fatalf("%d strays of one key, want %d", last-first, count)
	}
	for i := 0; i < 1_000_000; i++ {
		url := fmt.Sprintf("http://h/no%d", i)
		if index.key(xxhash.Sum64String(url)) == 5 {
			if _, ok := table.Find(url, extents[0].hash()); ok {
				t.Fatalf("found %q", url)
			}
			break
		}
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	rng := newRand(t)
	extents := append(denseHosts(rng, 2, 2000), oddExtents(rng)...)
	data := build(t, defaultShift, extents)
	table := mustOpen(t, data)
	buffer := make([]byte, 0, 1<<20)
	if n := testing.AllocsPerRun(10, func() {
		for ordinal := uint32(0); ordinal < table.n; ordinal += 5 {
			buffer = table.AppendURL(buffer[:0], ordinal)
		}
	}); n != 0 {
		t.Errorf("AppendURL allocates %v times", n)
	}
	url, hash := extents[0].urls[77], extents[0].hash()
	if n := testing.AllocsPerRun(100, func() { table.Find(url, hash) }); n != 0 {
		t.Errorf("Find allocates %v times", n)
	}
	if n := testing.AllocsPerRun(10, func() { mustOpen(t, data) }); n > 1 {
		t.Errorf("Open allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { table.Find("absent", 9) }); n != 0 {
		t.Errorf("Find of an absent URL allocates %v times", n)
	}
}

// Equal URLs must give equal bytes, because a build depends on nothing else.
func TestBuildsAreEqual(t *testing.T) {
	extents := oddExtents(newRand(t))
	if !slices.Equal(build(t, defaultShift, extents), build(t, defaultShift, extents)) {
		t.Error("two builds differ")
	}
}
