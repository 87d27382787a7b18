// Golden tests: two small graphs, of the paper and of the patent, as numbers and as bytes.

package lists

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
)

// fivePages is the paper's example, with the pages 3072 ... 3076 as 0 ... 4.
var fivePages = []links{
	{locals: []uint32{1}},
	{locals: []uint32{0}},
	{locals: []uint32{0, 1}},
	{locals: []uint32{0, 1}},
	{locals: []uint32{0, 2}},
}

// differences are the paper's: the first target minus its key, then gaps.
func differences(key uint32, list []uint32) []int64 {
	var out []int64
	for i, v := range appendNumbers(nil, key, list, nil) {
		if i == 0 {
			out = append(out, int64(int32(unzigzag(v, 0))))
		} else {
			out = append(out, int64(v)+1)
		}
	}
	return out
}

func TestDifferences(t *testing.T) {
	for _, test := range []struct {
		key  uint32
		list []uint32
		want string
	}{
		{3072, []uint32{3073}, "[1]"},
		{3073, []uint32{3072}, "[-1]"},
		{3074, []uint32{3072, 3073}, "[-2 1]"},
		{3075, []uint32{3072, 3073}, "[-3 1]"},
		{3076, []uint32{3072, 3074}, "[-4 2]"},
		{0, []uint32{1, 2, 3}, "[1 1 1]"},
		{1, nil, "[]"},
		{2, []uint32{0, 1}, "[-2 1]"},
		{3, []uint32{4, 5, 6}, "[1 1 1]"},
		{4, []uint32{5}, "[1]"},
		{5, []uint32{3}, "[-2]"},
		{6, []uint32{0, 7, 16}, "[-6 7 9]"},
		{7, []uint32{6}, "[-1]"},
		{16, []uint32{17, 18, 19}, "[1 1 1]"},
		{17, []uint32{16}, "[-1]"},
		{18, []uint32{16}, "[-2]"},
		{19, []uint32{6, 20}, "[-13 14]"},
		{1<<32 - 2, []uint32{0}, "[2]"}, // differences wrap at 32 bits
		{0, []uint32{1<<32 - 2}, "[-2]"},
	} {
		if got := fmt.Sprint(differences(test.key, test.list)); got != test.want {
			t.Errorf("%d -> %v: %s, want %s", test.key, test.list, got, test.want)
		}
		for i, v := range appendNumbers(nil, test.key, test.list, nil) {
			if i == 0 && unzigzag(v, test.key) != test.list[0] {
				t.Errorf("%d -> %v: first target read as %d", test.key, test.list, unzigzag(v, test.key))
			}
		}
	}
}

func TestGoldenTables(t *testing.T) {
	ghosts := []links{
		{locals: []uint32{1, 2, 3, 4, 5}, ghosts: []uint32{7, 300, 70000}},
		{},
		{ghosts: []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		{locals: []uint32{0}, ghosts: []uint32{70001}},
		{locals: []uint32{4}},
		{locals: []uint32{3, 5}},
	}
	copies := []links{
		{locals: []uint32{2, 4, 6, 8, 10, 12, 14}, ghosts: []uint32{300, 600, 900}},
		{locals: []uint32{2, 4, 6, 8, 10, 12, 14}, ghosts: []uint32{300, 600, 900}},
		{},
		{locals: []uint32{1, 2, 4, 6, 8, 10, 12}, ghosts: []uint32{300, 600, 700, 900, 1200}},
		{locals: []uint32{0}},
		{locals: []uint32{4, 6, 8, 10, 12, 13}, ghosts: []uint32{300, 600, 700, 1200}},
		{ghosts: []uint32{300, 600, 700, 800, 1200}},
		{locals: []uint32{0, 2, 3, 4, 5, 7, 9, 10, 11, 12, 13}, ghosts: []uint32{1, 2, 3, 4, 5}},
		{}, {}, {}, {}, {}, {}, {},
	}
	for name, test := range map[string]struct {
		o     Options
		graph []links
	}{
		"five-pages.streamvbyte.hex": {Options{Codec: StreamVByte}, fivePages},
		"ghosts.streamvbyte.hex":     {Options{Codec: StreamVByte}, ghosts},
		"copies.reference.hex":       {Options{Codec: Reference}, copies},
	} {
		t.Run(name, func(t *testing.T) {
			data := build(t, test.o, test.graph)
			table := open(t, data)
			// The positions between them are package ef's.
			goldenfile.Check(t, filepath.Join("testdata", name), hex.Dump(data[:40])+"\n"+hex.Dump(table.data))
			compare(t, table, test.graph)
		})
	}
}
