// Comparisons of all copies: digests first, then the rows of differing buckets.

package upkeep

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// comparison is one scrub or check, run by one goroutine.
type comparison struct {
	scrubber *scrubber
	view     *view.View
	scan     scanRequest
	repair   bool
	report   Report

	rows        [len(triple.Orders)]int64
	annotations int64
	// problem takes each difference.
	problem func(api.Problem)
}

// run compares all copies.
func (c *comparison) run(ctx context.Context) (err error) {
	rand.Read(c.scan.secret[:]) // never fails
	rows := c.scrubber.store.Status().Triples * int64(len(c.view.Members))
	c.scan.bits = max(4, min(bits.Len64(uint64(rows)/64), maxBucketBits))
	if c.scan.floors, _, err = c.scrubber.purger.fetchBounds(ctx, c.view); err != nil {
		return err
	}
	sums, err := c.digests(ctx)
	if err != nil {
		return err
	}
	return c.locate(ctx, sums)
}

// digests returns the sums of the digests of all members.
func (c *comparison) digests(ctx context.Context) (sums *replica.ScrubDigests, err error) {
	answers, err := c.scrubber.callAll(ctx, c.view, methodDigest, peer.Encode(0, c.scan.fields))
	if err != nil {
		return nil, err
	}
	for m, body := range answers {
		d := &replica.ScrubDigests{}
		if err := peer.Decode(body, c.scan.codeDigests(d)); err != nil {
			return nil, atMachine(m, err)
		}
		c.countRows(m, d)
		if sums == nil {
			sums = d
			continue
		}
		for i := range sums.Of {
			sums.Of[i].Merge(d.Of[i])
		}
	}
	return sums, nil
}

// countRows adds the counts of one machine's digests.
func (c *comparison) countRows(m trie.MachineID, d *replica.ScrubDigests) {
	for i, rows := range d.Rows {
		c.rows[i] += rows
		c.report.Rows += rows
	}
	c.annotations += d.Annotations
	c.report.Foreign += d.Foreign
	c.report.Unreadable += d.Unreadable
	if d.Foreign > 0 {
		c.problem(api.Problem{Machine: m.String(), Message: fmt.Sprintf("%d rows are in segments of other machines", d.Foreign)})
	}
	if d.Unreadable > 0 {
		c.problem(api.Problem{Machine: m.String(), Message: fmt.Sprintf("%d rows make no sense", d.Unreadable)})
	}
}

// listRows is about the number of rows listed at a time.
const listRows = 50_000

// locate compares the rows of the buckets with different digests, some at a time.
func (c *comparison) locate(ctx context.Context, sums *replica.ScrubDigests) error {
	// 1. Add up the rows of the differing buckets: of orders, and of places.
	var differ [2]map[int]int64
	differ[0], differ[1] = map[int]int64{}, map[int]int64{}
	pairs := [...]struct{ of, a, b int }{
		{0, replica.DigestSPO, replica.DigestPOS}, {0, replica.DigestSPO, replica.DigestOSP},
		{0, replica.DigestNamed, replica.DigestGSPO}, {1, replica.DigestDue, replica.DigestReplicas},
	}
	for _, p := range pairs {
		for _, b := range recovery.Diff(sums.Of[p.a], sums.Of[p.b]) {
			differ[p.of][b] += sums.Of[p.a].BucketRows(b) + sums.Of[p.b].BucketRows(b)
		}
	}
	// 2. Compare the rows of these buckets, in steps of some listRows rows.
	scan, rows := c.scan, int64(0)
	flush := func() error {
		if rows == 0 {
			return nil
		}
		rows = 0
		step := scan
		scan.buckets = [2][]int{}
		return c.compareRows(ctx, step)
	}
	// A bucket counts its rows, and one more for itself.
	for of := range scan.buckets {
		for b := range 1 << scan.bits {
			n, ok := differ[of][b]
			if !ok {
				continue
			}
			if rows > 0 && rows+n > listRows {
				if err := flush(); err != nil {
					return err
				}
			}
			scan.buckets[of] = append(scan.buckets[of], b)
			rows += n + 1
		}
	}
	return flush()
}

// compareRows lists the rows of some buckets and verifies the triples with differences between
// members. If the rows are too many for one message, it takes half of the buckets at a time.
func (c *comparison) compareRows(ctx context.Context, scan scanRequest) error {
	// 1. List the rows, or split the buckets if a member has too many.
	answers, err := c.scrubber.callAll(ctx, c.view, methodList, peer.Encode(0, scan.fields))
	if err != nil {
		return err
	}
	found := newListing(c.view, &scan)
	for m, body := range answers {
		rows, complete, err := parseList(body)
		if err != nil {
			return atMachine(m, err)
		}
		if complete {
			found.add(m, rows)
			continue
		}
		// Too many rows for one message: halve the buckets. If there is one bucket, it cannot be
		// halved.
		halves, ok := scan.split()
		if !ok {
			c.problem(api.Problem{Message: fmt.Sprintf("the rows of one bucket are more than %d bytes on machine %s: they are not compared", listBytes, m)})
			c.report.Left++
			return nil
		}
		for _, half := range halves {
			if err := c.compareRows(ctx, half); err != nil {
				return err
			}
		}
		return nil
	}
	// 2. Verify each triple if the lists show a difference.
	suspects, err := found.suspects()
	if err != nil {
		return err
	}
	for len(suspects) > 0 {
		some := suspects[:min(len(suspects), lookTriples)]
		suspects = suspects[len(some):]
		if err := c.verify(ctx, some); err != nil {
			return err
		}
	}
	return nil
}

// split returns the request in two parts. ok is false if it is for one bucket.
func (r scanRequest) split() (halves []scanRequest, ok bool) {
	a, b := r, r
	orders, places := r.buckets[0], r.buckets[1]
	switch {
	case len(orders) > 0 && len(places) > 0:
		a.buckets, b.buckets = [2][]int{orders, nil}, [2][]int{nil, places}
	case len(orders) > 1:
		a.buckets[0], b.buckets[0] = orders[:len(orders)/2], orders[len(orders)/2:]
	case len(places) > 1:
		a.buckets[1], b.buckets[1] = places[:len(places)/2], places[len(places)/2:]
	default:
		return nil, false
	}
	return []scanRequest{a, b}, true
}
