// Tests of positions.

package feed

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

func drawPosition(t *rapid.T) Position {
	p := Position{Source: rapid.Uint64().Draw(t, "source"), Epoch: rapid.Uint64().Draw(t, "epoch")}
	ids := rapid.SliceOfNDistinct(rapid.Uint64(), 0, 5, func(id uint64) uint64 { return id }).Draw(t, "sequencers")
	slices.Sort(ids)
	for _, id := range ids {
		p.Marks = append(p.Marks, Mark{trie.MachineID(id), rapid.Uint64().Draw(t, "sequence")})
	}
	return p
}

// TestPositionText checks that each position survives its text.
func TestPositionText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPosition(t)
		q, err := ParsePosition(p.String())
		if err != nil {
			t.Fatal(err)
		}
		if q.Source != p.Source || q.Epoch != p.Epoch || !slices.Equal(q.Marks, p.Marks) {
			t.Fatalf("%v became %v", p, q)
		}
	})
}

// TestPositionForged checks that a text with one changed, missing or added character is rejected.
func TestPositionForged(t *testing.T) {
	text := Position{Source: 7, Epoch: 3, Marks: []Mark{{1, 5}, {9, 1 << 40}}}.String()
	for i := range text {
		c := byte('A')
		if text[i] == c {
			c = 'B'
		}
		for _, forged := range []string{text[:i] + string(c) + text[i+1:], text[:i], text[:i] + "A" + text[i:]} {
			if _, err := ParsePosition(forged); !errors.Is(err, ErrPosition) {
				t.Errorf("%q: %v", forged, err)
			}
		}
	}
	for _, forged := range []string{"", "1", "00", "latest", text + "=", "\x00"} {
		if _, err := ParsePosition(forged); !errors.Is(err, ErrPosition) {
			t.Errorf("%q: %v", forged, err)
		}
	}
}

// TestAdvance checks Advance and Covers against a set of changes.
func TestAdvance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Position{Source: 1, Epoch: 1}
		last := map[trie.MachineID]uint64{}
		epoch := uint64(1)
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			if rapid.IntRange(0, 9).Draw(t, "next epoch") == 0 {
				epoch, last = epoch+1, map[trie.MachineID]uint64{}
			}
			s := trie.MachineID(rapid.IntRange(0, 3).Draw(t, "sequencer"))
			before := p
			stamp := triple.Stamp{Epoch: epoch, Sequence: last[s] + 1}
			if before.Covers(s, stamp) {
				t.Fatalf("%v covers the next change %v of %d", before, stamp, s)
			}
			p, last[s] = p.Advance(s, stamp), stamp.Sequence
			for of, sequence := range last {
				if !p.Covers(of, triple.Stamp{Epoch: epoch, Sequence: sequence}) {
					t.Fatalf("%v does not cover sequence %d of %d in epoch %d", p, sequence, of, epoch)
				}
			}
			if before.Covers(s, stamp) {
				t.Fatal("Advance has changed its receiver")
			}
		}
	})
}

func FuzzParsePosition(f *testing.F) {
	f.Add("0")
	f.Add(Position{Source: 7, Epoch: 3, Marks: []Mark{{1, 5}, {9, 1 << 40}}}.String())
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePosition(text)
		if err == nil && p.String() != text {
			t.Fatalf("%q became %q", text, p)
		}
	})
}

// TestPositionReaches checks the partial order of positions.
func TestPositionReaches(t *testing.T) {
	at := func(epoch uint64, sequences ...uint64) Position {
		p := Position{Source: 1, Epoch: epoch}
		for i, n := range sequences {
			if n > 0 {
				p.Marks = append(p.Marks, Mark{trie.MachineID(i), n})
			}
		}
		return p
	}
	for _, c := range []struct {
		p, other Position
		want     bool
	}{
		{Position{}, Position{}, true},
		{at(2), at(1, 9), true},
		{at(1, 9), at(2), false},
		{at(1, 3, 4), at(1, 3, 4), true},
		{at(1, 3, 5), at(1, 3, 4), true},
		{at(1, 4, 3), at(1, 3, 4), false},
		{at(1, 3), at(1, 3, 1), false},
		{at(1, 3, 1), at(1, 3), true},
	} {
		if got := c.p.Reaches(c.other); got != c.want {
			t.Errorf("%v reaches %v: %v", c.p, c.other, got)
		}
	}
}

// TestPositionCommon checks that both positions reach the common one, and that no later position has
// this property.
func TestPositionCommon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.Uint64Range(1, 4)
		draw := func(name string) Position {
			p := Position{Source: 1, Epoch: rapid.Uint64Range(1, 2).Draw(t, name)}
			for id := range 3 {
				if rapid.Bool().Draw(t, "has") {
					p.Marks = append(p.Marks, Mark{trie.MachineID(id), few.Draw(t, "sequence")})
				}
			}
			return p
		}
		p, q := draw("p"), draw("q")
		c := p.Common(q)
		if !p.Reaches(c) || !q.Reaches(c) {
			t.Fatalf("%v and %v: %v", p, q, c)
		}
		if d := draw("other"); p.Reaches(d) && q.Reaches(d) && !c.Reaches(d) {
			t.Fatalf("%v and %v: %v, but they reach %v", p, q, c, d)
		}
		if again := q.Common(p); again.String() != c.String() {
			t.Fatalf("%v, %v", c, again)
		}
	})
}
