// The triples of bulk loads, in place of the loads.

package changes

import (
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// expandLoads sends the triples of each load of a batch, without a position, because a client that
// continues after a broken connection must get all of them again. The loads stay in the batch behind
// their triples. A triple that was changed since the load is left out: its later change follows.
func (s *stream) expandLoads(b *feed.Batch) error {
	if !s.expand {
		return nil
	}
	kinds := s.request.Filter.Kinds
	if len(kinds) > 0 && !slices.Contains(kinds, feed.Add) {
		return nil
	}
	for i := range b.Changes {
		if c := &b.Changes[i]; c.Kind == feed.Load {
			if err := s.expandLoad(b, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// expandLoad sends the triples of one load that the filter selects.
func (s *stream) expandLoad(b *feed.Batch, load *feed.Change) error {
	// 1. The rows of the filter.
	filter := s.request.Filter
	filter.Kinds = nil
	m, err := feed.NewMatcher(filter)
	if err != nil {
		return err
	}
	sn, err := s.api.Store.Reader()
	if err != nil {
		return err
	}
	defer sn.Close()
	rows := sn.Match(s.r.Context(), filter.Pattern, store.ReadOptions{})
	if filter.Bounds != nil {
		rows = sn.Range(s.r.Context(), *filter.Bounds, store.ReadOptions{})
	}
	// 2. Send them in parts.
	part := feed.Batch{Time: b.Time}
	size := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		v, err := triple.DecodeValue(row.Value)
		if err != nil {
			return err
		}
		// The rows of a small load may lie far apart, and a client takes silence for a broken
		// connection.
		if time.Since(s.sent) >= s.request.Heartbeat {
			if err := s.write(&feed.Batch{Time: time.Now()}, s.position); err != nil {
				return err
			}
		}
		if !load.HasRow(v.Stamp) {
			continue
		}
		t, err := row.Triple()
		if err != nil {
			return err
		}
		c := feed.Change{Kind: feed.Add, Stamp: load.Stamp, Sequencer: load.Sequencer}
		var long bool
		if c.Key, long = triple.AppendKey(nil, triple.SPO, t); long {
			c.Long = triple.AppendValue(nil, load.Stamp, t)
		}
		if ok, err := m.Match(&c); err != nil {
			return err
		} else if !ok {
			continue
		}
		part.Changes = append(part.Changes, c)
		if size += len(c.Key) + len(c.Long); size >= batchBytes {
			if err := s.write(&part, ""); err != nil {
				return err
			}
			part.Changes, size = part.Changes[:0], 0
		}
	}
	if len(part.Changes) == 0 {
		return nil
	}
	return s.write(&part, "")
}
