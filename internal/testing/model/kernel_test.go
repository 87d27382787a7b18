// Tests of the kernel.

package model

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// counter is a system of which everything is known: it adds 1 or 3, up to 20,
// and breaks at 14.
type counter int

func (c counter) State() int         { return int(c) }
func (c counter) Say(add int) string { return "add " + strconv.Itoa(add) }

func (c counter) Actions() []int {
	if c >= 20 {
		return nil
	}
	return []int{1, 3}
}

func (c counter) Do(add int) (System[int, int], error) {
	if c+counter(add) == 14 {
		return nil, errors.New("14")
	}
	return c + counter(add), nil
}

func TestExploreFindsAShortestRun(t *testing.T) {
	got := Explore[int, int](counter(0), Bounds{}, nil)
	if got.Broken == nil || len(got.Broken.Steps) != 6 || got.Complete {
		t.Errorf("%+v", got) // 3+3+3+3+1+1
	}
	goal := Explore[int, int](counter(0), Bounds{}, func(n int) bool { return n == 12 })
	if goal.Reached == nil || len(goal.Reached.Steps) != 4 {
		t.Errorf("%+v", goal)
	}
	if all := Explore[int, int](counter(15), Bounds{}, nil); !all.Complete || all.States != 8 || all.Broken != nil {
		t.Errorf("%+v, want the 8 states from 15 to 22", all)
	}
	if cut := Explore[int, int](counter(15), Bounds{States: 3}, nil); cut.Complete || cut.States != 3 {
		t.Errorf("%+v", cut)
	}
	if cut := Explore[int, int](counter(15), Bounds{Depth: 1}, nil); cut.Complete {
		t.Errorf("%+v", cut)
	}
}

func TestShrinkAndReplay(t *testing.T) {
	for seed := uint64(0); ; seed++ {
		got := Wander[int, int](counter(0), rand.New(rand.NewPCG(seed, 0)), 50, nil, nil)
		if got.Err == nil {
			continue
		}
		// What was found can be replayed, from its printed order alone.
		if _, again := Replay[int, int](counter(0), got.Steps); again.Err == nil || !slices.Equal(again.Steps, got.Steps) {
			t.Errorf("seed %d: %v replays as %v", seed, got, again)
		}
		short := Shrink[int, int](counter(0), got)
		if _, again := Replay[int, int](counter(0), short.Steps); again.Err == nil || len(short.Steps) > len(got.Steps) {
			t.Errorf("seed %d: %v shrinks to %v", seed, got, short)
		}
		return
	}
}
