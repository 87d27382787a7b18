// Tests of UIDs, Ends and Changes against the model.

package delta

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

func TestUIDs(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("TREFOIL_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		var all []uid.UID
		name := func(u uid.UID) []byte { return []byte("http://example.org/" + u.String()) }
		page := func() uid.UID { return uid.Make(uid.Slot(rng.IntN(3)), 1+rng.Uint32N(3), rng.Uint32N(9)) }
		b, err := cell.NewBuilder(cell.Options{})
		require.NoError(t, err)
		for range rng.IntN(20) {
			all = append(all, page())
		}
		slices.Sort(all)
		all = slices.Compact(all)
		for _, u := range all {
			require.NoError(t, b.AddPage(u, name(u)))
		}
		data, err := b.Build()
		require.NoError(t, err)
		c, err := cell.Open(data)
		require.NoError(t, err)
		d, err := New(c)
		require.NoError(t, err)
		linked := map[uid.UID]bool{}
		for range rng.IntN(4) {
			var batch Batch
			for range 1 + rng.IntN(5) {
				u := page()
				batch.Page(u, name(u))
				switch d := cell.Direction(rng.IntN(2)); rng.IntN(3) {
				case 0: // a page without links
				case 1:
					batch.Add(d, u, uid.Make(9, 1, 1))
					linked[u] = true
				default:
					batch.Delete(cell.Forward, u, uid.Make(9, 1, 1))
					batch.Delete(cell.Backward, u, uid.Make(9, 1, 1))
					delete(linked, u)
				}
			}
			if _, err := d.Append(&batch); err != nil {
				t.Fatal(err)
			}
		}
		all = slices.Sorted(maps.Keys(linked))
		v := d.View()
		after := page()
		at, found := slices.BinarySearch(all, after)
		if found {
			at++
		}
		if got := slices.Collect(v.UIDs(after)); !slices.Equal(got, all[at:]) {
			t.Fatalf("UIDs after %s: %v, want %v", after, got, all[at:])
		}
		first, last, ok := v.Ends()
		if ok != (len(all) > 0) || ok && (first != all[0] || last != all[len(all)-1]) {
			t.Fatalf("ends %s, %s, %v of %v", first, last, ok, all)
		}
		if v.NumLinked() != len(all) {
			t.Fatalf("%d pages with links of %d", v.NumLinked(), len(all))
		}
	}
}

func TestChanges(t *testing.T) {
	page := func(n uint32) uid.UID { return uid.Make(1, 1, n) }
	b, err := cell.NewBuilder(cell.Options{})
	require.NoError(t, err)
	for n := range uint32(6) {
		require.NoError(t, b.AddPage(page(n), []byte("http://example.org/"+page(n).String())))
	}
	require.NoError(t, b.AddEdges(cell.Forward, []cell.Edge{{From: page(0), To: page(1)}, {From: page(0), To: page(2)}}, nil))
	data, err := b.Build()
	require.NoError(t, err)
	c, err := cell.Open(data)
	require.NoError(t, err)
	d, err := New(c)
	require.NoError(t, err)
	var batch Batch
	batch.Add(cell.Forward, page(0), page(4))
	batch.Delete(cell.Forward, page(0), page(1))
	batch.Replace(page(3), []uid.UID{page(5)}, nil)
	if _, err := d.Append(&batch); err != nil {
		t.Fatal(err)
	}
	v := d.View()
	added, deleted, ok := v.Changes(cell.Forward, page(0))
	if !ok || !slices.Equal(added, []uid.UID{page(4)}) || !slices.Equal(deleted, []uid.UID{page(1)}) {
		t.Errorf("changes %v %v %v", added, deleted, ok)
	}
	if added, deleted, ok = v.Changes(cell.Forward, page(2)); !ok || added != nil || deleted != nil {
		t.Errorf("changes of a list that has none: %v %v %v", added, deleted, ok)
	}
	if _, _, ok = v.Changes(cell.Forward, page(3)); ok {
		t.Error("a whole list passes for changes")
	}
}
