// Where triples are in the cluster: the places of one triple and its owner, and the map of all segments.

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// methodVersions returns what a machine's tables have of a triple, by version. The message is the
// row in SPO, the answer JSON.
const methodVersions = "cluster/versions"

// Where returns the places of t under the adopted view, and what the machines have of it now. Each
// member is requested at the same time. A member without an answer has unknown rows.
func (n *Node) Where(ctx context.Context, t triple.Triple) (w api.Whereabouts, err error) {
	if err := t.Check(); err != nil {
		return w, err
	}
	lone, err := n.onLone(func() (err error) { w, err = n.store.Store.Where(ctx, t); return err })
	if lone {
		for i := range w.Places {
			w.Places[i].Address = n.address
		}
		return w, err
	}
	v := n.View()
	if v == nil {
		return w, fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	// 1. The places under the view.
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	w.Epoch, w.Phase, w.Required = v.Epoch, v.Phase.String(), v.Joint().Reads().Required()
	if w.Places, err = placesUnder(v, key); err != nil {
		return w, err
	}
	// 2. The rows of each machine, and of one that has rows without a place.
	rows, failed := n.versionsOf(ctx, v, key)
	w.Places = append(w.Places, strays(w.Places, v, rows)...)
	states := n.memberStates(v)
	holding := map[string]bool{}
	for i := range w.Places {
		p := &w.Places[i]
		m := states[p.Machine]
		p.Address, p.State, p.Row = m.Address, m.State, rows[p.Machine][p.Version]
		if p.Row == "" {
			p.Row, p.Error = store.RowUnknown, failed[p.Machine]
		}
		if p.Row == store.RowPresent && p.Version != triple.GSPO.String() {
			holding[p.Machine] = true
		}
	}
	w.Holding = len(holding)
	// 3. Whether the triple is stored, as a read returns it.
	w.Stored, err = n.has(ctx, t)
	if err != nil {
		w.Unknown = err.Error()
	}
	return w, ctx.Err()
}

// has reports whether a triple is stored, by a read of the cluster.
func (n *Node) has(ctx context.Context, t triple.Triple) (bool, error) {
	sn, err := n.reads.Snapshot()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	return sn.Has(ctx, t)
}

// placesUnder returns the places of a triple under base and, while the layout changes, under target.
func placesUnder(v *view.View, key []byte) ([]api.Where, error) {
	all, err := store.PlacesOf(v.Base, key)
	if err != nil || v.Phase != recovery.Fill && v.Phase != recovery.Serve {
		return all, err
	}
	target, err := store.PlacesOf(v.Target, key)
	if err != nil {
		return nil, err
	}
	// A place of both layouts is listed once.
	stays := map[[2]string]bool{}
	for _, p := range target {
		stays[[2]string{p.Version, p.Machine}] = true
	}
	for i := range all {
		place := [2]string{all[i].Version, all[i].Machine}
		if !stays[place] {
			all[i].Why += "; the place moves away"
		}
		delete(stays, place)
	}
	for _, p := range target {
		if stays[[2]string{p.Version, p.Machine}] {
			p.Why += "; the place is new, and is being filled"
			all = append(all, p)
		}
	}
	return all, nil
}

// strays returns entries for rows on machines without a place for them.
func strays(places []api.Where, v *view.View, rows map[string]map[string]string) (all []api.Where) {
	has := map[[2]string]bool{}
	for _, p := range places {
		has[[2]string{p.Version, p.Machine}] = true
	}
	for _, m := range v.Members {
		id := m.ID.String()
		for _, version := range []string{"spo", "pos", "osp", "gspo", store.VersionReplica} {
			if row := rows[id][version]; row != "" && row != store.RowMissing && !has[[2]string{version, id}] {
				all = append(all, api.Where{Version: version, Machine: id, Why: "no place: left from an earlier layout, and not read; it is deleted when the cluster is idle"})
			}
		}
	}
	return all
}

// memberStates returns the address and the state of the members of a view by ID. A machine of the
// layout that is no member is not in it.
func (n *Node) memberStates(v *view.View) map[string]api.Member {
	var all []api.Member
	for _, m := range v.Members {
		all = append(all, api.Member{ID: m.ID.String(), Address: m.Address, State: string(m.State)})
	}
	n.markDown(all)
	states := map[string]api.Member{}
	for _, machine := range v.Base.Placement.Machines() {
		states[machine.String()] = api.Member{State: "down"}
	}
	for _, m := range all {
		states[m.ID] = m
	}
	return states
}

// versionsOf requests what all members have of a triple, at the same time. failed has the reasons of
// those without an answer, and of machines that are no members.
func (n *Node) versionsOf(ctx context.Context, v *view.View, key []byte) (rows map[string]map[string]string, failed map[string]string) {
	rows, failed = map[string]map[string]string{}, map[string]string{}
	for _, machine := range v.Base.Placement.Machines() {
		failed[machine.String()] = "the machine was excluded from the cluster"
	}
	record := func(machine string, got map[string]string, err error) {
		rows[machine] = got
		if err != nil {
			failed[machine] = err.Error()
		}
	}
	local, err := n.store.VersionRows(ctx, key)
	record(n.self.String(), local, err)
	n.eachMemberOf(ctx, v, methodVersions, key, func(m api.Member, answer []byte, err error) {
		var got map[string]string
		if err == nil {
			err = json.Unmarshal(answer, &got)
		}
		record(m.ID, got, err)
	})
	return rows, failed
}

// answerVersions answers methodVersions.
func (n *Node) answerVersions(ctx context.Context, _ peer.Header, key []byte) ([]byte, error) {
	rows, err := n.store.VersionRows(ctx, key)
	if err != nil {
		return nil, err
	}
	return json.Marshal(rows)
}

// SegmentMap returns the map of the adopted view. No other machine is queried.
func (n *Node) SegmentMap(ctx context.Context, offset, limit int) (m store.SegmentMap, err error) {
	lone, err := n.onLone(func() (err error) { m, err = n.store.Store.SegmentMap(ctx, offset, limit); return err })
	if lone {
		return m, err
	}
	v := n.View()
	if v == nil {
		return m, fmt.Errorf("%w: this machine has no view of the cluster yet", store.ErrUnavailable)
	}
	m, err = n.triples.maps.Page(ctx, v, v.Joint(), func(s trie.Segment) bool { return overlapsLost(v.Lost, s) }, offset, limit)
	m.Epoch = v.Epoch
	return m, err
}

// overlapsLost reports whether a segment has keys of a lost range.
func overlapsLost(lost []view.Lost, s trie.Segment) bool {
	return slices.ContainsFunc(lost, func(l view.Lost) bool {
		return (l.Hi == nil || bytes.Compare(s.Lo, l.Hi) < 0) && (s.Hi == nil || bytes.Compare(l.Lo, s.Hi) < 0)
	})
}

// Owns reports whether this machine owns the row with a key and has a lease. Of work that belongs to
// a row, its owner does all: another member takes over when the machine is excluded. For a moment
// two members may own a row, because the lease is not checked again behind Owns. A node that is
// alone owns all.
func (n *Node) Owns(key []byte) bool {
	if n.isAlone() {
		return true
	}
	v := n.View()
	if v == nil || n.Lease() != nil {
		return false
	}
	machine, ok := v.Joint().Reader(key)
	return ok && machine == n.self
}
