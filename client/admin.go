// What operators do: checks, where a triple is, and what each machine does.

package client

import (
	"context"
	"fmt"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/triple"
)

// Admin is what operators do: changes of a cluster's machines, backups, checks, running queries, and
// which machines have a triple.
type Admin struct{ *transport }

// CheckReport is the result of [Admin.Check], with its problems.
type (
	CheckReport = api.CheckReport
	Problem     = api.Problem
)

// Check verifies all data of the node, or of all machines of the cluster. It takes as long as
// reading all data, and changes nothing.
func (c *Admin) Check(ctx context.Context) (CheckReport, error) {
	var r CheckReport
	if err := c.get(ctx, c.endpoint("/check", nil), &r); err != nil {
		return r, fmt.Errorf("check: %w", err)
	}
	return r, nil
}

// Whereabouts is the result of [Admin.Where]: the places of a triple, with their segments.
type (
	Whereabouts  = api.Whereabouts
	Where        = api.Where
	WhereSegment = api.WhereSegment
)

// Where returns the places of t, and which machines have it. The triple need not be stored.
func (c *Admin) Where(ctx context.Context, t triple.Triple) (w Whereabouts, err error) {
	if err := c.get(ctx, c.endpoint("/where", patternQuery(triple.Exact(t))), &w); err != nil {
		return w, fmt.Errorf("where: %w", err)
	}
	return w, nil
}

// ActivityList is the result of [Admin.Activity], with the activity of each machine and its name.
type (
	ActivityList = api.ActivityList
	Activity     = api.Activity
	MemberName   = api.MemberName
)

// Activity returns what each machine does and uses.
func (c *Admin) Activity(ctx context.Context) (all ActivityList, err error) {
	if err := c.get(ctx, c.endpoint("/cluster/activity", nil), &all); err != nil {
		return all, fmt.Errorf("activity: %w", unwrapPermanent(err))
	}
	return all, nil
}
