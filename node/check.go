package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// CheckReport is what [Store.Check] found. No problem is a store in order.
type CheckReport struct {
	Rows        map[string]int64 `json:"rows"` // versions by order
	Triples     int64            `json:"triples"`
	Annotations int64            `json:"annotations"`
	Problems    []Problem        `json:"problems"`
	More        int64            `json:"more"` // problems beyond those listed
}

// Problem is one thing that is not as it must be.
type Problem struct {
	Machine string `json:"machine,omitempty"` // of a cluster, the one that is wrong
	Order   string `json:"order,omitempty"`   // the order that is wrong
	Triple  string `json:"triple,omitempty"`  // N-Quads, where one triple is concerned
	Message string `json:"message"`
}

// maxProblems is how many problems a report lists.
const maxProblems = 100

// Check verifies a snapshot of the store: that its segments are in order; that
// every row of every order decodes, and is the one form of its triple; that every
// annotation stands beside a version; and that all orders hold the same versions
// and annotations. It reads all there is, each order once, in constant memory;
// where orders differ, once more, to name the triples. A file that is damaged is
// a problem, and the order that needs it is compared no further.
//
// A member of a cluster holds some rows of each order, so that its orders need
// not agree: they are not compared, and the replica table is verified too.
func (s *Store) Check(ctx context.Context) (CheckReport, error) {
	c := checker{ctx: ctx, digests: map[triple.Order]*recovery.Digest{}}
	c.report = CheckReport{Rows: map[string]int64{}, Problems: []Problem{}}
	sn, err := s.Snapshot()
	if err != nil {
		return c.report, wrap("check", err)
	}
	defer sn.Close()
	c.sn = sn
	c.layout(s.layout.Load())
	rand.Read(c.secret[:]) // never fails
	c.named = recovery.NewDigest(c.secret, checkBuckets)
	_, isMember := s.Identity()
	for _, o := range triple.Orders {
		if err := c.pass(o); err != nil {
			return c.report, wrap("check", err)
		}
	}
	if isMember {
		err = c.replicas()
	} else {
		err = c.compare()
	}
	return c.report, wrap("check", err)
}

// checkBuckets is the binary logarithm of the buckets of a digest: 1.5 MiB each.
const checkBuckets = 16

// checker is one run of Check.
type checker struct {
	ctx     context.Context
	sn      *Snapshot
	report  CheckReport
	secret  recovery.Secret
	digests map[triple.Order]*recovery.Digest // of the orders that could be read
	named   *recovery.Digest                  // of the rows of SPO that GSPO must hold
	key     []byte
	value   []byte
}

func (c *checker) problem(o triple.Order, row string, format string, args ...any) {
	if len(c.report.Problems) == maxProblems {
		c.report.More++
		return
	}
	p := Problem{Triple: row, Message: fmt.Sprintf(format, args...)}
	if o.Valid() {
		p.Order = o.String()
	}
	c.report.Problems = append(c.report.Problems, p)
}

func (c *checker) layout(l *layout) {
	if err := l.trie.Check(); err != nil {
		c.problem(0, "", "segments: %v", err)
	}
	if err := l.placement.CheckTrie(l.trie); err != nil {
		c.problem(0, "", "placement: %v", err)
	}
}

// rows calls do with every row of an order, annotations and tombstones too. It
// returns false where a file is damaged, which it adds to the problems.
func (c *checker) rows(o triple.Order, do func(key, value []byte) error) (complete bool, err error) {
	return c.tableRows(tableStorage, o, do)
}

// tableRows is rows, of any table.
func (c *checker) tableRows(table byte, o triple.Order, do func(key, value []byte) error) (complete bool, err error) {
	lower, upper := tableBounds(table, triple.OrderRange(o))
	it, err := c.sn.pebble.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return false, err
	}
	defer it.Close()
	moves := 0
	for valid := it.First(); valid; valid = it.Next() {
		if moves++; moves%checkMoves == 0 {
			if err := c.ctx.Err(); err != nil {
				return false, err
			}
			if c.sn.store.uses.closing.Load() {
				return false, ErrClosed
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

// damaged makes of an error that says that a file is damaged a problem, and
// returns any other.
func (c *checker) damaged(o triple.Order, err error) error {
	if err = wrap("read", err); errors.Is(err, ErrCorrupt) {
		c.problem(o, "", "%v", err)
		return nil
	}
	return err
}

// pass verifies the rows of an order one by one and makes its digest.
func (c *checker) pass(o triple.Order) error {
	d := recovery.NewDigest(c.secret, checkBuckets)
	rows := int64(0)
	complete, err := c.rows(o, func(key, value []byte) error {
		hash, _, err := d.Add(key, value)
		if err != nil {
			c.problem(o, "", "row %q: %v", clip(key), err)
			return nil
		}
		version := key
		if triple.IsAnnotation(value) {
			if version, err = c.checkAnnotation(tableStorage, o, key, value); err != nil {
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
	if complete {
		c.digests[o] = d
	}
	return nil
}

// replicas verifies the rows of the replica table one by one.
func (c *checker) replicas() error {
	_, err := c.tableRows(tableReplica, triple.SPO, func(key, value []byte) error {
		if !triple.IsAnnotation(value) {
			c.checkVersion(triple.SPO, key, value)
			return nil
		}
		_, err := c.checkAnnotation(tableReplica, triple.SPO, key, value)
		return err
	})
	return err
}

// checkVersion verifies that a version is exactly what its triple is encoded as:
// that also compares a long term with its hash.
func (c *checker) checkVersion(o triple.Order, key, value []byte) {
	if triple.IsTombstone(value) {
		c.checkTombstone(o, key, value)
		return
	}
	order, t, err := triple.DecodeKey(key, value)
	if err != nil {
		c.problem(o, "", "row %q: %v", clip(key), err)
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
	c.key, _ = triple.AppendKey(c.key[:0], order, t)
	if !bytes.Equal(c.key, key) {
		c.problem(o, t.String(), "its key is %q, not %q", clip(key), clip(c.key))
	}
	c.value = triple.AppendValue(c.value[:0], v.Stamp, t)
	if !triple.SameRow(c.value, value) {
		c.problem(o, t.String(), "its value is %q, not %q", clip(value), clip(c.value))
	}
}

// checkTombstone verifies what can be verified of a tombstone: it has no long
// terms.
func (c *checker) checkTombstone(o triple.Order, key, value []byte) {
	_, terms, err := triple.SplitKey(key)
	if err != nil {
		c.problem(o, "", "row %q: %v", clip(key), err)
		return
	}
	c.key = triple.AppendKeyOf(c.key[:0], o, terms[triple.Subject], terms[triple.Predicate], terms[triple.Object], terms[triple.Graph])
	if !bytes.Equal(c.key, key) {
		c.problem(o, "", "the key of a tombstone is %q, not %q", clip(key), clip(c.key))
	}
	v, err := triple.DecodeValue(value)
	if err != nil {
		c.problem(o, "", "tombstone %q: %v", clip(key), err)
		return
	}
	c.value = (&triple.Value{Stamp: v.Stamp, Tombstone: true}).Append(c.value[:0])
	if !bytes.Equal(c.value, value) {
		c.problem(o, "", "the value of the tombstone %q is %q, not %q", clip(key), clip(value), clip(c.value))
	}
}

// checkAnnotation verifies that an annotation decodes and stands beside a version
// of its table, the key of which it returns.
func (c *checker) checkAnnotation(table byte, o triple.Order, key, value []byte) (version []byte, err error) {
	version, id, ok := triple.CutAnnotation(key)
	if !ok {
		c.problem(o, "", "row %q has an annotation's value and no annotation's key", clip(key))
		return key, nil
	}
	if _, err := triple.DecodeAnnotation(value); err != nil {
		c.problem(o, "", "annotation %q: %v", clip(key), err)
	}
	c.key = append(append(c.key[:0], table), version...)
	held, err := c.sn.get(c.key)
	if err != nil {
		return version, c.damaged(o, err)
	}
	if held == nil || triple.IsTombstone(held) {
		c.problem(o, describe(version, nil), "annotation of %q without its triple", id)
	}
	return version, nil
}

// clip shortens a key or value that goes into a message.
func clip(b []byte) []byte {
	const limitBytes = 120
	return b[:min(len(b), limitBytes)]
}

// describe returns the triple of a key as text, as far as it can be told. Without
// a value, as beside an annotation, that is where no term is long.
func describe(key, value []byte) string {
	if value == nil {
		value = (&triple.Value{}).Append(nil)
	}
	if _, t, err := triple.DecodeKey(key, value); err == nil {
		return t.String()
	}
	return fmt.Sprintf("%q", clip(key))
}
