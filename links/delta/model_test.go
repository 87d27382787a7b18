// Model test: random operations on a delta and on a plain map must give the same results.

package delta

import (
	"errors"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/cell"
)

// snapshot is a view and its model, which must stay equal for ever.
type snapshot struct {
	view  *View
	model *model
}

func TestModel(t *testing.T) {
	r := random(t)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	for range rounds {
		k := &maker{r: r, labels: r.IntN(2) == 0}
		m := newModel()
		var b Batch
		for range r.IntN(60) {
			k.change(&b, m)
		}
		d, err := New(m.cell(t, cell.Options{Epoch: uint64(r.IntN(20))}))
		require.NoError(t, err)
		runModel(t, k, d, m)
	}
}

// runModel changes, rebuilds and reads a delta and its model m.
func runModel(t *testing.T, k *maker, d *Delta, m *model) {
	var b Batch
	var kept []snapshot
	var frozen *View
	for range 150 {
		switch k.r.IntN(12) {
		case 0:
			kept = append(kept, snapshot{d.View(), m.clone()})
		case 1:
			frozen = d.Freeze()
		case 2:
			if frozen == nil || frozen.Epoch() < d.View().Cell().Epoch() {
				continue
			}
			m.rebase(t, d, frozen)
			frozen = nil
		case 3:
			d.Thaw()
			frozen = nil
		case 4:
			d = reopen(t, d)
		default:
			b.Reset()
			for range 1 + k.r.IntN(10) {
				k.change(&b, m)
			}
			if _, err := d.Append(&b); err != nil {
				t.Fatal(err)
			}
		}
		m.check(t, d.View())
	}
	for _, s := range kept {
		s.model.check(t, s.view)
	}
}

// rebase installs the cell of a view in the delta. It drops a page from the model, too, if the
// page was collected and has not changed since.
func (m *model) rebase(t *testing.T, d *Delta, v *View) {
	t.Helper()
	data, collected, err := v.Build(cell.Options{Meta: []byte("m")})
	require.NoError(t, err)
	c, err := cell.Open(data)
	require.NoError(t, err)
	require.NoError(t, c.Verify())
	for _, u := range collected {
		if _, ok := c.Ordinal(u); ok {
			t.Fatalf("page %s was collected and is there", u)
		}
	}
	before := d.View()
	require.NoError(t, d.Rebase(c))
	after := d.View()
	if after.Cell() != c || after.Epoch() != before.Epoch() {
		t.Fatalf("epoch %d, was %d", after.Epoch(), before.Epoch())
	}
	for _, u := range collected {
		if after.Has(u) {
			continue
		}
		if m.linked(u) {
			t.Fatalf("page %s was collected and has links", u)
		}
		delete(m.pages, u)
	}
}

// reopen returns a delta of the same cell, and of the same rows decoded from their bytes.
func reopen(t *testing.T, d *Delta) *Delta {
	t.Helper()
	v := d.View()
	var rows []*Row
	for _, r := range v.Rows() {
		opened, err := Open(slices.Clone(r.Bytes()))
		require.NoError(t, err)
		rows = append(rows, opened)
	}
	again, err := New(v.Cell(), rows...)
	require.NoError(t, err)
	if again.View().Epoch() != v.Epoch() {
		t.Fatalf("epoch %d, want %d", again.View().Epoch(), v.Epoch())
	}
	return again
}

// TestAppendRow appends the rows of one delta to another.
func TestAppendRow(t *testing.T) {
	k := &maker{r: random(t), labels: true}
	m := newModel()
	base := m.cell(t, cell.Options{Epoch: 5})
	first, err := New(base)
	require.NoError(t, err)
	second, err := New(base)
	require.NoError(t, err)
	for range 40 {
		var b Batch
		for range k.r.IntN(8) {
			k.change(&b, m)
		}
		row, err := first.Append(&b)
		require.NoError(t, err)
		if row.First() != row.Last() || row.Last() != first.View().Epoch() {
			t.Fatalf("row of epochs %d to %d at epoch %d", row.First(), row.Last(), first.View().Epoch())
		}
		require.NoError(t, second.AppendRow(row))
		if err := second.AppendRow(row); !errors.Is(err, ErrEpoch) {
			t.Fatalf("the same row again: %v", err)
		}
	}
	m.check(t, second.View())
}

// TestStraddlingRow opens a cell with a row if the cell already contains a part of it.
func TestStraddlingRow(t *testing.T) {
	k := &maker{r: random(t), labels: true}
	for range 20 {
		m := newModel()
		d, err := New(m.cell(t, cell.Options{}))
		require.NoError(t, err)
		var between *model
		for epoch := 1; epoch <= 4; epoch++ {
			var b Batch
			for range 10 {
				k.change(&b, m)
			}
			if _, err := d.Append(&b); err != nil {
				t.Fatal(err)
			}
			if epoch == 2 {
				between = m.clone()
			}
		}
		again, err := New(between.cell(t, cell.Options{Epoch: 2}), d.View().Rows()...)
		require.NoError(t, err)
		if rows := again.View().Rows(); len(rows) != 1 || rows[0].First() != 1 || rows[0].Last() != 4 {
			t.Fatalf("%d rows", len(rows))
		}
		m.check(t, again.View())
	}
}
