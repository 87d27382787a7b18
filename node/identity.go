// Which cluster a directory belongs to, and what it has adopted there.

package node

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// Identity says which cluster a data directory belongs to.
type Identity struct {
	Cluster    string `json:"cluster"`
	ClusterID  string `json:"clusterId"`
	Generation uint64 `json:"generation"`
	// Lineage is that of the views which the machine adopts (see package view).
	Lineage string `json:"lineage,omitempty"`
	// Followed is what the machine had adopted of the generation before when it was kept
	// for this one, if that is newer than what this one began from.
	Followed *Seen `json:"followed,omitempty"`
	// Forming: the cluster's first view is being made. It is over when that is adopted.
	Forming bool `json:"forming,omitempty"`
	// Minor is the greatest that the cluster has agreed on: what a build with a smaller one
	// would not know may be in the directory (see package protocol).
	Minor uint64 `json:"minor,omitempty"`
}

// Identity returns the cluster that the directory belongs to; ok is false where
// it belongs to none.
func (s *Store) Identity() (id Identity, ok bool) {
	if p := s.identity.Load(); p != nil {
		return *p, true
	}
	return Identity{}, false
}

// SetIdentity makes the directory that of a member of a cluster, durably: from
// then on rows come by [Store.Deliver] and [Store.Fill] only, all other writes
// are [ErrMember], and so is opening it without Options.Member.
func (s *Store) SetIdentity(id Identity) error {
	if id.Cluster == "" || id.ClusterID == "" {
		return fmt.Errorf("set identity: %w: a cluster has a name and an id", ErrInvalid)
	}
	value, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("set identity: %w", err)
	}
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.setLocal(rowIdentity, value); err != nil {
		return wrap("set identity", err)
	}
	s.identity.Store(&id)
	s.managed.Store(true)
	return nil
}

// chanceBits of an incarnation are by chance, and those above count the starts. A
// disk may come back as it was before the last start: the process that then begins
// counts the same, and must not be taken for the one that was there.
const chanceBits = 24

// NextIncarnation counts a start of the process, durably, and returns a number that
// is greater than those of the starts before it on this disk, and that no other start
// on a copy of it has, but for a chance of one in 16 million.
func (s *Store) NextIncarnation() (uint64, error) {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	n, err := s.number(rowIncarnation)
	if err == nil {
		n = (n>>chanceBits+1)<<chanceBits | rand.Uint64N(1<<chanceBits)
		err = s.setLocal(rowIncarnation, binary.AppendUvarint(nil, n))
	}
	if err != nil {
		return 0, wrap("next incarnation", err)
	}
	return n, nil
}

// Epoch returns the epoch of the stamps that the store would give by itself. No
// row has a greater one. A cluster that begins with this store begins with the
// epoch after it.
func (s *Store) Epoch() uint64 {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.sequence.epoch
}

// setLocal writes a row of local state durably.
func (s *Store) setLocal(row, value []byte) error {
	if s.options.ReadOnly {
		return ErrReadOnly
	}
	if err := s.uses.begin(); err != nil {
		return err
	}
	defer s.uses.end()
	batch := s.db.NewBatch()
	defer batch.Close()
	if err := batch.Set(row, value, nil); err != nil {
		return err
	}
	return s.apply(batch)
}

// eachLocal calls do with the rows of local state whose names begin so, in the
// order of their keys. The slices are valid until it returns.
func (s *Store) eachLocal(prefix string, do func(key, value []byte) error) (err error) {
	lower, upper := localBounds(prefix)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(it.Key(), value); err != nil {
			return err
		}
	}
	return it.Error()
}

// number returns the uvarint in a row of local state, 0 where there is none.
func (s *Store) number(row []byte) (uint64, error) {
	value, err := s.get(row)
	if err != nil || value == nil {
		return 0, err
	}
	n, size := binary.Uvarint(value)
	if size != len(value) {
		return 0, errLocal(value)
	}
	return n, nil
}

// readMembership reads what only a member of a cluster has in its local state.
func (s *Store) readMembership() error {
	value, err := s.get(rowIdentity)
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
		if !s.options.Member {
			return fmt.Errorf("%w: that of %q: ask a running node with --to", ErrMember, id.Cluster)
		}
		s.identity.Store(id)
		s.managed.Store(true)
	}
	mark, err := s.number(rowMark)
	if err != nil {
		return err
	}
	s.mark.Store(mark)
	if value, err = s.get(rowAnnotated); err != nil {
		return err
	}
	s.annotated = value != nil
	if err := s.readLoads(); err != nil {
		return err
	}
	if err := s.readTokens(); err != nil {
		return err
	}
	return s.readUnsettled()
}

// alone returns an error where rows come from the cluster only.
func (s *Store) alone() error {
	if id, ok := s.Identity(); ok {
		return fmt.Errorf("%w: that of %q: only its nodes write here", ErrMember, id.Cluster)
	}
	return nil
}
