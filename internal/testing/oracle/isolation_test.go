// Tests of the isolation checkers.

package oracle

import (
	"strings"
	"testing"
)

func TestBankCheck(t *testing.T) {
	bank := Bank{Accounts: 2, Total: 10}
	for _, test := range []struct {
		name     string
		balances map[int][]int64
		want     string // "": it is right
	}{
		{"right", map[int][]int64{0: {3}, 1: {7}}, ""},
		{"no balance", map[int][]int64{0: {3}}, "account 1 has 0"},
		{"two balances", map[int][]int64{0: {3}, 1: {7, 8}}, "account 1 has 2"},
		{"half of a transfer", map[int][]int64{0: {3}, 1: {8}}, "hold 11"},
		{"a stranger", map[int][]int64{0: {3}, 1: {7}, 2: {0}}, "3 accounts"},
	} {
		if err := bank.Check(test.balances); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

// TestGrowingSetCheck: the checker finds each way in which a promise may be broken.
func TestGrowingSetCheck(t *testing.T) {
	for _, test := range []struct {
		name      string
		history   func(h *GrowingSet)
		snapshots string // what is said with snapshots; "": it is right
		each      string // and without
	}{
		{"right", func(h *GrowingSet) {
			h.Invoke("a")
			r := h.Begin()
			h.Acknowledge("a")
			h.Read(r, nil)
			h.Read(h.Begin(), []string{"a"})
		}, "", ""},
		{"a lost add", func(h *GrowingSet) {
			h.Invoke("a")
			h.Acknowledge("a")
			h.Read(h.Begin(), nil)
		}, "lacks it", "lacks it"},
		{"out of nothing", func(h *GrowingSet) { h.Read(h.Begin(), []string{"a"}) }, "not added", "not added"},
		{"gone again", func(h *GrowingSet) {
			h.Invoke("a")
			h.Read(h.Begin(), []string{"a"})
			h.Read(h.Begin(), nil)
		}, "lacks it", "lacks it"},
		{"two states in one read", func(h *GrowingSet) {
			h.Invoke("a")
			h.Invoke("b")
			first, second := h.Begin(), h.Begin()
			h.Read(first, []string{"a"})
			h.Read(second, []string{"b"})
		}, "no order of states", ""},
	} {
		h := new(GrowingSet)
		test.history(h)
		for snapshots, want := range map[bool]string{true: test.snapshots, false: test.each} {
			if err := h.Check(snapshots); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, snapshots %v: %v, want %q", test.name, snapshots, err, want)
			}
		}
	}
}
