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
		name    string
		history func(h *GrowingSet, states bool)
		states  string // what is said if the reads are of states; "": it is right
		each    string // and without
	}{
		{"right", func(h *GrowingSet, states bool) {
			h.Invoke("a")
			r := h.Begin()
			h.Acknowledge("a")
			h.Read(r, nil, states)
			h.Read(h.Begin(), []string{"a"}, states)
		}, "", ""},
		{"a lost add", func(h *GrowingSet, states bool) {
			h.Invoke("a")
			h.Acknowledge("a")
			h.Read(h.Begin(), nil, states)
		}, "lacks it", "lacks it"},
		{"out of nothing", func(h *GrowingSet, states bool) { h.Read(h.Begin(), []string{"a"}, states) }, "not added", "not added"},
		{"gone again", func(h *GrowingSet, states bool) {
			h.Invoke("a")
			h.Read(h.Begin(), []string{"a"}, states)
			h.Read(h.Begin(), nil, states)
		}, "lacks it", "lacks it"},
		{"two states in one read", func(h *GrowingSet, states bool) {
			h.Invoke("a")
			h.Invoke("b")
			first, second := h.Begin(), h.Begin()
			h.Read(first, []string{"a"}, states)
			h.Read(second, []string{"b"}, states)
		}, "no order of states", ""},
	} {
		for states, want := range map[bool]string{true: test.states, false: test.each} {
			h := new(GrowingSet)
			test.history(h, states)
			if err := h.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, states %v: %v, want %q", test.name, states, err, want)
			}
		}
	}
}
