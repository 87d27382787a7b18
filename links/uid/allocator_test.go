// Tests of the allocator of one slot.

package uid

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestGrants(t *testing.T) {
	for _, test := range []struct {
		grant       Grant
		first, last uint32
	}{
		{0, 1, 64}, {1, 65, 128}, {2, 129, 192}, {65534, 4194177, 4194240}, {65535, 4194241, 4194303},
	} {
		if first, last := test.grant.Hosts(); first != test.first || last != test.last {
			t.Errorf("grant %d: %d to %d, want %d to %d", test.grant, first, last, test.first, test.last)
		}
	}
	if NumGrants != 1<<16 {
		t.Errorf("%d grants", NumGrants)
	}
	next := uint32(1)
	for i := range NumGrants {
		g, err := NextGrant(i)
		require.NoError(t, err)
		first, last := g.Hosts()
		if first != next || GrantOf(first) != g || GrantOf(last) != g {
			t.Fatalf("grant %d: hosts %d to %d, which are of grants %d and %d; want from %d", g, first, last, GrantOf(first), GrantOf(last), next)
		}
		next = last + 1
	}
	if next != MaxHost+1 {
		t.Errorf("the grants end before host %d", next)
	}
	for _, given := range []int{-1, NumGrants, NumGrants + 1} {
		if _, err := NextGrant(given); !errors.Is(err, ErrNoGrants) {
			t.Errorf("after %d grants: %v", given, err)
		}
	}
}

// assign assigns UIDs, and fails the test if there is an error.
func assign(t *testing.T, a *Allocator, host string, count uint64) []Run {
	t.Helper()
	runs, err := a.Assign(host, count)
	require.NoError(t, err)
	return runs
}

func TestAssign(t *testing.T) {
	const full = ExtentPages
	a := NewAllocator(9, 2)
	steps := []struct {
		host  string
		count uint64
		want  []Run
	}{
		{"a", 3, []Run{{Make(9, 129, 0), 3}}},
		{"b", 1, []Run{{Make(9, 130, 0), 1}}},
		{"a", 0, nil},
		{"c", 0, nil},
		{"a", 2, []Run{{Make(9, 129, 3), 2}}},
		{"b", full - 1, []Run{{Make(9, 130, 1), full - 1}}},
		{"b", 1, []Run{{Make(9, 131, 0), 1}}},
		{"a", full, []Run{{Make(9, 129, 5), full - 5}, {Make(9, 132, 0), 5}}},
		{"a", 1, []Run{{Make(9, 132, 5), 1}}},
		{"c", 2 * full, []Run{{Make(9, 133, 0), full}, {Make(9, 134, 0), full}}},
		{"c", 1, []Run{{Make(9, 135, 0), 1}}},
		{"b", 1, []Run{{Make(9, 131, 1), 1}}},
	}
	for i, step := range steps {
		if got := assign(t, a, step.host, step.count); !slices.Equal(got, step.want) {
			t.Fatalf("step %d: %d pages of %s: %v, want %v", i, step.count, step.host, got, step.want)
		}
	}
}

// TestLargeHosts numbers hosts of 100 million and of a billion pages.
func TestLargeHosts(t *testing.T) {
	for _, test := range []struct {
		pages   uint64
		extents int
	}{
		{100_000_000, 1}, {1_000_000_000, 4}, {17_179_869_184, 64},
	} {
		for _, batch := range []uint64{test.pages, 99_999_999, 1 << 20} {
			a := NewAllocator(5, 0)
			given, last := uint64(0), UID(0)
			hosts := map[uint32]uint64{}
			for given < test.pages {
				for _, run := range assign(t, a, "large", min(batch, test.pages-given)) {
					if run.First <= last || run.First.Extent() != (run.First+UID(run.Count)-1).Extent() {
						t.Fatalf("run %v after UID %d", run, last)
					}
					last = run.First + UID(run.Count) - 1
					given += uint64(run.Count)
					hosts[run.First.Host()] += uint64(run.Count)
				}
			}
			if len(hosts) != test.extents || given != test.pages {
				t.Errorf("%d of %d pages, %d extents, want %d", given, test.pages, len(hosts), test.extents)
			}
			for host := uint32(1); host < uint32(test.extents); host++ {
				if hosts[host] != ExtentPages {
					t.Errorf("extent %d has %d pages and is not the last", host, hosts[host])
				}
			}
		}
	}
}

func TestNeedGrant(t *testing.T) {
	a := NewAllocator(1)
	if _, err := a.Assign("a", 1); !errors.Is(err, ErrNeedGrant) {
		t.Fatalf("no grant: %v", err)
	}
	a = NewAllocator(1, 7)
	for i := range GrantHosts - 1 {
		assign(t, a, fmt.Sprint(i), 1)
	}
	// If one host number is left, it is too few for two extents, and nothing may be taken.
	for _, count := range []uint64{ExtentPages + 1, 1 << 40, 1<<64 - 1} {
		if runs, err := a.Assign("new", count); runs != nil || !errors.Is(err, ErrNeedGrant) {
			t.Fatalf("%d pages: %v, %v", count, runs, err)
		}
		if runs, err := a.Assign("0", 2*ExtentPages); runs != nil || !errors.Is(err, ErrNeedGrant) {
			t.Fatalf("%v, %v", runs, err)
		}
	}
	if got := assign(t, a, "0", 1); !slices.Equal(got, []Run{{Make(1, 449, 1), 1}}) {
		t.Fatalf("after errors: %v", got)
	}
	if got := assign(t, a, "new", ExtentPages); !slices.Equal(got, []Run{{Make(1, 512, 0), ExtentPages}}) {
		t.Fatalf("last host number: %v", got)
	}
	if _, err := a.Assign("new", 1); !errors.Is(err, ErrNeedGrant) {
		t.Fatalf("grant used up: %v", err)
	}
	for range 2 { // the second time it is held
		require.NoError(t, a.Grant(3))
	}
	if got := assign(t, a, "new", 1); !slices.Equal(got, []Run{{Make(1, 193, 0), 1}}) {
		t.Fatalf("after a grant: %v", got)
	}
}

func TestSlotFull(t *testing.T) {
	n := NewNumbers(4)
	for i := range NumGrants {
		require.NoError(t, n.Grant(Grant(i)))
	}
	runs, err := n.Take(0, MaxHost*ExtentPages)
	if err != nil || len(runs) != MaxHost || runs[MaxHost-1] != (Run{Make(4, MaxHost, 0), ExtentPages}) {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	if _, err := n.Take(0, 1); !errors.Is(err, ErrSlotFull) {
		t.Fatal(err)
	}
}

func TestRestoreErrors(t *testing.T) {
	a := NewAllocator(4, 0)
	if err := a.Restore("a", Make(5, 1, 0)); !errors.Is(err, ErrOtherSlot) {
		t.Error(err)
	}
	for _, u := range []UID{0, 7, 4 << 50} {
		if err := a.Restore("a", u); !errors.Is(err, ErrSyntax) {
			t.Error(err)
		}
	}
	if err := a.Restore("a", Make(4, 65, 9)); err != nil {
		t.Error(err)
	}
	if err := a.Grant(1); !errors.Is(err, ErrLateGrant) {
		t.Errorf("a grant whose UIDs were restored before: %v", err)
	}
	if err := a.Grant(2); err != nil {
		t.Error(err)
	}
	if got := assign(t, a, "a", 1); !slices.Equal(got, []Run{{Make(4, 1, 0), 1}}) {
		t.Errorf("a host that another assigner began: %v", got)
	}
}

func TestTakeForeignExtent(t *testing.T) {
	for name, current := range map[string]Extent{
		"none":               0,
		"of another grant":   MakeExtent(4, 1),
		"of another slot":    MakeExtent(5, 65),
		"own, never opened":  MakeExtent(4, 66),
		"not even an extent": 1 << 60,
	} {
		n := NewNumbers(4, 1)
		if room := n.Room(current); room > 0 != n.Owns(current) || n.Owns(current) != (current == MakeExtent(4, 66)) {
			t.Errorf("%s: room %d, owns %t", name, room, n.Owns(current))
		}
		for range 2 {
			runs, err := n.Take(current, 2)
			if err != nil || len(runs) != 1 || runs[0].First.Page() != 0 || runs[0].First.Slot() != 4 || GrantOf(runs[0].First.Host()) != 1 {
				t.Errorf("%s: %v, %v", name, runs, err)
			}
		}
	}
}

// TestRestoredEqualsOriginal restores an allocator from its assigned UIDs and compares the next
// ones of both.
func TestRestoredEqualsOriginal(t *testing.T) {
	r := random(t)
	for range 200 {
		var grants []Grant
		for range 1 + r.IntN(4) {
			if g := Grant(r.IntN(5)); !slices.Contains(grants, g) {
				grants = append(grants, g)
			}
		}
		original := NewAllocator(3, grants...)
		type row struct {
			host string
			u    UID
		}
		var rows []row
		for range r.IntN(120) {
			host := fmt.Sprint("h", r.IntN(40))
			count := uint64(1 + r.IntN(1<<r.IntN(30)))
			runs, err := original.Assign(host, count)
			if err != nil && !errors.Is(err, ErrNeedGrant) {
				t.Fatal(err)
			}
			for _, run := range runs {
				// The last UID of a run is enough, some others do no harm.
				rows = append(rows, row{host, run.First + UID(run.Count) - 1}, row{host, run.First})
			}
		}
		restored := NewAllocator(3, grants...)
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for _, row := range rows {
			require.NoError(t, restored.Restore(row.host, row.u))
		}
		for range 60 {
			host, count := fmt.Sprint("h", r.IntN(45)), uint64(r.IntN(1<<r.IntN(30)))
			want, wantErr := original.Assign(host, count)
			got, err := restored.Assign(host, count)
			if !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
				t.Fatalf("grants %d: %d pages of %s: %v, %v; the original: %v, %v", grants, count, host, got, err, want, wantErr)
			}
		}
	}
}

func BenchmarkAssign(b *testing.B) {
	const hosts = 4096
	keys := make([]string, hosts)
	for i := range keys {
		keys[i] = fmt.Sprint("org.example.h", i)
	}
	a := NewAllocator(1)
	for g := range hosts / GrantHosts {
		if err := a.Grant(Grant(g)); err != nil {
			b.Fatal(err)
		}
	}
	i := 0
	for b.Loop() {
		if _, err := a.Assign(keys[i%hosts], 1); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
