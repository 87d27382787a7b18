// Tests of the order of ghosts.

package lists

import (
	"slices"
	"testing"
)

func TestPopularFirst(t *testing.T) {
	for _, test := range []struct {
		uses []uint32
		n    int
		want []uint32
	}{
		{nil, 3, []uint32{}},
		{[]uint32{1, 1, 1}, 2, []uint32{0, 1, 2}},
		{[]uint32{1, 9, 2, 9, 1, 5}, 2, []uint32{2, 0, 3, 1, 4, 5}},
		{[]uint32{1, 9, 2, 9, 1, 5}, 3, []uint32{3, 0, 4, 1, 5, 2}},
		{[]uint32{1, 9, 2, 9, 1, 5}, 100, []uint32{4, 0, 1, 2, 5, 3}},
		{[]uint32{3, 3, 3, 3}, 2, []uint32{0, 1, 2, 3}},
		{[]uint32{3, 4}, 0, []uint32{0, 1}},
	} {
		if got := PopularFirst(test.uses, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%v, %d: %v, want %v", test.uses, test.n, got, test.want)
		}
	}
}
