// The number of triples that no user's count meets: UIDs and hosts of links.

package store

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// linkOptions bound the rows of UIDs and hosts in SPO. Rows of other graphs may be among them.
func linkOptions() *pebble.IterOptions {
	lower, upper := keyspace.StorageBounds(systemgraph.LinkRanges[triple.SPO])
	return &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
}

// isLinkRow reports whether an iterator is at the row of a UID or a host.
func isLinkRow(it *pebble.Iterator) (bool, error) {
	value, err := it.ValueAndErr()
	return err == nil && !triple.IsTombstone(value) && !triple.IsAnnotation(value) && systemgraph.IsLinkKey(it.Key()[1:]), err
}

// newLinks counts the rows of UIDs and hosts in tables that are to be ingested, if the store does not hold them. Keys
// of different tables must not overlap.
func (c *Committer) newLinks(tables []string) (n int64, err error) {
	held, err := c.db.NewIter(linkOptions())
	if err != nil {
		return 0, err
	}
	defer held.Close()
	// One table is open at a time, because a large load has thousands.
	for _, path := range tables {
		some, err := c.newLinksOf(path, held)
		if err != nil {
			return 0, err
		}
		n += some
	}
	return n, held.Error()
}

// newLinksOf is newLinks of one table. held iterates over the rows of the store.
func (c *Committer) newLinksOf(path string, held *pebble.Iterator) (n int64, err error) {
	// 1. The rows are in one range, so a table without UIDs costs a seek.
	loaded, err := c.db.TableRows(path, linkOptions())
	if err != nil {
		return 0, err
	}
	defer loaded.Close()
	for valid := loaded.First(); valid; valid = loaded.Next() {
		link, err := isLinkRow(loaded)
		if err != nil {
			return 0, err
		}
		if !link {
			continue
		}
		// 2. A row that is held and live is replaced, so it is not new. The seeks ascend.
		n++
		if held.SeekGE(loaded.Key()) && bytes.Equal(held.Key(), loaded.Key()) {
			if link, err = isLinkRow(held); err != nil {
				return 0, err
			}
			if link {
				n--
			}
		}
	}
	return n, loaded.Error()
}
