// The coordinator: the sink for package rdfload.

package loads

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// sink implements [rdfload.Sink] and its [rdfload.Spread], for one load.
type sink struct {
	loads *Loads

	// Of Begin:
	ctx    context.Context // of the load, and ends with Loads
	end    context.CancelFunc
	id     string
	number uint64
	common []byte // the value of rows without long terms

	// Of Place:
	router *router
	place  string // of the view
	tables string // name of the tables: place, and a random part if they had to be made again
	spoilt string // name of tables that are lost
	split  bool   // the cluster was split for the load, if it was to be
	tries  int    // tries for this place

	last atomic.Pointer[error] // the last reason to drop tables
}

// maxTries bounds how often the tables of one place are made before the load fails.
const maxTries = 20

// Dir implements [rdfload.Sink].
func (s *sink) Dir() string { return s.loads.options.Dir }

// Room implements [rdfload.Sink].
func (s *sink) Room(bytes int64) error { return s.loads.store.Sink().Room(bytes) }

// Begin implements [rdfload.Sink]. It returns when the load has its number. If this member is
// isolated, it returns [store.ErrUnavailable]. Then a new load has done nothing, and its document
// need not be read. If the load has begun before, Begin waits for a leader.
func (s *sink) Begin(ctx context.Context, id string) (start rdfload.Start, err error) {
	l := s.loads
	begin := view.LoadBegin{ID: id, Coordinator: l.self.Machine, Incarnation: l.self.Incarnation}
	l.count(id, 1)
	// 1. The context of the load ends with ctx, with Close, or with its end.
	inner, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(l.ctx, func() { cancel(store.ErrClosed) })
	context.AfterFunc(inner, func() { l.count(id, -1) })
	// 2. Wait until a view has the load with this process as its coordinator, or as published.
	err = l.untilOr(inner, true, func(*view.View) view.Wishes { return view.Wishes{Begin: []view.LoadBegin{begin}} }, func(v *view.View) (bool, error) {
		load := v.Load(id)
		if load == nil && len(v.Loads) >= view.MaxLoads {
			return false, fmt.Errorf("%w: the cluster has had %d bulk loads, the maximum: add small documents as updates instead, "+
				"or move to a new cluster by a backup, with many files in one load", store.ErrTooLarge, len(v.Loads))
		}
		if load == nil || load.Epoch == 0 && (load.Coordinator != begin.Coordinator || load.Incarnation != begin.Incarnation) {
			return false, nil
		}
		if load.Epoch != 0 {
			start.Published = recordOf(load)
			return v.Published(load), nil // if it is ingested, readers see it soon
		}
		s.number = load.Number
		return true, nil
	})
	if err != nil || start.Published != nil {
		cancel(nil)
	}
	if err != nil {
		return rdfload.Start{}, fmt.Errorf("begin load %q: %w", id, err)
	}
	start.Stamp, start.Spread = replica.LoadStamp(s.number), s
	s.ctx, s.id, s.end = inner, id, func() { cancel(nil) }
	s.common = (&triple.Value{Stamp: start.Stamp}).Append(nil)
	return start, nil
}

func recordOf(l *view.Load) *rdfload.Record {
	return &rdfload.Record{ID: l.ID, Read: l.Read, New: l.New, Duplicates: l.Read - l.New, Rejected: l.Rejected, Predicates: l.Predicates}
}

// Place implements [rdfload.Spread]. It waits for an idle view.
func (s *sink) Place(ctx context.Context, sample rdfload.Sample) (string, error) {
	l := s.loads
	if !s.split {
		if err := s.presplit(ctx, sample); err != nil {
			return "", fmt.Errorf("split the space for load %q: %w", s.id, err)
		}
		s.split = true
	}
	// 1. Wait for an idle view. If its placement is new, tables get a new name and new tries.
	err := l.waitView(ctx, nil, func(v *view.View) (bool, error) {
		if v.Phase != recovery.Idle {
			return false, nil
		}
		if s.place != v.Place() {
			s.place, s.tables, s.tries = v.Place(), v.Place(), 0
			s.router = newRouter(v)
		}
		return true, nil
	})
	if err != nil {
		return "", err
	}
	// 2. Bound the tries; if tables of this name are lost, choose another name.
	if s.tries++; s.tries > maxTries {
		if why := s.last.Load(); why != nil {
			err = *why
		}
		return "", fmt.Errorf("load %q: tables were lost %d times: %w", s.id, maxTries, errors.Join(store.ErrUnavailable, err))
	}
	if s.tables == s.spoilt {
		s.tables = s.place + "-" + rand.Text()[:8]
	}
	return s.tables, nil
}

// moved reports whether the tables of this place are void, because data moves.
func (s *sink) moved() bool {
	v := s.loads.member.View()
	return v.Phase != recovery.Idle || v.Place() != s.place
}

// giveUp returns an error. After it rdfload must make the tables again.
func (s *sink) giveUp(why error) error {
	s.last.Store(&why)
	s.loads.options.Logger.Info("tables of a load are made anew", "load", s.id, "reason", why)
	return fmt.Errorf("%w: %w", rdfload.ErrMoved, why)
}

// End implements [rdfload.Spread]. If the load is not kept, it asks the leader to drop it.
func (s *sink) End(id string, kept bool) {
	s.end()
	if kept {
		return
	}
	l := s.loads
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // the next process finds no runs, and asks the leader
	}
	l.running.Go(func() {
		gone := func(v *view.View) (bool, error) {
			load := v.Load(id)
			return load == nil || load.Epoch != 0, nil
		}
		_ = l.waitView(l.ctx, func(*view.View) view.Wishes { return view.Wishes{Drop: []string{id}} }, gone)
	})
}

// Publish implements [rdfload.Sink].
func (s *sink) Publish(ctx context.Context, record rdfload.Record, tables []string) error {
	// 1. Every machine seals its tables.
	seals, err := s.seals(tables)
	if err != nil {
		return fmt.Errorf("publish load %q: %w", record.ID, err)
	}
	var group sync.WaitGroup
	errs := make([]error, len(seals))
	for at, seal := range seals {
		group.Go(func() { errs[at] = s.seal(s.router.ring[at], seal) })
	}
	group.Wait()
	for _, err := range errs {
		if errors.Is(err, errGone) {
			s.spoilt = s.tables
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("publish load %q: %w", record.ID, err)
	}
	// 2. The leader publishes the load.
	err = s.show(ctx, record)
	if err == nil {
		s.end()
	}
	return err
}

// seals returns the seal of each machine of the ring: its parts of the tables.
func (s *sink) seals(tables []string) ([]replica.Seal, error) {
	seals := make([]replica.Seal, len(s.router.ring))
	for i := range seals {
		seals[i] = replica.Seal{Load: s.id, Number: s.number, Place: s.tables}
	}
	for _, path := range tables {
		parts, err := readParts(path)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			at := s.router.place(p.Machine)
			if at < 0 {
				return nil, s.giveUp(fmt.Errorf("machine %s is no member", p.Machine))
			}
			seals[at].Files = append(seals[at].Files, p.StagedFile)
		}
	}
	return seals, nil
}

func (s *sink) seal(machine trie.MachineID, seal replica.Seal) error {
	if machine == s.loads.self.Machine {
		err := s.loads.store.Staging().Seal(seal)
		if errors.Is(err, store.ErrInvalid) {
			return s.giveUp(fmt.Errorf("%w: %w", errGone, err))
		}
		return err
	}
	body, err := json.Marshal(seal)
	if err != nil {
		return err
	}
	_, err = s.call(s.ctx, machine, methodSeal, body)
	return err
}

// show asks the leader to publish the load, and returns when readers see it.
func (s *sink) show(ctx context.Context, record rdfload.Record) error {
	wished := false
	publish := view.LoadPublish{ID: s.id, Place: s.place, Tables: s.tables, Read: record.Read, New: record.New, Rejected: record.Rejected, Time: time.Now().UnixMilli(), Predicates: record.Predicates}
	// 1. Send the wish under each view, because the leader ignores wishes of earlier ones.
	wish := func(v *view.View) view.Wishes {
		if load := v.Load(s.id); load.Epoch != 0 {
			return view.Wishes{} // under way
		}
		wished = true
		publish.Epoch = v.Epoch
		return view.Wishes{Publish: []view.LoadPublish{publish}}
	}
	// 2. Wait until a view has published the load, or it cannot be published any more.
	err := s.loads.waitView(ctx, wish, func(v *view.View) (bool, error) {
		load := v.Load(s.id)
		switch {
		case load == nil:
			return false, errors.New("the cluster has given the load up")
		case load.Epoch != 0:
			return v.Published(load), nil
		case v.Phase != recovery.Idle || v.Place() != s.place:
			// The leader ignores wishes of earlier views.
			return false, s.giveUp(errors.New("data moves"))
		}
		return false, nil
	})
	// 3. If the leader got the request, it may still publish the load: the outcome is unknown.
	if err == nil || errors.Is(err, rdfload.ErrMoved) || !wished {
		return err
	}
	return fmt.Errorf("publish load %q: %w: %w", s.id, store.ErrUnknown, err)
}
