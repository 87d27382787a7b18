// What a directory keeps about itself: its cluster, the newest adopted view, and the limit of its stamps.

package store

import (
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// rowIdentity holds the [Identity] as JSON.
var rowIdentity = keyspace.LocalKey("identity")

// Identity identifies the cluster of a data directory.
type Identity struct {
	Cluster    string `json:"cluster"`
	ClusterID  string `json:"clusterId"`
	Generation uint64 `json:"generation"`
	// Lineage is the lineage of the views that the machine adopts (see package view).
	Lineage string `json:"lineage,omitempty"`
	// Followed is the view of the generation before that the machine had adopted when it was
	// kept for this generation. It is set if it is newer than the start of this generation.
	Followed *AdoptedView `json:"followed,omitempty"`
	// Forming is set while the cluster's first view is being made, until it is adopted.
	Forming bool `json:"forming,omitempty"`
	// Minor is the greatest minor version that the cluster has agreed on. A build with a smaller
	// one may not understand the directory (see package protocol).
	Minor uint64 `json:"protocol,omitempty"`
}

// AdoptedView identifies a view that a machine has adopted.
type AdoptedView struct {
	Generation, Epoch uint64
	// Digest is the view's digest, or 0 if it is unknown.
	Digest uint64
}

// membership is the cluster of a directory. It is nil if the directory belongs to none.
type membership struct{ atomic.Pointer[Identity] }

// checkAlone returns an error if rows must come from the cluster.
func (m *membership) checkAlone() error {
	if id := m.Load(); id != nil {
		return fmt.Errorf("%w: that of %q: only its nodes write here", ErrMember, id.Cluster)
	}
	return nil
}

// Identity returns the cluster of the directory. ok is false if it belongs to none.
func (s *Store) Identity() (id Identity, ok bool) {
	if p := s.member.Load(); p != nil {
		return *p, true
	}
	return Identity{}, false
}

// SetIdentity makes the directory a cluster member's, durably. From then on rows must come through
// package replica. All other writes return [ErrMember], and so does Open without Options.Member.
func (s *Store) SetIdentity(id Identity) error {
	if id.Cluster == "" || id.ClusterID == "" {
		return fmt.Errorf("set identity: %w: a cluster has a name and an id", ErrInvalid)
	}
	value, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("set identity: %w", err)
	}
	if err := s.setIdentity(&id, value); err != nil {
		return fault.Wrap("set identity", err)
	}
	// A member has no columns. They go before rows come from the cluster, because those are not in the
	// feed.
	if s.columns != nil {
		s.columns.Close()
	}
	return nil
}

func (s *Store) setIdentity(id *Identity, value []byte) error {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	if err := s.db.SetLocal(rowIdentity, value); err != nil {
		return err
	}
	s.member.Store(id)
	s.feed.Retire()
	s.segments.Manage()
	return nil
}

// Epoch returns the epoch of the store's own stamps. No row has a greater one. If a cluster begins
// with this store, its first epoch is the next one.
func (s *Store) Epoch() uint64 {
	s.committer.mu.Lock()
	defer s.committer.mu.Unlock()
	return s.committer.sequence.epoch
}

// read reads the cluster of the directory. It returns an error if a newer program wrote
// it, or if the directory is a member's and none is expected.
func (m *membership) read(db *database.Database, expected bool) error {
	value, err := db.Value(rowIdentity)
	if err != nil {
		return err
	}
	if value != nil {
		id := new(Identity)
		if err := json.Unmarshal(value, id); err != nil {
			return fmt.Errorf("%w: identity: %w", ErrCorrupt, err)
		}
		if id.Minor > protocol.Minor {
			return fmt.Errorf("%w: its cluster has agreed on protocol %s, this program has %s: use the release of the other nodes of cluster %q",
				ErrVersion, protocol.Name(id.Minor), protocol.Name(protocol.Minor), id.Cluster)
		}
		if !expected {
			return fmt.Errorf("%w: that of %q: ask a running node with --to", ErrMember, id.Cluster)
		}
		m.Store(id)
	}
	return nil
}

// rowSequence holds a stamp that is greater than all in use.
var rowSequence = keyspace.LocalKey("sequence")

// sequence returns stamps, each once, even across crashes. If a stamp passes the stored limit, its
// batch must raise the limit.
//
// Invariant: every stamp in the store is less than limit, and next <= limit.
type sequence struct {
	epoch uint64
	next  uint64
	limit uint64
}

// reserveStamps is the step by which the limit is raised.
const reserveStamps = 1 << 16

// firstEpoch is the epoch of a store that was never part of a cluster.
const firstEpoch = 1

func (q *sequence) read(db *database.Database) error {
	*q = sequence{epoch: firstEpoch, next: 1, limit: 1}
	value, err := db.Value(rowSequence)
	if err != nil || value == nil {
		return err
	}
	stamp, err := keyspace.ParseStamp(value)
	if err != nil {
		return err
	}
	*q = sequence{epoch: stamp.Epoch, next: stamp.Sequence, limit: stamp.Sequence}
	return nil
}

// outgrow makes later stamps greater than all stamps of an epoch. Other machines made those, so
// this is needed once for each epoch.
func (q *sequence) outgrow(epoch uint64, batch *pebble.Batch) error {
	if epoch < q.epoch {
		return nil
	}
	*q = sequence{epoch: epoch + 1, next: 1, limit: 1}
	return batch.Set(rowSequence, keyspace.AppendStamp(nil, triple.Stamp{Epoch: q.epoch, Sequence: q.limit}), nil)
}

// last returns a stamp that no stamp in use exceeds.
func (q *sequence) last() triple.Stamp { return triple.Stamp{Epoch: q.epoch, Sequence: q.next - 1} }

// take returns the next stamp for rows of batch.
func (q *sequence) take(batch *pebble.Batch) (triple.Stamp, error) {
	stamp, row := q.takeRow()
	if row == nil {
		return stamp, nil
	}
	return stamp, batch.Set(rowSequence, row, nil)
}

// takeRow returns the next stamp. If row is not nil, it must become the row of rowSequence together
// with the rows of the stamp.
func (q *sequence) takeRow() (stamp triple.Stamp, row []byte) {
	if q.next == q.limit {
		q.limit += reserveStamps
		row = keyspace.AppendStamp(nil, triple.Stamp{Epoch: q.epoch, Sequence: q.limit})
	}
	stamp = triple.Stamp{Epoch: q.epoch, Sequence: q.next}
	q.next++
	return stamp, row
}
