// Tests of layouts.

package positional

import (
	"errors"
	"math"
	"testing"
)

func TestLayout(t *testing.T) {
	for _, test := range []struct {
		layout             Layout
		primary, secondary int
		relative           uint64
		want               UID
	}{
		{Layout{}, 0, 0, 0, 0},
		{Layout{}, 0x12, 0x34, 0x56789abcdef0, 0x123456789abcdef0},
		{Layout{}, 255, 255, 1<<48 - 1, math.MaxUint64},
		{Layout{1, 0, 4}, 1, 0, 3, 19},
		{Layout{4, 4, 8}, 0xa, 0xb, 0xcd, 0xabcd},
		{Layout{0, 0, 64}, 0, 0, math.MaxUint64, math.MaxUint64},
		{Layout{32, 32, 0}, 5, 6, 0, 5<<32 | 6},
		{Layout{64, 0, 0}, 7, 0, 0, 7},
	} {
		u := test.layout.Make(test.primary, test.secondary, test.relative)
		if u != test.want {
			t.Errorf("%v: %#x, want %#x", test.layout, uint64(u), uint64(test.want))
		}
		l := test.layout
		if l.Primary(u) != uint64(test.primary) || l.Secondary(u) != uint64(test.secondary) || l.Relative(u) != test.relative {
			t.Errorf("%v: %#x has the parts %d, %d, %d", l, uint64(u), l.Primary(u), l.Secondary(u), l.Relative(u))
		}
	}
}

func TestLayoutValidate(t *testing.T) {
	for _, test := range []struct {
		layout Layout
		policy Policy
		ok     bool
	}{
		{Layout{}, Policy{256, 3}, true},
		{Layout{}, Policy{257, 3}, false},
		{Layout{1, 0, 4}, Policy{2, 1}, true},
		{Layout{1, 0, 4}, Policy{2, 0}, false},
		{Layout{0, 0, 4}, Policy{}, true},
		{Layout{8, 8, 49}, Policy{}, false},
		{Layout{255, 255, 255}, Policy{}, false},
		{Layout{3, 2, 59}, Policy{8, 4}, true},
		{Layout{3, 2, 59}, Policy{8, 3}, false},
		{Layout{3, 3, 58}, Policy{9, 1}, false},
	} {
		if err := test.layout.Validate(test.policy); (err == nil) != test.ok || err != nil && !errors.Is(err, ErrLayout) {
			t.Errorf("%v, %v: %v", test.layout, test.policy, err)
		}
	}
}
