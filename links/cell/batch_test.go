// Tests of reading many pages at once. They compare with single reads, because other tests
// compare those with plain maps.

package cell

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/links/uid"
)

// checkBatches reads random pages of some cells, and unknown UIDs, in batches.
func checkBatches(t *testing.T, r *rand.Rand, cells []*Cell) {
	t.Helper()
	b := new(Batch)
	for range 40 {
		n := 1 + r.IntN(BatchLen)
		asked, pages := make([]*Cell, n), make([]uid.UID, n)
		for i := range n {
			c := cells[r.IntN(len(cells))]
			asked[i], pages[i] = c, uid.UID(r.Uint64())
			if c.Len() > 0 && r.IntN(8) > 0 {
				pages[i] = c.UID(r.Uint32N(uint32(c.Len()))) + uid.UID(r.IntN(8)/7)
			}
		}
		d := Direction(r.IntN(2))
		b.Read(d, asked, pages)
		for i, c := range asked {
			var want []uid.UID
			if ord, ok := c.Ordinal(pages[i]); ok {
				want = c.AppendLinks(nil, d, ord)
			}
			if got := b.AppendLinks([]uid.UID{7}, i)[1:]; !slices.Equal(got, want) || b.Degree(i) != len(want) {
				t.Fatalf("%s links of %s, %d of %d in a batch: %d, %v, want %v", d, pages[i], i, n, b.Degree(i), got, want)
			}
		}
	}
	checkTargetBatches(t, r, cells, b)
	checkURLBatches(t, r, cells, b)
	b.Forget()
}

// checkTargetBatches reads random pages' links as ordinals and ghosts. It returns the number of
// lists that the batch decoded.
func checkTargetBatches(t *testing.T, r *rand.Rand, cells []*Cell, b *Batch) (read int) {
	t.Helper()
	for range 20 {
		n := 1 + r.IntN(BatchLen)
		asked, pages, ords := make([]*Cell, n), make([]uid.UID, n), make([]uint32, n)
		for i := range n {
			asked[i], pages[i] = cells[r.IntN(len(cells))], uid.UID(r.Uint64())
			if c := asked[i]; c.Len() > 0 && r.IntN(8) > 0 {
				pages[i] = c.UID(r.Uint32N(uint32(c.Len())))
			}
		}
		b.Find(asked, pages)
		for i, c := range asked {
			ord, there := c.Ordinal(pages[i])
			got, ok := b.Ordinal(i)
			if ok != there || ok && got != ord {
				t.Fatalf("page %s, %d of %d in a batch: %d, %t, want %d, %t", pages[i], i, n, got, ok, ord, there)
			}
			if ords[i] = ord; !there {
				ords[i] = uint32(c.Len()) // an ordinal outside the cell
			}
		}
		d := Direction(r.IntN(2))
		b.ReadTargets(d, asked, ords)
		for i, c := range asked {
			want := c.AppendLinks(nil, d, ords[i])
			uids := func(locals []uint32, others []uid.UID) []uid.UID {
				for _, ord := range locals {
					others = append(others, c.UID(ord))
				}
				slices.Sort(others)
				return others
			}
			locals, others := b.AppendTargets([]uint32{7}, []uid.UID{8}, i)
			if got := uids(locals[1:], slices.Clone(others[1:])); locals[0] != 7 || others[0] != 8 || !slices.Equal(got, want) {
				t.Fatalf("%s targets of %s: %v, want %v", d, pages[i], got, want)
			}
			if locals, ghosts, ok := b.Targets(i); ok {
				others := b.AppendGhosts([]uid.UID{8}, i)
				if got := uids(locals, slices.Clone(others[1:])); len(others) != 1+ghosts || others[0] != 8 || !slices.Equal(got, want) {
					t.Fatalf("%s targets of %s, %d of %d in a batch: %v, want %v", d, pages[i], i, n, got, want)
				}
				read++
			}
			if got := b.AppendLinks(nil, i); !slices.Equal(got, want) || b.Degree(i) != len(want) {
				t.Fatalf("%s links of %s: %v, want %v", d, pages[i], got, want)
			}
		}
	}
	return read
}

// TestMembers compares with a map.
func TestMembers(t *testing.T) {
	r := random(t)
	for range 200 {
		pages := r.IntN(1 << r.IntN(14))
		numbers := map[uint32]uint32{}
		var ords, given []uint32
		for _, ord := range r.Perm(pages)[:r.IntN(1+r.IntN(1+pages))] {
			number := r.Uint32()
			numbers[uint32(ord)] = number
			ords, given = append(ords, uint32(ord)), append(given, number)
		}
		m := NewMembers(pages, ords, given)
		sorted, sortedNumbers := m.All()
		if !slices.Equal(sorted, slices.Sorted(maps.Keys(numbers))) || len(sortedNumbers) != len(sorted) {
			t.Fatalf("%d members of %d pages: %v with %d numbers", len(ords), pages, sorted, len(sortedNumbers))
		}
		for i, ord := range sorted {
			if sortedNumbers[i] != numbers[ord] {
				t.Fatalf("number %d of member %d, want %d", sortedNumbers[i], ord, numbers[ord])
			}
		}
		var asked []uint32
		want := []uint32{7}
		for range r.IntN(1 + 2*pages) {
			ord := r.Uint32N(uint32(pages))
			asked = append(asked, ord)
			if number, ok := numbers[ord]; ok {
				want = append(want, number)
			}
		}
		if got := m.AppendNumbers([]uint32{7}, asked); !slices.Equal(got, want) {
			t.Fatalf("%d members of %d pages: %v, want %v", len(ords), pages, got, want)
		}
	}
}

// checkURLBatches looks up the URLs of pages, and the pages of URLs.
func checkURLBatches(t *testing.T, r *rand.Rand, cells []*Cell, b *Batch) {
	t.Helper()
	for range 20 {
		n := 1 + r.IntN(BatchLen)
		asked, pages := make([]*Cell, n), make([]uid.UID, n)
		names, hosts := make([]string, n), make([]uint64, n)
		for i := range n {
			c := cells[r.IntN(len(cells))]
			asked[i], pages[i], names[i] = c, uid.UID(r.Uint64()), "http://nobody.example/"
			if c.Len() > 0 && r.IntN(8) > 0 {
				ord := r.Uint32N(uint32(c.Len()))
				pages[i], names[i] = c.UID(ord), string(c.AppendURL(nil, ord))+"x"[:r.IntN(8)/7]
			}
			hosts[i] = HostHash(names[i])
		}
		b.ReadURLs(asked, pages)
		for i, c := range asked {
			want := []byte("y")
			ord, there := c.Ordinal(pages[i])
			if there {
				want = c.AppendURL(want, ord)
			}
			if got, ok := b.AppendURL([]byte("y"), i); ok != there || string(got) != string(want) {
				t.Fatalf("page %s, %d of %d in a batch: %.200q, %t, want %.200q", pages[i], i, n, got, ok, want)
			}
		}
		b.FindURLs(asked, names, hosts)
		for i, c := range asked {
			var want uid.UID
			ord, there := c.Find(names[i])
			if there {
				want = c.UID(ord)
			}
			if got, ok := b.UID(i); ok != there || got != want {
				t.Fatalf("%.200q, %d of %d in a batch: %s, %t, want %s", names[i], i, n, got, ok, want)
			}
		}
	}
}

func TestBatch(t *testing.T) {
	for name, o := range allOptions() {
		t.Run(name, func(t *testing.T) {
			r := random(t)
			var cells []*Cell
			for range 5 {
				c := randomGraph(r, 300, 3000).build(t, o, nil)
				if r.IntN(3) == 0 {
					c.pages.table = runTable{} // the sequences must answer
				}
				cells = append(cells, c)
			}
			checkBatches(t, r, cells)
			for _, c := range cells {
				if err := c.Err(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestBatchOfOddWebs(t *testing.T) {
	r := random(t)
	var cells []*Cell
	for _, g := range oddWebs(r) {
		cells = append(cells, g.build(t, Options{}, nil))
	}
	checkBatches(t, r, cells)
	if checkTargetBatches(t, r, cells, new(Batch)) == 0 {
		t.Error("no list was read at once")
	}
	for _, c := range cells {
		checkBatches(t, r, []*Cell{c})
	}
}

// TestBatchOfDamage reads lists whose memory has changed since Open. The lists of other pages
// must be right, and a failed read must report it.
func TestBatchOfDamage(t *testing.T) {
	r := random(t)
	for range 200 {
		data := randomGraph(r, 100, 2000).bytes(t, Options{}, nil)
		c, err := Open(data)
		if err != nil {
			t.Fatal(err)
		}
		if c.Len() == 0 {
			continue
		}
		d := Direction(r.IntN(2))
		section := c.header.sections[sectionForward+int(d)]
		section[64+r.IntN(len(section)-64)] ^= 1 << r.IntN(8)
		pages := make([]uid.UID, min(c.Len(), BatchLen))
		for i := range pages {
			pages[i] = c.UID(uint32(i))
		}
		func() {
			defer func() { // of positions
				if said := recover(); said != nil && !strings.Contains(fmt.Sprint(said), "has changed since Open") {
					panic(said)
				}
			}()
			b := new(Batch)
			b.Read(d, slices.Repeat([]*Cell{c}, len(pages)), pages)
			for i := range pages {
				want := c.AppendLinks(nil, d, uint32(i))
				if got := b.AppendLinks(nil, i); !slices.Equal(got, want) {
					t.Fatalf("list %d: %v, one by one %v", i, got, want)
				}
			}
		}()
	}
}

func TestBatchAllocatesNothing(t *testing.T) {
	c := randomGraph(rand.New(rand.NewPCG(1, 0)), 300, 3000).build(t, Options{}, nil)
	var pages []uid.UID
	for i := range min(c.Len(), BatchLen) {
		pages = append(pages, c.UID(uint32(i)))
	}
	b, cells, dst := new(Batch), slices.Repeat([]*Cell{c}, len(pages)), make([]uid.UID, 0, 1<<14)
	if allocs := testing.AllocsPerRun(10, func() {
		b.Read(Forward, cells, pages)
		for i := range pages {
			dst = b.AppendLinks(dst[:0], i)
		}
	}); allocs > 0 || len(pages) == 0 {
		t.Errorf("%g allocations for %d lists", allocs, len(pages))
	}
}
