// Restoring a chain into a store, archive by archive.

package backup

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// maxSeen bounds the triples that a restorer remembers behind the end of a restore.
const maxSeen = 4 << 20

// restorer applies a chain to a store.
type restorer struct {
	ctx    context.Context
	open   func() (Target, error) // opens the store, before the first archive with chunks
	unpack func(io.Reader) error  // restores an archive of files
	until  Until
	memory int64 // for bulk loads; 0 is their default

	last    *Info // the archive before; nil at the begin
	reached bool  // the last archive has all changes up to until
	pending pending
	// system has the changes of the system graph. They are applied last, because functions and
	// subscriptions of a store that runs would take the restored triples for changes.
	system pending
	total  Counts

	// loaded is set if a load of the present archive is restored. seen then has the triples that were
	// changed behind until, and later is set if another load is there.
	loaded, later bool
	seen          map[[16]byte]struct{}
}

func newRestorer(ctx context.Context, o Options) *restorer {
	s := &restorer{ctx: ctx, until: o.Until, memory: o.Memory}
	s.system.whole = true
	return s
}

// archive applies the next archive of the chain, which must not have files.
func (s *restorer) archive(r *reader) error {
	// 1. The archive must be the next one of the chain.
	if err := s.follows(Info{Full: r.header.From == "", From: r.from}); err != nil {
		return err
	}
	s.loaded, s.later, s.seen = false, false, nil
	s.pending.begin()
	full := s.last == nil
	if full {
		summary, err := s.rows(r, kindRows)
		if err != nil {
			return err
		}
		s.total.Triples += summary.New
		s.total.Annotations += summary.Annotations
	}
	// 2. Apply the changes. Those of a full archive belong to its state.
	for r.kind != "" {
		if r.kind != kindChanges {
			return fault.Backup("chunk %d has rows, but no load is before it", r.chunks)
		}
		var load, restored bool
		err := eachChange(r.chunk, func(c *feed.Change, at moment) error {
			if load {
				return fault.Backup("changes follow a load in chunk %d", r.chunks)
			}
			load = c.Kind == feed.Load
			has, err := s.until.has(c, at)
			if restored = full || has; err != nil {
				return err
			}
			if has && s.later && !load && !s.until.Time.IsZero() {
				return fmt.Errorf("%w: a bulk load before some changes has a later time than they, because clocks differ: name a position", ErrUntil)
			}
			if restored {
				return s.apply(c)
			}
			return s.checkLater(c)
		})
		if err == nil {
			err = r.next()
		}
		if err == nil && load {
			err = s.load(r, restored)
		}
		if err != nil {
			return err
		}
	}
	if err := s.pending.flush(s.ctx); err != nil {
		return err
	}
	// 3. Now the whole archive is verified, and its trailer is known.
	info := r.info()
	if full {
		if err := s.until.checkFull(info); err != nil {
			return err
		}
	}
	s.last, s.reached = &info, s.until.covers(info)
	return nil
}

// follows returns an error if an archive does not begin where the one before ends.
func (s *restorer) follows(next Info) error {
	switch {
	case s.last == nil && !next.Full:
		return fmt.Errorf("%w: the chain must begin with a full backup, and this is an increment", store.ErrInvalid)
	case s.last == nil:
	case next.Full:
		return fmt.Errorf("%w: a second full backup in the chain", store.ErrInvalid)
	case !equal(next.From, s.last.End):
		return fmt.Errorf("%w: the increment does not continue the backup before it: it begins at %s, and that one ends at %s", store.ErrInvalid, next.From, s.last.End)
	}
	return nil
}

// rows loads the chunks of a kind. There may be none.
func (s *restorer) rows(r *reader, k kind) (n struct{ New, Annotations int64 }, err error) {
	if r.kind != k {
		return n, nil
	}
	aside := func(c *feed.Change, t triple.Triple) (bool, error) {
		if !systemgraph.Contains(t) || systemgraph.IsLink(t) { // UIDs are many, and nothing runs by them
			return false, nil
		}
		if c.Kind == feed.Add {
			n.New++
		} else {
			n.Annotations++
		}
		return true, s.system.add(s.ctx, c)
	}
	summary, err := s.bulk(r, aside)
	n.New += summary.New
	n.Annotations += summary.Annotations
	return n, err
}

// apply applies a change, except the rows of a Load.
func (s *restorer) apply(c *feed.Change) error {
	switch c.Kind {
	case feed.Load:
		s.total.Loads++
		return s.pending.flush(s.ctx)
	case feed.Clear:
		s.total.Changes++
		if c.Clear.All || slices.Contains(c.Clear.Graphs, systemgraph.Graph) {
			s.system.forget()
		}
		return s.pending.clearGraphs(s.ctx, c.Clear)
	}
	s.total.Changes++
	return s.change(c)
}

// change applies a change of a triple, or keeps it for the end if it is of the system graph.
func (s *restorer) change(c *feed.Change) error {
	t, err := c.Triple()
	switch {
	case err != nil:
		return fault.Backup("%w", err)
	case systemgraph.Contains(t) && !systemgraph.IsLink(t):
		return s.system.add(s.ctx, c)
	}
	return s.pending.add(s.ctx, c)
}

// finish ends the restore: it applies the changes of the system graph.
func (s *restorer) finish() error {
	if err := s.end(); err != nil {
		return err
	}
	s.system.to = s.pending.to
	return s.system.flush(s.ctx)
}

// load applies the rows behind a Load, or skips them.
func (s *restorer) load(r *reader, restored bool) error {
	if restored {
		s.loaded, s.pending.loaded = true, true
		summary, err := s.rows(r, kindLoad)
		s.total.LoadRows += summary.New
		return err
	}
	for r.kind == kindLoad {
		if err := r.next(); err != nil {
			return err
		}
	}
	return nil
}

// checkLater looks at a change behind the end of the restore. If the first one of a triple is a Delete or
// an Annotate, the triple existed at the end. It may be one of a load before the end, whose rows were
// read after the delete.
func (s *restorer) checkLater(c *feed.Change) error {
	s.later = s.later || c.Kind == feed.Load
	switch {
	case !s.loaded:
		return nil
	case c.Sequencer != 0:
		// An add in a cluster may change nothing, and still give the row of a load its own stamp. So the
		// rows of the load are not all there, and such a change does not tell whether the triple existed.
		return fmt.Errorf("%w: it lies between a bulk load and the end of the backup with it, and the backup of a cluster has the load only as of its end", ErrUntil)
	case c.Kind == feed.Load:
		return fmt.Errorf("%w: it lies between two bulk loads in one backup, and that backup has triples of both only as of the second", ErrUntil)
	case c.Kind == feed.Clear:
		return fmt.Errorf("%w: it lies between a bulk load and the clearing of graphs in one backup, and that backup may lack rows of the load", ErrUntil)
	}
	// 1. Look only at the first change of each triple.
	sum := sha256.Sum256(c.Key)
	id := [16]byte(sum[:])
	if _, ok := s.seen[id]; ok {
		return nil
	}
	if len(s.seen) == maxSeen {
		return fmt.Errorf("%w: between a bulk load before it and the end of that backup, more than %d triples were changed", ErrUntil, maxSeen)
	}
	if s.seen == nil {
		s.seen = make(map[[16]byte]struct{})
	}
	s.seen[id] = struct{}{}
	if c.Kind == feed.Add {
		return nil
	}
	// 2. To add a triple that exists changes nothing.
	existed := *c
	existed.Kind, existed.Annotation = feed.Add, nil
	return s.change(&existed)
}

// end returns an error if the chain does not reach until.
func (s *restorer) end() error {
	switch {
	case s.last == nil:
		return fmt.Errorf("%w: no backup", store.ErrInvalid)
	case s.until.isEnd() || s.reached:
		return nil
	case !s.until.Time.IsZero():
		return fmt.Errorf("%w: the chain ends before it, at %s", ErrUntil, s.last.Complete.UTC().Format("2006-01-02T15:04:05.999Z07:00"))
	}
	return fmt.Errorf("%w: the chain ends before it, at position %s", ErrUntil, s.last.End)
}
