package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/bits"
	"time"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// This file is the comparison of all copies in a cluster, for scrubs and checks.
//
// Each member makes digests of its rows in each order, of a snapshot that it takes
// when it is asked. Those of all members add up; SPO, POS and OSP must agree, GSPO
// with the named graphs of SPO, and the extra replicas with those that SPO asks for.
// Where buckets differ, their rows are listed, and of triples that are not the same
// everywhere each slot is looked up by itself. What is left out is what may not be
// settled, and what differs because something is written meanwhile is the same when
// it is looked at again.

// ScrubReport is what a scrub has found and done.
type ScrubReport struct {
	Rows        int64   `json:"rows"`        // versions in all orders
	Differences int64   `json:"differences"` // triples whose copies were not the same
	Repaired    int64   `json:"repaired"`    // of these
	Left        int64   `json:"left"`        // of these, not repaired
	Foreign     int64   `json:"foreign"`     // rows on machines that should not have them
	Unreadable  int64   `json:"unreadable"`  // rows that make no sense
	Seconds     float64 `json:"seconds"`
}

// comparison is one run.
type comparison struct {
	node   *Node
	view   *view.View
	scan   scanRequest
	repair bool
	report ScrubReport

	rows        [len(triple.Orders)]int64
	annotations int64
	// problem takes what is wrong; nil where nobody wants to know.
	problem func(node.Problem)
}

// Scrub compares all copies of all triples, in this cluster's own time, and repairs
// those that differ: the row with the greatest stamp is the right one. The leader
// does so by itself, now and then.
func (n *Node) Scrub(ctx context.Context) (ScrubReport, error) {
	v, err := n.viewAtRest()
	if err != nil {
		return ScrubReport{}, err
	}
	if !n.upkeep.begin() {
		return ScrubReport{}, fmt.Errorf("scrub: %w: %w", node.ErrUnavailable, errBusy)
	}
	defer n.upkeep.end()
	ctx, cancel := n.during(ctx, v.Epoch)
	defer cancel()
	start := time.Now()
	c := &comparison{node: n, view: v, repair: true, scan: scanRequest{rate: max(n.cfg.ScrubRate, 0)}}
	c.problem = func(p node.Problem) {
		n.log.Warn("copies differ", "machine", p.Machine, "order", p.Order, "triple", p.Triple, "problem", p.Message)
	}
	err = c.run(ctx)
	c.report.Seconds = time.Since(start).Seconds()
	n.upkeep.scrubbed(c.report, err)
	return c.report, err
}

// run compares all.
func (c *comparison) run(ctx context.Context) (err error) {
	rand.Read(c.scan.secret[:]) // never fails
	rows := c.node.store.Status().Triples * int64(len(c.view.Members))
	c.scan.bits = max(4, min(bits.Len64(uint64(rows)/64), maxBucketBits))
	if c.scan.floors, _, err = c.node.askBounds(ctx, c.view); err != nil {
		return err
	}
	sums, err := c.digests(ctx)
	if err != nil {
		return err
	}
	return c.locate(ctx, sums)
}

// digests returns the sums of the digests of all members.
func (c *comparison) digests(ctx context.Context) (sums *node.SlotDigests, err error) {
	answers, err := c.node.askAll(ctx, c.view, methodDigest, c.scan.encode())
	if err != nil {
		return nil, err
	}
	for m, body := range answers {
		d, err := parseDigests(body, &c.scan)
		if err != nil {
			return nil, atMachine(m, err)
		}
		c.tell(m, d)
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

// tell counts what the digests of one machine say.
func (c *comparison) tell(m trie.MachineID, d *node.SlotDigests) {
	for i, rows := range d.Rows {
		c.rows[i] += rows
		c.report.Rows += rows
	}
	c.annotations += d.Annotations
	c.report.Foreign += d.Foreign
	c.report.Unreadable += d.Unreadable
	if d.Foreign > 0 {
		c.problem(node.Problem{Machine: m.String(), Message: fmt.Sprintf("%d rows are in segments of other machines", d.Foreign)})
	}
	if d.Unreadable > 0 {
		c.problem(node.Problem{Machine: m.String(), Message: fmt.Sprintf("%d rows make no sense", d.Unreadable)})
	}
}

// listRows is about how many rows are listed at a time.
const listRows = 50_000

// locate looks into the buckets in which the digests differ, some at a time.
func (c *comparison) locate(ctx context.Context, sums *node.SlotDigests) error {
	var differ [2]map[int]int64 // rows by bucket: of orders, of places
	differ[0], differ[1] = map[int]int64{}, map[int]int64{}
	pairs := [...]struct{ of, a, b int }{
		{0, node.DigestSPO, node.DigestPOS}, {0, node.DigestSPO, node.DigestOSP},
		{0, node.DigestNamed, node.DigestGSPO}, {1, node.DigestDue, node.DigestReplicas},
	}
	for _, p := range pairs {
		for _, b := range recovery.Diff(sums.Of[p.a], sums.Of[p.b]) {
			differ[p.of][b] += sums.Of[p.a].BucketRows(b) + sums.Of[p.b].BucketRows(b)
		}
	}
	scan, rows := c.scan, int64(0)
	flush := func() error {
		if rows == 0 {
			return nil
		}
		rows = 0
		step := scan
		scan.buckets = [2][]int{}
		return c.look(ctx, step)
	}
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

// look lists the rows of some buckets, half of them at a time where they are too
// many, and looks into the triples that are not the same everywhere.
func (c *comparison) look(ctx context.Context, scan scanRequest) error {
	answers, err := c.node.askAll(ctx, c.view, methodList, scan.encode())
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
		halves, ok := scan.split()
		if !ok {
			c.problem(node.Problem{Message: fmt.Sprintf("the rows of one bucket are more than %d bytes on machine %s: they are not compared", listBytes, m)})
			c.report.Left++
			return nil
		}
		for _, half := range halves {
			if err := c.look(ctx, half); err != nil {
				return err
			}
		}
		return nil
	}
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

// split returns the request in two parts; ok is false where it is for one bucket.
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
