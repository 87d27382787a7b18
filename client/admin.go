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

// Activity is what a machine does and uses. Counters begin at 0 with its process: their growth between two answers,
// divided by that of Seconds, is a rate.
type Activity struct {
	Machine string `json:"machine"` // its ID; "" if its store is read-only and alone
	Node    string `json:"node"`    // its address

	Seconds          float64 `json:"seconds"`          // since its endpoints opened
	ProcessorSeconds float64 `json:"processorSeconds"` // of all processors; 0 if its system does not report it
	Memory           int64   `json:"memory"`           // bytes of the process; 0 if its system does not report it
	Requests         int64   `json:"requests"`         // of clients, answered
	RequestsInFlight int64   `json:"requestsInFlight"`
	Queries          int64   `json:"queries"` // and updates, ended
	QueriesRunning   int64   `json:"queriesRunning"`
	RowsRead         int64   `json:"rowsRead"`     // by ended queries, without updates, also from other machines
	BytesWritten     int64   `json:"bytesWritten"` // to its store, also for other machines
	// CompactionDebt is how many bytes of its tables are to be compacted; nil if it does not report them, because its
	// release is older.
	CompactionDebt *int64 `json:"compactionDebt"`
}

// ActivityList is what the members of a cluster do, or a node alone.
type ActivityList struct {
	Members []Activity `json:"members"` // sorted by their addresses
	// Absent are the members that did not answer.
	Absent []AbsentMember `json:"absent"`
}

// Activity returns what each machine does and uses.
func (c *Admin) Activity(ctx context.Context) (all ActivityList, err error) {
	if err := c.get(ctx, c.endpoint("/cluster/activity", nil), &all); err != nil {
		return all, fmt.Errorf("activity: %w", unwrapPermanent(err))
	}
	return all, nil
}
