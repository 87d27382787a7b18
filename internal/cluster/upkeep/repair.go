// Look-ups and repairs of single rows, and the check of a store, for others.

package upkeep

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// lookup requests the row of a triple at one place.
type lookup struct {
	table    byte
	key, spo []byte
}

func (l *lookup) fields(c *peer.Coder) {
	peer.Byte(c, &l.table)
	c.Bytes(&l.key, &l.spo)
}

func codeLook(all *[]lookup) func(*peer.Coder) {
	return func(c *peer.Coder) { peer.List(c, all, 3, (*lookup).fields) }
}

// handleLook answers with the number of the last purge, and of each place with flags (1: there
// is a row, 2: its operation is in flight), the stamp and the value. The number must be read
// before the rows, because repairs that rest on them are refused after a later purge.
func (rs *rowServer) handleLook(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	var all []lookup
	if err := peer.Decode(body, codeLook(&all)); err != nil {
		return nil, err
	}
	var tables []byte
	var keys, spo [][]byte
	for _, l := range all {
		tables, keys, spo = append(tables, l.table), append(keys, l.key), append(spo, l.spo)
	}
	if slices.ContainsFunc(tables, func(t byte) bool { return t != store.TableStorage && t != store.TableReplica }) {
		return nil, fmt.Errorf("look up rows: %w: no such table", store.ErrInvalid)
	}
	// 1. The number of the last purge must be read before the rows.
	number := rs.purger.lastNumber()
	// The view must be at rest before and after the rows are read: then no row was moved
	// meanwhile.
	if _, err := rs.AtRest(epoch); err != nil {
		return nil, err
	}
	states, inFlight, err := rs.store.PlaceStates(ctx, tables, keys, spo)
	if err != nil {
		return nil, err
	}
	if _, err := rs.AtRest(epoch); err != nil {
		return nil, err
	}
	// 2. Answer with the state of each place.
	answer := make([]slotState, len(states))
	for i, s := range states {
		answer[i] = slotState{value: s.Value, stamp: s.Stamp, inFlight: inFlight[i]}
	}
	return peer.Encode(0, codeLooked(&number, answer)), nil
}

// slotState is the content of one place.
type slotState struct {
	slot     recovery.Place
	value    []byte // nil if there is no row
	stamp    triple.Stamp
	inFlight bool
}

func (s *slotState) fields(c *peer.Coder) {
	there, value := s.value != nil, s.value
	c.Flags(&there, &s.inFlight)
	c.Uvarint(&s.stamp.Epoch, &s.stamp.Sequence)
	if c.Bytes(&value); c.Reading() && there {
		s.value = slices.Clip(append([]byte{}, value...))
	}
}

// codeLooked codes the answer to as many look-ups as states has places.
func codeLooked(number *uint64, states []slotState) func(*peer.Coder) {
	return func(c *peer.Coder) {
		c.Uvarint(number)
		for i := range states {
			states[i].fields(c)
		}
	}
}

func codeRepair(number *uint64, rows *[]byte) func(*peer.Coder) {
	return func(c *peer.Coder) {
		c.Uvarint(number)
		c.Bytes(rows)
	}
}

// handleRepair writes rows found missing here by a scrub. It rejects them if a purge has begun
// since they were read, because a triple may have been deleted since, and its tombstone purged.
func (rs *rowServer) handleRepair(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	var number uint64
	var encoded []byte
	if err := peer.Decode(body, codeRepair(&number, &encoded)); err != nil {
		return nil, err
	}
	rows, err := backfill.DecodeRows(encoded)
	if err != nil {
		return nil, err
	}
	if _, err := rs.AtRest(epoch); err != nil {
		return nil, err
	}
	if err := rs.repair(ctx, epoch, number, rows); err != nil {
		return nil, err
	}
	return nil, rs.store.SyncCommitted(ctx)
}

func (rs *rowServer) repair(ctx context.Context, epoch, number uint64, rows []replica.FillRow) error {
	leave, err := rs.gate.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	if last := rs.purger.lastNumber(); last > number {
		return peer.Refuse(peer.CodeUnavailable, epoch, "purge %d has begun since the rows were looked at", last)
	}
	return gate.UntilKnown(ctx, rs.options.Closing, func(ctx context.Context) error { return rs.store.Fill(ctx, rows) }, rs.store.Drain)
}

// handleCheck verifies this machine's own rows.
func (rs *rowServer) handleCheck(ctx context.Context, epoch uint64, _ []byte) ([]byte, error) {
	if _, err := rs.AtRest(epoch); err != nil {
		return nil, err
	}
	select {
	case rs.scans <- struct{}{}:
		defer func() { <-rs.scans }()
	default:
		return nil, peer.Refuse(peer.CodeBusy, epoch, "%d scans run on machine %s", cap(rs.scans), rs.gate.MachineID())
	}
	ctx, cancel := rs.gate.EpochContext(ctx, epoch)
	defer cancel()
	report, err := rs.store.Check(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return json.Marshal(report)
}
