// Verification: whether copies of single triples really differ, and their repair.

package upkeep

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

const (
	lookTriples = 500 // that are verified at a time
	lookTries   = 20  // if a triple is written again and again
	lookPause   = 100 * time.Millisecond
)

// verify reads each place of the suspects until they are equal, or until they have differed
// twice in a row while no operation on them was in flight.
func (c *comparison) verify(ctx context.Context, suspects []suspect) error {
	var before map[int][]slotState
	open := make([]int, len(suspects))
	for i := range open {
		open[i] = i
	}
	for range lookTries {
		// 1. Compare the places with each other, and with their state one try before.
		number, states, err := c.lookAt(ctx, suspects, open)
		if err != nil {
			return err
		}
		var wrong, changing []int
		for _, i := range open {
			switch current := states[i]; {
			case allEqual(current):
			case before != nil && steady(before[i], current):
				wrong = append(wrong, i)
			default:
				changing = append(changing, i)
			}
		}
		// 2. Repair certain differences, and retry those written meanwhile.
		if err := c.resolve(ctx, suspects, wrong, states, number); err != nil {
			return err
		}
		if len(changing) == 0 {
			return nil
		}
		open, before = changing, states
		retry.Sleep(ctx, lookPause)
	}
	return nil // if a triple is written all the time, the next scrub compares it
}

// lookAt reads the places of some of the suspects. number is the least number of a last purge
// among the members, because no later purge shows in the states of all.
func (c *comparison) lookAt(ctx context.Context, suspects []suspect, which []int) (number uint64, states map[int][]slotState, err error) {
	// 1. Group the places by machine, because each must get one message.
	type place struct{ suspect, slot int }
	requests, places := map[trie.MachineID][]lookup{}, map[trie.MachineID][]place{}
	states = map[int][]slotState{}
	for _, i := range which {
		s := &suspects[i]
		states[i] = make([]slotState, len(s.slots))
		for j, slot := range s.slots {
			key, _, err := recovery.AppendVersion(nil, slot.Order, s.spo)
			if err != nil {
				return 0, nil, err
			}
			requests[slot.Machine] = append(requests[slot.Machine], lookup{tableOf(slot), append(key, s.suffix...), s.spo})
			places[slot.Machine] = append(places[slot.Machine], place{i, j})
		}
	}
	// 2. Read them, one machine after the other.
	timed, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	first := true
	for _, m := range slices.Sorted(maps.Keys(requests)) {
		requested := requests[m]
		body, err := c.scrubber.call(timed, c.view.Epoch, m, methodLook, peer.Encode(0, codeLook(&requested)))
		if err != nil {
			return 0, nil, atMachine(m, err)
		}
		found := make([]slotState, len(places[m]))
		for k, p := range places[m] {
			found[k].slot = suspects[p.suspect].slots[p.slot]
		}
		var known uint64
		if err := peer.Decode(body, codeLooked(&known, found)); err != nil {
			return 0, nil, atMachine(m, err)
		}
		// The least number counts, because no later purge shows in all states.
		if first || known < number {
			number, first = known, false
		}
		for k, p := range places[m] {
			states[p.suspect][p.slot] = found[k]
		}
	}
	return number, states, nil
}

func tableOf(s recovery.Place) byte {
	if s.Extra {
		return store.TableReplica
	}
	return store.TableStorage
}

func (s *slotState) live() bool {
	return s.value != nil && !triple.IsTombstone(s.value)
}

// allEqual reports whether all places agree. No row and a tombstone are the same.
func allEqual(states []slotState) bool {
	for i := range states {
		a, b := &states[0], &states[i]
		if a.live() != b.live() || a.live() && !triple.SameRow(a.value, b.value) {
			return false
		}
	}
	return true
}

// steady reports whether the places have not changed, and no operation was in flight.
func steady(before, after []slotState) bool {
	for i := range after {
		if before[i].inFlight || !bytes.Equal(before[i].value, after[i].value) || (before[i].value == nil) != (after[i].value == nil) {
			return false
		}
	}
	return true
}

// resolve reports the differing suspects, and repairs them if the comparison must.
func (c *comparison) resolve(ctx context.Context, suspects []suspect, wrong []int, states map[int][]slotState, number uint64) error {
	// 1. Choose the newest row of each suspect, and collect it for all places with an older one.
	// If a row cannot be decoded, it has no stamp and is not overwritten.
	rows := map[trie.MachineID][]replica.FillRow{}
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
			rows[s.slot.Machine] = append(rows[s.slot.Machine], replica.FillRow{
				Table: tableOf(s.slot), Key: append(key, suspects[i].suffix...), Value: best.value,
			})
		}
	}
	// 2. Write the rows, and count the equal suspects afterwards.
	if len(fixed) == 0 {
		return nil
	}
	for _, m := range slices.Sorted(maps.Keys(rows)) {
		encoded := backfill.EncodeRows(rows[m])
		if _, err := c.scrubber.call(ctx, c.view.Epoch, m, methodRepair, peer.Encode(len(encoded)+16, codeRepair(&number, &encoded))); err != nil {
			c.report.Left += int64(len(fixed))
			return atMachine(m, err)
		}
	}
	_, after, err := c.lookAt(ctx, suspects, fixed)
	if err != nil {
		return err
	}
	for _, i := range fixed {
		if allEqual(after[i]) {
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

// explain reports a problem for each place if it differs from the newest row.
func (c *comparison) explain(s *suspect, states []slotState, best *slotState) {
	// One problem for each differing place; each names the place with the newest row.
	of := func(b *slotState) string {
		text := b.slot.Order.String()
		if b.slot.Extra {
			text = "an extra replica"
		}
		return fmt.Sprintf("%s on machine %s (stamp %d, %d)", text, b.slot.Machine, b.stamp.Epoch, b.stamp.Sequence)
	}
	// A place is right if it shows the same row as the newest, or none if that is a tombstone.
	for i := range states {
		state := &states[i]
		if state.live() == best.live() && (!best.live() || triple.SameRow(state.value, best.value)) {
			continue
		}
		p := api.Problem{Machine: state.slot.Machine.String(), Order: state.slot.Order.String(), Triple: textOf(s.spo, best.value)}
		what := "the triple"
		if s.suffix != nil {
			what = "an annotation"
		}
		if state.slot.Extra {
			what = "the extra replica of " + what
		}
		// The message names the wrong place and the place of the newest row.
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

// textOf returns a triple as text, or its key if it cannot be decoded.
func textOf(spo, value []byte) string {
	if value == nil || triple.IsAnnotation(value) || triple.IsTombstone(value) {
		value = (&triple.Value{}).Append(nil)
	}
	if _, t, err := triple.DecodeKey(spo, value); err == nil {
		return t.String()
	}
	return fmt.Sprintf("%q", spo[:min(len(spo), 120)])
}
