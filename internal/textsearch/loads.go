// The literals of small bulk loads: the feed has a load as one change, and its rows have the load's stamp.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

const (
	// maxLoadRows is how many rows of a bulk load are taken in. After a larger load the predicate is built again.
	maxLoadRows = 100_000
	// maxLoadBytes bounds the literals of bulk loads that a search takes in, because it waits for them. With more of
	// them the predicate is built again.
	maxLoadBytes = 4 << 20
)

var (
	// errLargeLoad means that bulk loads have more literals of a predicate than a search takes in.
	errLargeLoad = errors.New("a large bulk load")
	// errAllRows means that all rows of the loads are read.
	errAllRows = errors.New("all rows of the bulk loads are read")
)

// takeLoads adds the documents of small bulk loads to the changes. The rows of a predicate are read once for all loads.
func (x *Index) takeLoads(ctx context.Context, s *state, c *changes) error {
	for _, p := range s.predicates {
		stamps, rows := c.loadsOf(p)
		if len(stamps) == 0 || s.complete[p] == 0 || c.again[p] {
			continue
		}
		err := x.takeRows(ctx, c, p, stamps, rows)
		if errors.Is(err, errLargeLoad) {
			c.again[p] = true
			continue
		}
		if err != nil && !errors.Is(err, errAllRows) {
			return fmt.Errorf("read the literals of a bulk load: %w", err)
		}
	}
	return nil
}

// loadsOf returns the stamps of the rows of the loads that may have a predicate. rows bounds their number.
func (c *changes) loadsOf(predicate string) (stamps []triple.Stamp, rows int64) {
	for i := range c.loads {
		if load := &c.loads[i]; load.Load.Predicates.MayHave(triple.NewIRI(predicate)) {
			stamps = append(stamps, load.RowStamps()...)
			rows += load.Load.Predicates[predicate]
		}
	}
	return stamps, rows
}

// takeRows records the literals of a predicate whose rows have one of some stamps. It ends when it has found all rows.
func (x *Index) takeRows(ctx context.Context, c *changes, predicate string, stamps []triple.Stamp, rows int64) (err error) {
	r, err := x.Node.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	bytes := 0
	return eachRow(ctx, r, predicate, func(key, value []byte) error {
		// 1. Most rows are of no load, so the stamp comes first.
		v, err := triple.DecodeValue(value)
		if err != nil || !slices.Contains(stamps, v.Stamp) {
			return err
		}
		text, err := textOf(key, value)
		if err != nil {
			return err
		}
		// 2. Record the literal.
		if text != nil {
			if bytes += len(text); bytes > maxLoadBytes {
				return errLargeLoad
			}
			c.record(documentKey{predicate, string(text)}, false)
		}
		if rows--; rows == 0 {
			return errAllRows
		}
		return nil
	})
}
