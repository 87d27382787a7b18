// Cursors against single look-ups.

package columns_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql/columns"
)

// A cursor and a search near an earlier result find the same as those from nothing, in any order of numbers and
// with terms of changes.
func TestCursor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := columns.NewView(build(t, drawTriples(t)), nil)
		var changes []columns.Change
		for _, one := range drawTriples(t) {
			if one.Graph.IsZero() {
				changes = append(changes, changeOf(t, one, false))
			}
		}
		d := v.Changed(changes).Dictionary()
		if d.Len() == 0 {
			return
		}
		var c columns.Cursor
		near := uint32(0)
		for _, number := range rapid.SliceOfN(rapid.Uint32Range(1, uint32(d.Len())), 1, 200).Draw(t, "numbers") {
			term := d.Append(nil, number)
			if got := c.Move(d, number); !bytes.Equal(got, term) {
				t.Fatalf("term %d is %q, not %q", number, got, term)
			}
			if got := d.NumberNear(term, near); got != number {
				t.Fatalf("%q near %d has number %d, not %d", term, near, got, number)
			}
			missing := append(term, 0xff, 0xff)
			if got := d.NumberNear(missing, near); got != d.Number(missing) {
				t.Fatalf("%q near %d has number %d", missing, near, got)
			}
			near = number
		}
	})
}
