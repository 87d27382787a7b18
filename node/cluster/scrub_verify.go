package cluster

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is how it is made sure that copies differ, and how that is repaired.

const (
	lookTriples = 500 // that are looked into at a time
	lookTries   = 20  // where something is written to a triple again and again
	lookPause   = 100 * time.Millisecond
)

// verify looks at each slot of suspects, until they are found to be the same, or
// twice in a row not to be while nothing was on its way to them.
func (c *comparison) verify(ctx context.Context, suspects []suspect) error {
	var before map[int][]slotState
	open := make([]int, len(suspects))
	for i := range open {
		open[i] = i
	}
	for range lookTries {
		number, states, err := c.lookAt(ctx, suspects, open)
		if err != nil {
			return err
		}
		var wrong, again []int
		for _, i := range open {
			switch now := states[i]; {
			case same(now):
			case before != nil && steady(before[i], now):
				wrong = append(wrong, i)
			default:
				again = append(again, i)
			}
		}
		if err := c.settle(ctx, suspects, wrong, states, number); err != nil {
			return err
		}
		if len(again) == 0 {
			return nil
		}
		open, before = again, states
		wait(ctx, lookPause)
	}
	return nil // what is written to all the time is compared the next time
}

// lookAt looks at the slots of some of the suspects, and returns their states, and a
// number that no purge had whose effects may show in some and not in others.
func (c *comparison) lookAt(ctx context.Context, suspects []suspect, which []int) (number uint64, states map[int][]slotState, err error) {
	type place struct{ suspect, slot int }
	asks, places := map[trie.MachineID][]lookup{}, map[trie.MachineID][]place{}
	states = map[int][]slotState{}
	for _, i := range which {
		s := &suspects[i]
		states[i] = make([]slotState, len(s.slots))
		for j, slot := range s.slots {
			key, _, err := recovery.AppendVersion(nil, slot.Order, s.spo)
			if err != nil {
				return 0, nil, err
			}
			asks[slot.Machine] = append(asks[slot.Machine], lookup{tableOf(slot), append(key, s.suffix...), s.spo})
			places[slot.Machine] = append(places[slot.Machine], place{i, j})
		}
	}
	timed, cancel := context.WithTimeout(ctx, upkeepTimeout)
	defer cancel()
	first := true
	for _, m := range slices.Sorted(maps.Keys(asks)) {
		body, err := c.node.callIn(timed, c.view.Epoch, m, methodLook, encodeLook(asks[m]))
		if err != nil {
			return 0, nil, atMachine(m, err)
		}
		slots := make([]recovery.Slot, len(places[m]))
		for k, p := range places[m] {
			slots[k] = suspects[p.suspect].slots[p.slot]
		}
		known, found, err := parseLook(body, slots)
		if err != nil {
			return 0, nil, atMachine(m, err)
		}
		if first || known < number {
			number, first = known, false
		}
		for k, p := range places[m] {
			states[p.suspect][p.slot] = found[k]
		}
	}
	return number, states, nil
}

func tableOf(s recovery.Slot) byte {
	if s.Extra {
		return node.TableReplica
	}
	return node.TableStorage
}

func (s *slotState) live() bool {
	return s.value != nil && !triple.IsTombstone(s.value)
}

// same reports whether all slots say the same: no row and a tombstone are the same.
func same(states []slotState) bool {
	for i := range states {
		a, b := &states[0], &states[i]
		if a.live() != b.live() || a.live() && !triple.SameRow(a.value, b.value) {
			return false
		}
	}
	return true
}

// steady reports whether slots were the same before, and nothing was on its way.
func steady(before, now []slotState) bool {
	for i := range now {
		if before[i].unsettled || !bytes.Equal(before[i].value, now[i].value) || (before[i].value == nil) != (now[i].value == nil) {
			return false
		}
	}
	return true
}

// settle reports suspects that are wrong, and repairs them where that is wanted.
func (c *comparison) settle(ctx context.Context, suspects []suspect, wrong []int, states map[int][]slotState, number uint64) error {
	rows := map[trie.MachineID][]node.FillRow{}
	var fixed []int
	for _, i := range wrong {
		c.report.Differences++
		best := greatest(states[i])
		c.explain(&suspects[i], states[i], best)
		if !c.repair {
			continue
		}
		fixed = append(fixed, i)
		for j := range states[i] {
			s := &states[i][j]
			unreadable := s.value != nil && s.stamp == (triple.Stamp{})
			if unreadable || !s.stamp.Less(best.stamp) || !s.live() && !best.live() {
				continue
			}
			key, _, err := recovery.AppendVersion(nil, s.slot.Order, suspects[i].spo)
			if err != nil {
				return err
			}
			rows[s.slot.Machine] = append(rows[s.slot.Machine], node.FillRow{
				Table: tableOf(s.slot), Key: append(key, suspects[i].suffix...), Value: best.value,
			})
		}
	}
	if len(fixed) == 0 {
		return nil
	}
	for _, m := range slices.Sorted(maps.Keys(rows)) {
		if _, err := c.node.callIn(ctx, c.view.Epoch, m, methodRepair, encodeRepair(number, rows[m])); err != nil {
			c.report.Left += int64(len(fixed))
			return atMachine(m, err)
		}
	}
	_, after, err := c.lookAt(ctx, suspects, fixed)
	if err != nil {
		return err
	}
	for _, i := range fixed {
		if same(after[i]) {
			c.report.Repaired++
		} else {
			c.report.Left++
		}
	}
	return nil
}

// greatest returns the state with the greatest stamp.
func greatest(states []slotState) *slotState {
	best := &states[0]
	for i := range states {
		if s := &states[i]; s.value != nil && (best.value == nil || best.stamp.Less(s.stamp)) {
			best = s
		}
	}
	return best
}

// explain makes a problem of each slot that does not say what the newest row says.
func (c *comparison) explain(s *suspect, states []slotState, best *slotState) {
	of := func(b *slotState) string {
		text := b.slot.Order.String()
		if b.slot.Extra {
			text = "an extra replica"
		}
		return fmt.Sprintf("%s on machine %s (stamp %d, %d)", text, b.slot.Machine, b.stamp.Epoch, b.stamp.Sequence)
	}
	for i := range states {
		state := &states[i]
		if state.live() == best.live() && (!best.live() || triple.SameRow(state.value, best.value)) {
			continue
		}
		p := node.Problem{Machine: state.slot.Machine.String(), Order: state.slot.Order.String(), Triple: textOf(s.spo, best.value)}
		what := "the triple"
		if s.suffix != nil {
			what = "an annotation"
		}
		if state.slot.Extra {
			what = "the extra replica of " + what
		}
		switch {
		case !state.live() && state.value != nil:
			p.Message = fmt.Sprintf("%s is deleted, and it is in %s", what, of(best))
		case !state.live():
			p.Message = fmt.Sprintf("%s is missing, and it is in %s", what, of(best))
		case !best.live():
			p.Message = fmt.Sprintf("%s is there, and it is deleted in %s", what, of(best))
		default:
			p.Message = fmt.Sprintf("%s has another stamp or value than in %s", what, of(best))
		}
		c.problem(p)
	}
}

// textOf returns a triple as text, as far as it can be told.
func textOf(spo, value []byte) string {
	if value == nil || triple.IsAnnotation(value) || triple.IsTombstone(value) {
		value = (&triple.Value{}).Append(nil)
	}
	if _, t, err := triple.DecodeKey(spo, value); err == nil {
		return t.String()
	}
	return fmt.Sprintf("%q", spo[:min(len(spo), 120)])
}
