// The store of one machine in a cluster.

package replica

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// Store is the store of one machine in a cluster, made by [New] or [Open]. Its methods, and the
// methods of the embedded store, are safe for concurrent use.
type Store struct {
	*store.Store
	db *database.Database

	inFlight   inFlight
	log        *batchlog.Log
	loadEpochs loadEpochs
	lastStamps lastStamps
	beats      Beats
	tombstones tombstones
	floors     atomic.Pointer[Floors] // see SetFloors
	mark       atomic.Uint64          // see Mark
	// annotated is set if the store has, or had, annotations. Only commits may use it.
	annotated bool
	starting  sync.Mutex // held while the incarnation is counted
}

// Options are the parameters of [New]. The zero value is ready to use.
type Options struct {
	// Now is the clock of kept batches, see [Store.Logged]. Nil is time.Now.
	Now func() time.Time
}

// New returns an opened store as the store of one machine in a cluster. Nothing else may write to
// it before New returns. The caller must close the store.
func New(s *store.Store, o Options) (*Store, error) {
	db := s.Database()
	r := &Store{Store: s, db: db, loadEpochs: loadEpochs{db: db}, beats: Beats{db: db, beating: make(chan struct{}, 1)}, log: batchlog.New(s.ChangeFeed().Retention(), o.Now)}
	r.inFlight.init()
	if err := r.read(); err != nil {
		return nil, fault.Wrap("open store "+s.Dir(), err)
	}
	return r, nil
}

// Open opens the data directory of one machine in a cluster; see [store.Open] and [New].
func Open(dir string, so store.Options, o Options) (*Store, error) {
	so.Member = true
	s, err := store.Open(dir, so)
	if err != nil {
		return nil, err
	}
	r, err := New(s, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, nil
}

// read reads the local state.
func (s *Store) read() error {
	mark, err := s.db.Number(rowMark)
	if err != nil {
		return err
	}
	s.mark.Store(mark)
	value, err := s.db.Value(rowAnnotated)
	if err != nil {
		return err
	}
	s.annotated = value != nil
	if err := s.loadEpochs.read(); err != nil {
		return err
	}
	return s.inFlight.read(s.db, s.log)
}

// Snapshot is a [store.Snapshot] that compares rows of bulk loads by the epochs in which the
// cluster took them in.
type Snapshot struct {
	*store.Snapshot
	store *Store
}

// Snapshot returns the current state of the store. It has all acknowledged operations.
func (s *Store) Snapshot() (*Snapshot, error) {
	sn, err := s.Store.Snapshot()
	if err != nil {
		return nil, err
	}
	return &Snapshot{sn, s}, nil
}

// Staging returns the staged tables of bulk loads.
func (s *Store) Staging() Staging { return Staging{s} }

// Beats returns the small durable writes that prove that the disk works.
func (s *Store) Beats() *Beats { return &s.beats }

// do runs a job in the committer.
func (s *Store) do(ctx context.Context, doing string, job store.Job) error {
	return fault.Wrap(doing, s.Committer().Do(ctx, job))
}
