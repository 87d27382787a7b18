// The verification of a store.

// Package check verifies the rows of a store: each row by itself, and the orders with each other by
// their digests (package recovery).
package check

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// MaxProblems is the number of problems that a report lists.
const MaxProblems = 100

// Run verifies a snapshot of db. Its segments must be in order. Every row of every order must decode
// and be the one form of its triple. Every annotation must stand beside a row. All orders must hold
// the same rows and annotations. Language tags must be in lower case. Run reads each order once, in
// constant memory. If orders differ, it reads them again to name the triples. A damaged file is a
// problem, and its order is not compared further. The rows of the change feed must decode.
//
// A member of a cluster holds some rows of each order, so its orders need not agree. They are not
// compared, and the replica table is verified, too.
func Run(ctx context.Context, db *database.Database, sn pebble.Reader, layout recovery.Layout, isMember bool) (api.CheckReport, error) {
	c := checker{ctx: ctx, db: db, sn: sn, digests: map[triple.Order]*recovery.Digest{}}
	c.report = api.CheckReport{Rows: map[string]int64{}, Problems: []api.Problem{}}
	c.layout(layout)
	rand.Read(c.secret[:]) // never fails
	c.named = recovery.NewDigest(c.secret, digestBuckets)
	for _, o := range triple.Orders {
		if err := c.pass(o); err != nil {
			return c.report, err
		}
	}
	c.tags()
	if err := c.feed(); err != nil {
		return c.report, err
	}
	if isMember {
		return c.report, c.replicas()
	}
	return c.report, c.compare()
}

// digestBuckets is the binary logarithm of a digest's number of buckets; a digest takes 1.5 MiB.
const digestBuckets = 16

// checker is one call of Run.
type checker struct {
	ctx     context.Context
	db      *database.Database
	sn      pebble.Reader
	report  api.CheckReport
	secret  recovery.Secret
	digests map[triple.Order]*recovery.Digest // of the readable orders
	named   *recovery.Digest                  // of the rows of SPO that GSPO must hold
	tagged  int64                             // triples with capital letters in a language tag
	first   string                            // the first of these
	key     []byte
	value   []byte
}

func (c *checker) problem(o triple.Order, row string, format string, args ...any) {
	if len(c.report.Problems) == MaxProblems {
		c.report.More++
		return
	}
	p := api.Problem{Triple: row, Message: fmt.Sprintf(format, args...)}
	if o.Valid() {
		p.Order = o.String()
	}
	c.report.Problems = append(c.report.Problems, p)
}

func (c *checker) layout(l recovery.Layout) {
	if err := l.Trie.Check(); err != nil {
		c.problem(0, "", "segments: %v", err)
	}
	if err := l.Placement.CheckTrie(l.Trie); err != nil {
		c.problem(0, "", "placement: %v", err)
	}
}

// feed checks that every row of the change feed decodes.
func (c *checker) feed() error {
	it, err := c.sn.NewIter(changefeed.RowBounds())
	if err != nil {
		return err
	}
	defer it.Close()
	for valid := it.First(); valid; valid = it.Next() {
		value, err := it.ValueAndErr()
		if err == nil {
			err = changefeed.CheckRow(it.Key(), value)
		}
		if err != nil {
			c.problem(0, "", "change feed: % X: %v", keyspace.Clip(it.Key()), err)
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		c.problem(0, "", "change feed: %v", err)
	}
	return nil
}

// rows calls do with every row of an order, annotations and tombstones too. complete is false if a
// file is damaged; the damage is added to the problems.
func (c *checker) rows(o triple.Order, do func(key, value []byte) error) (complete bool, err error) {
	return c.tableRows(keyspace.Storage, o, do)
}

// tableRows is rows for any table.
func (c *checker) tableRows(table byte, o triple.Order, do func(key, value []byte) error) (complete bool, err error) {
	lower, upper := keyspace.TableBounds(table, triple.OrderRange(o))
	it, err := c.sn.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return false, err
	}
	defer it.Close()
	// A damaged file ends the pass of this order, but not the check, because the other orders may
	// be sound.
	moves := 0
	for valid := it.First(); valid; valid = it.Next() {
		if moves++; moves%database.CheckMoves == 0 {
			if err := c.ctx.Err(); err != nil {
				return false, err
			}
			if c.db.Closing() {
				return false, fault.ErrClosed
			}
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return false, c.damaged(o, err)
		}
		if err := do(it.Key()[1:], value); err != nil {
			return false, err
		}
	}
	if err := it.Error(); err != nil {
		return false, c.damaged(o, err)
	}
	return true, nil
}

// damaged records err as a problem if it means that a file is damaged. It returns any other error.
func (c *checker) damaged(o triple.Order, err error) error {
	if err = fault.Wrap("read", err); errors.Is(err, fault.ErrCorrupt) {
		c.problem(o, "", "%v", err)
		return nil
	}
	return err
}

// pass verifies the rows of an order one by one and makes its digest.
func (c *checker) pass(o triple.Order) error {
	d := recovery.NewDigest(c.secret, digestBuckets)
	rows := int64(0)
	// 1. Verify each row. A row without a valid hash cannot be compared, so it is a problem by
	// itself.
	complete, err := c.rows(o, func(key, value []byte) error {
		hash, _, err := d.Add(key, value)
		if err != nil {
			c.problem(o, "", "row %q: %v", keyspace.Clip(key), err)
			return nil
		}
		version := key
		if triple.IsAnnotation(value) {
			if version, err = c.checkAnnotation(keyspace.Storage, o, key, value); err != nil {
				return err
			}
			if o == triple.SPO && !triple.IsTombstone(value) {
				c.report.Annotations++
			}
		} else {
			c.checkVersion(o, key, value)
			if !triple.IsTombstone(value) {
				rows++
			}
		}
		// 2. Rows of named graphs have a digest of their own, because GSPO has only those.
		if o == triple.SPO {
			if _, terms, err := triple.SplitKey(version); err == nil && len(terms[triple.Graph]) > 0 {
				c.named.AddHash(hash)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.report.Rows[o.String()] = rows
	if o == triple.SPO {
		c.report.Triples = rows
	}
	// 3. Only a complete order may be compared with others.
	if complete {
		c.digests[o] = d
	}
	return nil
}

// replicas verifies the rows of the replica table one by one.
func (c *checker) replicas() error {
	_, err := c.tableRows(keyspace.Replica, triple.SPO, func(key, value []byte) error {
		if !triple.IsAnnotation(value) {
			c.checkVersion(triple.SPO, key, value)
			return nil
		}
		_, err := c.checkAnnotation(keyspace.Replica, triple.SPO, key, value)
		return err
	})
	return err
}

// checkVersion verifies that a row is exactly the encoding of its triple. This also compares each
// long term with its hash.
func (c *checker) checkVersion(o triple.Order, key, value []byte) {
	// 1. Decode the triple from key and value.
	if triple.IsTombstone(value) {
		c.checkTombstone(o, key, value)
		return
	}
	order, t, err := triple.DecodeKey(key, value)
	if err != nil {
		c.problem(o, "", "row %q: %v", keyspace.Clip(key), err)
		return
	}
	v, err := triple.DecodeValue(value)
	if err != nil {
		c.problem(o, t.String(), "value: %v", err)
		return
	}
	if err := t.Check(); err != nil {
		c.problem(o, t.String(), "%v", err)
	}
	// 2. Encode it again: both must be equal, because a triple has exactly one row in an order.
	c.key, _ = triple.AppendKey(c.key[:0], order, t)
	if !bytes.Equal(c.key, key) {
		c.problem(o, t.String(), "its key is %q, not %q", keyspace.Clip(key), keyspace.Clip(c.key))
	}
	c.value = triple.AppendValue(c.value[:0], v.Stamp, t)
	if !triple.SameRow(c.value, value) {
		c.problem(o, t.String(), "its value is %q, not %q", keyspace.Clip(value), keyspace.Clip(c.value))
	}
	// 3. One order counts the tags of earlier releases, so that each triple counts once.
	if o == triple.SPO && t.Object.Fold() != t.Object {
		if c.tagged++; c.first == "" {
			c.first = t.String()
		}
	}
}

// tags adds one problem for all language tags with capital letters. Every parser makes lower case, so
// patterns, joins and deletes that name these terms miss them.
func (c *checker) tags() {
	if c.tagged > 0 {
		c.problem(0, c.first, "%d triples have a language tag in capital letters, as an earlier release kept it: dump the data and load it into a new store; one is", c.tagged)
	}
}

// checkTombstone verifies a tombstone. It must have no long terms.
func (c *checker) checkTombstone(o triple.Order, key, value []byte) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		c.problem(o, "", "row %q: %v", keyspace.Clip(key), err)
		return
	}
	c.key = triple.AppendKeyOf(c.key[:0], o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
	if !bytes.Equal(c.key, key) {
		c.problem(o, "", "the key of a tombstone is %q, not %q", keyspace.Clip(key), keyspace.Clip(c.key))
	}
	v, err := triple.DecodeValue(value)
	if err != nil {
		c.problem(o, "", "tombstone %q: %v", keyspace.Clip(key), err)
		return
	}
	c.value = (&triple.Value{Stamp: v.Stamp, Tombstone: true}).Append(c.value[:0])
	if !bytes.Equal(c.value, value) {
		c.problem(o, "", "the value of the tombstone %q is %q, not %q", keyspace.Clip(key), keyspace.Clip(value), keyspace.Clip(c.value))
	}
}

// checkAnnotation verifies that an annotation decodes and stands beside a row of its table. It
// returns the key of that row.
func (c *checker) checkAnnotation(table byte, o triple.Order, key, value []byte) (version []byte, err error) {
	version, id, ok := triple.CutAnnotation(key)
	if !ok {
		c.problem(o, "", "row %q has an annotation's value and no annotation's key", keyspace.Clip(key))
		return key, nil
	}
	if _, err := triple.DecodeAnnotation(value); err != nil {
		c.problem(o, "", "annotation %q: %v", keyspace.Clip(key), err)
	}
	c.key = append(append(c.key[:0], table), version...)
	held, err := database.Value(c.sn, c.key)
	if err != nil {
		return version, c.damaged(o, err)
	}
	if held == nil || triple.IsTombstone(held) {
		c.problem(o, describe(version, nil), "annotation of %q without its triple", id)
	}
	return version, nil
}

// describe returns the triple of a key as text if it can. If value is nil, as beside an
// annotation, no term may be long.
func describe(key, value []byte) string {
	if value == nil {
		value = (&triple.Value{}).Append(nil)
	}
	if _, t, err := triple.DecodeKey(key, value); err == nil {
		return t.String()
	}
	return fmt.Sprintf("%q", keyspace.Clip(key))
}
