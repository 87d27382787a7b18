// Tests of deltas whose cells have not all stores in memory.

package delta

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/cell"
)

// TestDeltaWithoutStores appends rows while stores are not in memory. Sizes and pages must be right
// then if all pages have links, and everything when the stores are loaded again.
func TestDeltaWithoutStores(t *testing.T) {
	r := random(t)
	for range 20 {
		// 1. A cell with a file, whose pages were counted.
		k, m := &maker{r: r, labels: r.IntN(2) == 0}, newModel()
		var b Batch
		for range r.IntN(60) {
			k.change(&b, m)
		}
		path := filepath.Join(t.TempDir(), "1.cell")
		whole := m.cell(t, cell.Options{})
		require.NoError(t, cell.WriteFile(path, whole.Bytes()))
		d, err := New(whole)
		require.NoError(t, err)
		before := d.View()
		linked := before.NumLinked()
		// 2. Without stores it gives the same sizes and pages.
		less, err := whole.DropStores(cell.AllStores, path)
		require.NoError(t, err)
		require.NoError(t, d.Replace(less))
		if v := d.View(); v.AllLinked() != (linked == whole.Len()) {
			t.Fatalf("%d of %d pages have links, and all: %t", linked, whole.Len(), v.AllLinked())
		} else if v.AllLinked() {
			first, last, ok := before.Ends()
			if f, l, o := v.Ends(); f != first || l != last || o != ok || v.NumLinked() != linked || v.MaxDegree(cell.Backward) != before.MaxDegree(cell.Backward) ||
				!slices.Equal(slices.Collect(v.UIDs(0)), slices.Collect(before.UIDs(0))) {
				t.Fatalf("from %s to %s, %d pages; want %s, %s, %d", f, l, v.NumLinked(), first, last, linked)
			}
		}
		// 3. Rows need URLs alone, because new pages are compared with the others. With all stores the view
		// is right again.
		named, err := less.Load(cell.URLStore)
		require.NoError(t, err)
		require.NoError(t, d.Replace(named))
		for range r.IntN(4) {
			b.Reset()
			for range 1 + r.IntN(10) {
				k.change(&b, m)
			}
			if _, err := d.Append(&b); err != nil {
				t.Fatal(err)
			}
			if v := d.View(); v.AllLinked() {
				t.Fatal("all pages are said to have links, although rows may have changed that")
			}
		}
		loaded, err := less.Load(cell.AllStores)
		require.NoError(t, err)
		m.check(t, d.View().WithCell(loaded))
		require.NoError(t, d.Replace(loaded))
		m.check(t, d.View())
		if err := d.Replace(m.cell(t, cell.Options{Epoch: 9})); !errors.Is(err, ErrEpoch) {
			t.Errorf("another cell: %v", err)
		}
	}
}
