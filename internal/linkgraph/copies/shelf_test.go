// Tests of the shelf, of holders and of affected ranges.

package copies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// TestShelf replaces rows of ranges, of several copies, and compares with a map.
func TestShelf(t *testing.T) {
	random := seeded(t)
	fs := vfs.NewMem()
	if err := fs.MkdirAll("copies/more", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := openShelf(fs, "copies")
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		id  uint64
		key byte
	}
	want := map[place]string{}
	for i := range 300 {
		id := uint64(random.IntN(3)) + 1<<8 - 1 // 255, 256, 257: in order as bytes too
		c, keys := smallCover(random)
		var rows []Row
		maps.DeleteFunc(want, func(p place, _ string) bool { return p.id == id && keys[p.key] })
		for key, ok := range keys {
			if ok && random.IntN(2) == 0 {
				rows = append(rows, Row{[]byte{byte(key)}, fmt.Append(nil, i)})
				want[place{id, byte(key)}] = fmt.Sprint(i)
			}
		}
		if err := s.replace(id, c, rows); err != nil {
			t.Fatal(err)
		}
		asked, _ := smallCover(random)
		var got, expected []string
		id = uint64(random.IntN(3)) + 1<<8 - 1
		err := s.read(context.Background(), id, asked, func(i int, row Row) {
			got = append(got, fmt.Sprintf("%d %d %s", i, row.Key, row.Value))
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range asked {
			for key := r.Lo[0]; key < r.Hi[0]; key++ {
				if value, ok := want[place{id, key}]; ok {
					expected = append(expected, fmt.Sprintf("%d %d %s", i, []byte{key}, value))
				}
			}
		}
		if !slices.Equal(got, expected) {
			t.Fatalf("%v: %v, want %v", asked, got, expected)
		}
	}
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errClosed)
	err = s.read(ended, 255, []triple.Range{{Lo: []byte{0}, Hi: []byte{9}}}, func(int, Row) {})
	if !errors.Is(err, errClosed) {
		t.Errorf("a read that is not wanted any more: %v", err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openShelf(fs, "copies")
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	err = again.read(context.Background(), 255, []triple.Range{{Lo: []byte{0}, Hi: []byte{0xFF}}}, func(int, Row) { t.Error("a row of the process before") })
	if err != nil {
		t.Error(err)
	}
}

// TestOpenRefuses checks that wrong options are rejected.
func TestOpenRefuses(t *testing.T) {
	for _, o := range []Options{{Copies: -1}, {Copies: MaxCopies + 1}, {Copies: 1, Every: -1}} {
		if c, err := Open(nil, nil, o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v, %v", o, c, err)
		}
	}
}

// TestHolders checks that holders follow the owner clockwise, even if it is not a member.
func TestHolders(t *testing.T) {
	random := seeded(t)
	for range 20 {
		w := newWorld(t, random, 1+random.IntN(6))
		v := w.view
		var ids []trie.MachineID
		for i := range v.Members {
			ids = append(ids, v.Members[i].ID)
		}
		for _, owner := range append(ids, trie.MachineID(random.Uint64())) {
			want := slices.DeleteFunc(slices.Clone(ids), func(id trie.MachineID) bool { return id == owner })
			slices.SortFunc(want, func(a, b trie.MachineID) int {
				if owner.Distance(a) < owner.Distance(b) {
					return -1
				}
				return 1
			})
			for copies := range 8 {
				if got := Holders(v, owner, copies); !slices.Equal(got, want[:min(copies, len(want))]) {
					t.Fatalf("%d holders of %s: %v of %v", copies, owner, got, want)
				}
			}
		}
	}
}

// TestAffected compares with the ranges of patterns, for short and long terms, in the default
// graph and another one.
func TestAffected(t *testing.T) {
	long := "http://long/" + strings.Repeat("x", 3000)
	for _, subject := range []string{"http://s/", long} {
		for _, object := range []triple.Term{triple.NewIRI("http://o/"), triple.NewIRI(long), triple.NewString("a\x00b"), triple.NewString("")} {
			for _, graph := range []string{"", "http://g/"} {
				tr := triple.Triple{Subject: triple.NewIRI(subject), Predicate: triple.NewIRI("http://p/"), Object: object}
				if graph != "" {
					tr.Graph = triple.NewIRI(graph)
				}
				key, _ := triple.AppendKey(nil, triple.SPO, tr)
				got, err := affected(key)
				if err != nil {
					t.Fatal(err)
				}
				forward, err := triple.Pattern{Subject: tr.Subject, Predicate: tr.Predicate}.Scan(triple.SPO)
				if err != nil {
					t.Fatal(err)
				}
				backward, err := triple.Pattern{Predicate: tr.Predicate, Object: tr.Object}.Scan(triple.POS)
				if err != nil {
					t.Fatal(err)
				}
				for i, want := range []triple.Range{forward.Range, backward.Range} {
					if !bytes.Equal(got[i].Lo, want.Lo) || !bytes.Equal(got[i].Hi, want.Hi) {
						t.Errorf("%.60v: range %d is %q, want %q", tr, i, got[i], want)
					}
					if b := begins(got[i].Lo); !bytes.Equal(b, want.Lo) {
						t.Errorf("%.60v: range %d begins with %q", tr, i, b)
					}
				}
			}
		}
	}
}

// FuzzAffected checks that an invalid key is an error, and a valid one is in its ranges.
func FuzzAffected(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(modelKeys[1]))
	f.Add([]byte("\x01a\x00\x01b"))
	f.Fuzz(func(t *testing.T, key []byte) {
		both, err := affected(key)
		if err != nil {
			return
		}
		for _, r := range both {
			if r.Empty() || r.Hi == nil {
				t.Errorf("%q: %q is empty", key, r)
			}
		}
		if key[0] == byte(triple.SPO) && !inRange(both[0], key) {
			t.Errorf("%q is not in %q", key, both[0])
		}
	})
}
