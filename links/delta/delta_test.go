// Tests of single behaviours of deltas: merges, rejected rows, readers beside a writer.

package delta

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

func page(i uint32) uid.UID { return uid.Make(4, 1+i/100, i%100) }

func url(i uint32) []byte { return fmt.Appendf(nil, "http://h%d.example/%d", i/100, i%100) }

// TestRows appends batches and checks the epochs of the rows.
func TestRows(t *testing.T) {
	d, err := New(emptyCell(t, 0))
	require.NoError(t, err)
	for epoch := uint64(1); epoch <= 300; epoch++ {
		var b Batch
		b.Page(page(uint32(epoch)), url(uint32(epoch)))
		b.Add(cell.Backward, page(uint32(epoch)), page(1))
		row, err := d.Append(&b)
		require.NoError(t, err)
		if row.First() != epoch || row.Last() != epoch {
			t.Fatalf("epoch %d gave a row of %d to %d", epoch, row.First(), row.Last())
		}
		rows := d.View().Rows()
		if len(rows) != bits.OnesCount64(epoch) {
			t.Fatalf("epoch %d: %d rows, want %d", epoch, len(rows), bits.OnesCount64(epoch))
		}
		// The epochs of the rows must be the powers of two in the epoch's sum, largest first.
		next, rest := uint64(1), epoch
		for _, r := range rows {
			size := uint64(1) << (bits.Len64(rest) - 1)
			if r.First() != next || r.Last() != next+size-1 {
				t.Fatalf("epoch %d: a row of %d to %d, want %d to %d", epoch, r.First(), r.Last(), next, next+size-1)
			}
			next, rest = next+size, rest-size
		}
	}
}

// TestFreeze checks that rows stay apart after Freeze, and are merged after Thaw.
func TestFreeze(t *testing.T) {
	d, err := New(emptyCell(t, 0))
	require.NoError(t, err)
	appendEmpty := func(n int) {
		for range n {
			if _, err := d.Append(new(Batch)); err != nil {
				t.Fatal(err)
			}
		}
	}
	epochs := func() string {
		var text []string
		for _, r := range d.View().Rows() {
			text = append(text, fmt.Sprintf("%d-%d", r.First(), r.Last()))
		}
		return strings.Join(text, " ")
	}
	appendEmpty(6)
	if v := d.Freeze(); v.Epoch() != 6 {
		t.Fatalf("frozen at %d", v.Epoch())
	}
	appendEmpty(10)
	if got := epochs(); got != "1-4 5-6 7-16" {
		t.Errorf("frozen at 6, at 16: %s", got)
	}
	d.Thaw()
	appendEmpty(16)
	if got := epochs(); got != "1-32" {
		t.Errorf("after Thaw, at 32: %s", got)
	}
}

func TestAppendErrors(t *testing.T) {
	m := newModel()
	m.pages[page(1)], m.pages[page(2)] = string(url(1)), string(url(2))
	base := m.cell(t, cell.Options{Epoch: 3})
	far := uid.Make(9, 1, 1)
	hostless := uid.UID(4) << (uid.HostBits + uid.PageBits)
	for _, test := range []struct {
		name string
		fill func(b *Batch)
		want error
	}{
		{"key of no page", func(b *Batch) { b.Add(cell.Forward, page(3), page(1)) }, ErrUnknownPage},
		{"list of no page", func(b *Batch) { b.Replace(page(3), nil, nil) }, ErrUnknownPage},
		{"key of another cell", func(b *Batch) { b.Add(cell.Backward, far, page(1)) }, ErrRange},
		{"page of another cell", func(b *Batch) { b.Page(far, []byte("x")) }, ErrRange},
		{"page 0", func(b *Batch) { b.Page(0, []byte("x")) }, ErrRange},
		{"target 0", func(b *Batch) { b.Delete(cell.Forward, page(1), 0) }, ErrRange},
		{"target of host 0", func(b *Batch) { b.Replace(page(1), []uid.UID{hostless}, nil) }, ErrRange},
		{"another URL", func(b *Batch) { b.Page(page(1), []byte("x")) }, ErrConflict},
		{"another UID", func(b *Batch) { b.Page(page(3), url(1)) }, ErrConflict},
		{"two URLs", func(b *Batch) { b.Page(page(3), url(3)); b.Page(page(3), url(4)) }, ErrConflict},
		{"two UIDs", func(b *Batch) { b.Page(page(3), url(3)); b.Page(page(4), url(3)) }, ErrConflict},
		{"long URL", func(b *Batch) { b.Page(page(3), make([]byte, MaxURL+1)) }, ErrTooLarge},
		{"known page", func(b *Batch) { b.Page(page(1), url(1)); b.Add(cell.Forward, page(1), far) }, nil},
		{"page twice", func(b *Batch) { b.Page(page(3), url(3)); b.Page(page(3), url(3)) }, nil},
	} {
		d, err := New(base)
		require.NoError(t, err)
		before := d.View()
		var b Batch
		test.fill(&b)
		if _, err := d.Append(&b); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if test.want != nil && d.View() != before {
			t.Errorf("%s: the view has changed", test.name)
		}
	}
}

func TestEpochErrors(t *testing.T) {
	m := newModel()
	m.pages[page(1)] = string(url(1))
	base := m.cell(t, cell.Options{Epoch: 3})
	d, err := New(base)
	require.NoError(t, err)
	var rows []*Row
	for range 3 {
		var b Batch
		b.Add(cell.Forward, page(1), page(2))
		r, err := d.Append(&b)
		require.NoError(t, err)
		rows = append(rows, r)
	}
	if _, err := New(base, rows[1]); !errors.Is(err, ErrEpoch) {
		t.Errorf("a row is missing: %v", err)
	}
	if _, err := New(base, rows[0], rows[0]); !errors.Is(err, ErrEpoch) {
		t.Errorf("a row comes twice: %v", err)
	}
	if _, err := New(emptyCell(t, 3), rows...); !errors.Is(err, ErrUnknownPage) {
		t.Errorf("rows of another cell: %v", err)
	}
	if err := d.AppendRow(rows[2]); !errors.Is(err, ErrEpoch) {
		t.Errorf("an old row: %v", err)
	}
	for _, epoch := range []uint64{2, 7} {
		if err := d.Rebase(m.cell(t, cell.Options{Epoch: epoch})); !errors.Is(err, ErrEpoch) {
			t.Errorf("a cell of epoch %d: %v", epoch, err)
		}
	}
	b, err := cell.NewBuilder(cell.Options{Epoch: 4})
	require.NoError(t, err)
	data, err := b.Build()
	require.NoError(t, err)
	other, err := cell.Open(data)
	require.NoError(t, err)
	if err := d.Rebase(other); !errors.Is(err, ErrRange) {
		t.Errorf("a cell of another range: %v", err)
	}
}

func TestCover(t *testing.T) {
	for _, test := range []struct{ older, newer, want string }{
		{"+1 +2", "+3", "+1 +2 +3"},
		{"+1 -2", "-1 +2", "+2 -1"},
		{"+1 -2", "", "+1 -2"},
		{"= +1 +2", "-1 +3", "= +2 +3"},
		{"= +1", "= +2", "= +2"},
		{"+1 -2", "=", "="},
		{"-1 -3", "-2", "-1 -2 -3"},
		{"+1a", "+1", "+1"},
		{"+1a +2", "+2b", "+1a +2b"},
		{"+1", "+2a", "+1 +2a"},
	} {
		var got entry
		got.cover(parseEntry(test.older), parseEntry(test.newer))
		if text := showEntry(&got); text != test.want {
			t.Errorf("%s, then %s: %s, want %s", test.older, test.newer, text, test.want)
		}
	}
}

// parseEntry parses an entry: "=" is whole, "+1" and "-1" are UIDs, "+1a" is one with a label.
func parseEntry(text string) *entry {
	var e entry
	for _, word := range strings.Fields(text) {
		switch word[0] {
		case '=':
			e.whole = true
		case '-':
			e.deletes = append(e.deletes, uid.UID(word[1]-'0'))
		case '+':
			var label rawLabel
			if len(word) > 2 {
				label = rawLabel(word[2:])
			}
			e.append(uid.UID(word[1]-'0'), label)
		}
	}
	return &e
}

func showEntry(e *entry) string {
	var words []string
	if e.whole {
		words = append(words, "=")
	}
	for i, u := range e.adds {
		words = append(words, fmt.Sprintf("+%d%s", u, e.label(i)))
	}
	for _, u := range e.deletes {
		words = append(words, fmt.Sprintf("-%d", u))
	}
	return strings.Join(words, " ")
}

// TestCollected checks a page that was collected and then linked again before its cell came. It
// must keep its URL.
func TestCollected(t *testing.T) {
	m := newModel()
	for i := range uint32(3) {
		m.pages[page(i)] = string(url(i))
	}
	m.add(cell.Forward, page(0), page(0), cell.NoLabel)
	d, err := New(m.cell(t, cell.Options{Epoch: 1}))
	require.NoError(t, err)
	frozen := d.Freeze()
	var b Batch
	b.Add(cell.Backward, page(2), page(0))
	m.add(cell.Backward, page(2), page(0), cell.NoLabel)
	if _, err := d.Append(&b); err != nil {
		t.Fatal(err)
	}
	data, collected, err := frozen.Build(cell.Options{})
	if err != nil || !slices.Equal(collected, []uid.UID{page(1), page(2)}) {
		t.Fatalf("collected %v, %v", collected, err)
	}
	c, err := cell.Open(data)
	require.NoError(t, err)
	require.NoError(t, d.Rebase(c))
	delete(m.pages, page(1))
	m.check(t, d.View())
	b.Reset()
	b.Add(cell.Backward, page(1), page(0))
	if _, err := d.Append(&b); !errors.Is(err, ErrUnknownPage) {
		t.Errorf("links of a page that was collected: %v", err)
	}
}

// TestKnownPages appends another delta's row. The cell must already have one of its pages.
func TestKnownPages(t *testing.T) {
	var b Batch
	b.Page(page(1), url(1))
	b.Page(page(2), url(2))
	first, err := New(emptyCell(t, 3))
	require.NoError(t, err)
	row, err := first.Append(&b)
	require.NoError(t, err)
	m := newModel()
	m.pages[page(1)] = string(url(1))
	second, err := New(m.cell(t, cell.Options{Epoch: 3}))
	require.NoError(t, err)
	require.NoError(t, second.AppendRow(row))
	m.pages[page(2)] = string(url(2))
	m.check(t, second.View())
}

// TestEqualHashes finds pages by URLs with equal hashes.
func TestEqualHashes(t *testing.T) {
	byHash := make(map[uint32][]byte)
	var b Batch
	m := newModel()
	name := func(i int) []byte { return fmt.Appendf(nil, "http://a.example/%d", i) }
	for i := 0; len(m.pages) < 6; i++ {
		hash := urlHash(name(i))
		other, met := byHash[hash]
		if !met {
			byHash[hash] = name(i)
			continue
		}
		for _, url := range [][]byte{other, name(i)} {
			u := page(uint32(len(m.pages)))
			b.Page(u, url)
			m.pages[u] = string(url)
		}
		delete(byHash, hash)
	}
	d, err := New(emptyCell(t, 0))
	require.NoError(t, err)
	if _, err := d.Append(&b); err != nil {
		t.Fatal(err)
	}
	m.check(t, d.View())
	if again, err := Open(slices.Clone(d.View().Rows()[0].Bytes())); err != nil || again.Pages() != 6 {
		t.Fatal(again, err)
	}
}

// TestShare checks when a cell should be rebuilt.
func TestShare(t *testing.T) {
	m := newModel()
	for i := range uint32(100) {
		m.pages[page(i)] = string(url(i))
		m.add(cell.Forward, page(i), page(0), cell.NoLabel)
		m.add(cell.Backward, page(0), page(i), cell.NoLabel)
	}
	d, err := New(m.cell(t, cell.Options{}))
	require.NoError(t, err)
	var b Batch
	for i := range uint32(20) {
		b.Add(cell.Forward, page(i), page(1))
	}
	if _, err := d.Append(&b); err != nil {
		t.Fatal(err)
	}
	if share := d.View().Share(); share != 0.1 {
		t.Errorf("share %v of 20 changes of 200", share)
	}
	b.Reset()
	for i := range uint32(11) {
		b.Page(page(100+i), url(100+i))
	}
	if _, err := d.Append(&b); err != nil {
		t.Fatal(err)
	}
	if share := d.View().Share(); share != 0.11 {
		t.Errorf("share %v with 11 new pages of 100", share)
	}
	if got := d.View().Bytes(); got <= 0 {
		t.Errorf("%d bytes", got)
	}
}

// TestReaders reads views while a writer appends, merges and rebuilds. A reader must see each
// batch as a whole or not at all.
func TestReaders(t *testing.T) {
	const pages = 50
	m := newModel()
	for i := range uint32(pages) {
		m.pages[page(i)] = string(url(i))
	}
	d, err := New(m.cell(t, cell.Options{}))
	require.NoError(t, err)
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for !done.Load() {
				v := d.View()
				// At every epoch e each page must link forward to the e-th target alone.
				for i := range uint32(pages) {
					got := v.AppendLinks(nil, cell.Forward, page(i))
					if v.Epoch() > 0 && (len(got) != 1 || got[0] != uid.Make(9, 1, uint32(v.Epoch()))) {
						t.Errorf("epoch %d: %v", v.Epoch(), got)
						return
					}
				}
			}
		})
	}
	var b Batch
	for epoch := range uint32(200) {
		b.Reset()
		for i := range uint32(pages) {
			if i%2 == 0 {
				b.Replace(page(i), []uid.UID{uid.Make(9, 1, epoch+1)}, nil)
			} else {
				b.Delete(cell.Forward, page(i), uid.Make(9, 1, epoch))
				b.Add(cell.Forward, page(i), uid.Make(9, 1, epoch+1))
			}
		}
		if _, err := d.Append(&b); err != nil {
			t.Fatal(err)
		}
		if epoch%50 == 49 {
			data, _, err := d.Freeze().Build(cell.Options{})
			require.NoError(t, err)
			c, err := cell.Open(data)
			require.NoError(t, err)
			require.NoError(t, d.Rebase(c))
		}
	}
	done.Store(true)
	readers.Wait()
}
