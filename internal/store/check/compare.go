// The comparison of orders in a check.

package check

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// comparison is two sets of rows that must be equal: the rows of SPO, or of its named graphs, and
// the rows of another order.
type comparison struct {
	other triple.Order
	named bool
	want  *recovery.Digest
	got   *recovery.Digest
}

// compare compares the digests of the orders, and reports the triples that differ.
func (c *checker) compare() error {
	spo, ok := c.digests[triple.SPO]
	if !ok {
		return nil // SPO was unreadable, and is a problem already
	}
	for _, o := range []triple.Order{triple.POS, triple.OSP, triple.GSPO} {
		got, ok := c.digests[o]
		if !ok {
			continue
		}
		cmp := comparison{other: o, want: spo, got: got}
		if o == triple.GSPO {
			cmp.named, cmp.want = true, c.named
		}
		if differ := recovery.Diff(cmp.want, cmp.got); len(differ) > 0 {
			if err := c.locate(cmp, differ); err != nil {
				return err
			}
		}
	}
	return nil
}

// locateRows limits the rows in memory during locate.
const locateRows = 200_000

// locate reads both sides of a comparison again. Of the differing buckets it keeps the rows of one
// side only.
func (c *checker) locate(cmp comparison, differ []int) error {
	// 1. Choose buckets until the rows would take too much memory.
	wanted := map[int]bool{}
	rows := int64(0)
	for i, at := range differ {
		if rows += cmp.want.BucketRows(at) + cmp.got.BucketRows(at); rows > locateRows && i > 0 {
			c.problem(cmp.other, "", "%d of %d buckets of rows differ from those of spo; the first %d are looked into", len(differ), 1<<digestBuckets, i)
			break
		}
		wanted[at] = true
	}
	// 2. Read both sides. If both have a row, it is removed again.
	odd := map[recovery.Hash]oddRow{}
	d := recovery.NewDigest(c.secret, digestBuckets)
	collect := func(o triple.Order, named bool) error {
		_, err := c.rows(o, func(key, value []byte) error {
			hash, err := d.Hash(key, value)
			if err != nil || !wanted[d.Bucket(hash)] {
				return nil // if a row does not decode, it is a problem already
			}
			version := key
			if triple.IsAnnotation(value) {
				version, _, _ = triple.CutAnnotation(key)
			}
			if _, terms, err := triple.SplitKey(version); err != nil || named && len(terms[triple.Graph]) == 0 {
				return nil
			}
			if old, ok := odd[hash]; ok && old.order != o {
				delete(odd, hash)
			} else {
				odd[hash] = oddRow{o, bytes.Clone(key), bytes.Clone(value)}
			}
			return nil
		})
		return err
	}
	if err := collect(triple.SPO, cmp.named); err != nil {
		return err
	}
	if err := collect(cmp.other, false); err != nil {
		return err
	}
	// 3. The rest are the differences.
	c.reportOdd(cmp, odd)
	return nil
}

// oddRow is a row of only one side of a comparison.
type oddRow struct {
	order      triple.Order
	key, value []byte
}

// reportOdd reports each odd row as a problem, in the order of the triples.
func (c *checker) reportOdd(cmp comparison, odd map[recovery.Hash]oddRow) {
	rows := make([]oddRow, 0, len(odd))
	for _, row := range odd {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b oddRow) int { return bytes.Compare(a.key, b.key) })
	for _, row := range rows {
		lacking := cmp.other
		if row.order == cmp.other {
			lacking = triple.SPO
		}
		version, what := row.key, "the triple"
		value := row.value
		if triple.IsAnnotation(row.value) {
			var id []byte
			version, id, _ = triple.CutAnnotation(row.key)
			what, value = fmt.Sprintf("the annotation of %q", id), nil
		}
		stamp := ""
		if v, err := triple.DecodeValue(row.value); err == nil {
			stamp = fmt.Sprintf(" with stamp (%d, %d)", v.Stamp.Epoch, v.Stamp.Sequence)
		}
		c.problem(lacking, describe(version, value), "%s%s is in %s and not in %s", what, stamp, row.order, lacking)
	}
}
