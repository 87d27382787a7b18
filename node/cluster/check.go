package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/triple"
)

// maxProblems is how many problems a report lists.
const maxProblems = 100

// Check verifies all copies of all triples: each member its own rows, and then all
// orders and extra replicas with each other. A node that is alone verifies its store.
// Nothing is repaired: [Node.Scrub] does that. It reads all there is as fast as it
// can, more than once.
func (n *Node) Check(ctx context.Context) (node.CheckReport, error) {
	if n.parts.Load() == nil {
		return n.store.Check(ctx)
	}
	report := node.CheckReport{Rows: map[string]int64{}, Problems: []node.Problem{}}
	v, err := n.viewAtRest()
	if err != nil {
		return report, err
	}
	ctx, cancel := n.during(ctx, v.Epoch)
	defer cancel()
	problem := func(p node.Problem) {
		if len(report.Problems) == maxProblems {
			report.More++
			return
		}
		report.Problems = append(report.Problems, p)
	}
	for _, l := range v.Lost {
		lost := node.NewLostRange(triple.Range{Lo: l.Lo, Hi: l.Hi}, l.Epoch)
		problem(node.Problem{Order: lost.Order, Message: fmt.Sprintf("rows may be lost from %q until %q, since epoch %d", lost.From, lost.Until, lost.Epoch)})
	}
	for _, m := range v.Members {
		body, err := n.callIn(ctx, v.Epoch, m.ID, methodCheck, nil)
		if err = later(ended(ctx, err)); err != nil {
			return report, fmt.Errorf("check: %w", atMachine(m.ID, err))
		}
		var own node.CheckReport
		if err := json.Unmarshal(body, &own); err != nil {
			return report, atMachine(m.ID, err)
		}
		for _, p := range own.Problems {
			p.Machine = m.ID.String()
			problem(p)
		}
		report.More += own.More
	}
	c := &comparison{node: n, view: v, problem: problem}
	err = c.run(ctx)
	if at := (*machineError)(nil); errors.As(err, &at) && isDamage(at.err) {
		problem(node.Problem{Machine: at.machine.String(), Message: "the orders are not compared: " + at.err.Error()})
		err = nil
	}
	for i, o := range triple.Orders {
		report.Rows[o.String()] = c.rows[i]
	}
	report.Triples, report.Annotations = c.rows[slices.Index(triple.Orders[:], triple.SPO)], c.annotations
	if err != nil {
		return report, fmt.Errorf("check: %w", later(ended(ctx, err)))
	}
	return report, nil
}

// isDamage reports whether a machine says that it cannot read its files.
func isDamage(err error) bool {
	r := (*peer.RemoteError)(nil)
	return errors.Is(err, node.ErrCorrupt) || errors.As(err, &r)
}

// later returns an error as the doors know it: what is refused now may be done
// later.
func later(err error) error {
	if r := (*peer.Refusal)(nil); errors.As(err, &r) {
		return fmt.Errorf("%w: %w", node.ErrUnavailable, err)
	}
	return err
}
