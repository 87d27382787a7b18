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

func encodeLook(all []lookup) []byte {
	var e peer.Encoder
	e.Uvarint(uint64(len(all)))
	for _, l := range all {
		e.Byte(l.table)
		e.Bytes(l.key)
		e.Bytes(l.spo)
	}
	return e.Data()
}

// handleLook answers with the number of the last purge, and of each place with flags (1: there
// is a row, 2: its operation is in flight), the stamp and the value. The number must be read
// before the rows, because repairs that rest on them are refused after a later purge.
func (u *Upkeep) handleLook(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	d := peer.NewDecoder(body)
	var tables []byte
	var keys, spo [][]byte
	for range d.Count(3) {
		tables, keys, spo = append(tables, d.Byte()), append(keys, d.Bytes()), append(spo, d.Bytes())
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(tables, func(t byte) bool { return t != store.TableStorage && t != store.TableReplica }) {
		return nil, fmt.Errorf("look up rows: %w: no such table", store.ErrInvalid)
	}
	// 1. The number of the last purge must be read before the rows.
	var e peer.Encoder
	e.Uvarint(u.purgeNumber())
	// The view must be at rest before and after the rows are read: then no row was moved
	// meanwhile.
	if _, err := u.AtRest(epoch); err != nil {
		return nil, err
	}
	states, unsettled, err := u.store.SlotStates(ctx, tables, keys, spo)
	if err != nil {
		return nil, err
	}
	if _, err := u.AtRest(epoch); err != nil {
		return nil, err
	}
	// 2. Encode the state of each place: whether it has a row, and whether it is in flight.
	for i, s := range states {
		flags := byte(0)
		if s.Value != nil {
			flags |= 1
		}
		if unsettled[i] {
			flags |= 2
		}
		e.Byte(flags)
		encodeStamp(&e, s.Stamp)
		e.Bytes(s.Value)
	}
	return e.Data(), nil
}

// slotState is the content of one place.
type slotState struct {
	slot      recovery.Place
	value     []byte // nil if there is no row
	stamp     triple.Stamp
	unsettled bool
}

func parseLook(body []byte, slots []recovery.Place) (number uint64, states []slotState, err error) {
	d := peer.NewDecoder(body)
	number = d.Uvarint()
	for _, slot := range slots {
		flags := d.Byte()
		s := slotState{slot: slot, unsettled: flags&2 != 0, stamp: decodeStamp(d)}
		if value := d.Bytes(); flags&1 != 0 {
			s.value = slices.Clip(append([]byte{}, value...))
		}
		states = append(states, s)
	}
	return number, states, d.End()
}

func encodeRepair(number uint64, rows []replica.FillRow) []byte {
	var e peer.Encoder
	e.Uvarint(number)
	e.Bytes(backfill.EncodeRows(rows))
	return e.Data()
}

// handleRepair writes rows found missing here by a scrub. It rejects them if a purge has begun
// since they were read, because a triple may have been deleted since, and its tombstone purged.
func (u *Upkeep) handleRepair(ctx context.Context, epoch uint64, body []byte) ([]byte, error) {
	d := peer.NewDecoder(body)
	number, encoded := d.Uvarint(), d.Bytes()
	if err := d.End(); err != nil {
		return nil, err
	}
	rows, err := backfill.DecodeRows(encoded)
	if err != nil {
		return nil, err
	}
	if _, err := u.AtRest(epoch); err != nil {
		return nil, err
	}
	if err := u.repair(ctx, epoch, number, rows); err != nil {
		return nil, err
	}
	return nil, u.store.SyncSettled(ctx)
}

func (u *Upkeep) repair(ctx context.Context, epoch, number uint64, rows []replica.FillRow) error {
	leave, err := u.gate.Enter(epoch)
	if err != nil {
		return err
	}
	defer leave()
	if last := u.purgeNumber(); last > number {
		return peer.Refuse(peer.CodeUnavailable, epoch, "purge %d has begun since the rows were looked at", last)
	}
	defer u.store.BreakJournal()()
	return gate.UntilKnown(ctx, u.options.Closing, func(ctx context.Context) error { return u.store.Fill(ctx, rows) }, u.store.Drain)
}

// handleCheck verifies this machine's own rows.
func (u *Upkeep) handleCheck(ctx context.Context, epoch uint64, _ []byte) ([]byte, error) {
	if _, err := u.AtRest(epoch); err != nil {
		return nil, err
	}
	select {
	case u.scans <- struct{}{}:
		defer func() { <-u.scans }()
	default:
		return nil, peer.Refuse(peer.CodeBusy, epoch, "%d scans run on machine %s", cap(u.scans), u.gate.Self())
	}
	ctx, cancel := u.gate.During(ctx, epoch)
	defer cancel()
	report, err := u.store.Check(ctx)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return json.Marshal(report)
}
