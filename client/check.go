// Checks.

package client

import (
	"context"
	"fmt"
)

// CheckReport is the result of a check. If there is no problem, the store or cluster is in order.
type CheckReport struct {
	Rows        map[string]int64 `json:"rows"` // rows by order
	Triples     int64            `json:"triples"`
	Annotations int64            `json:"annotations"`
	Problems    []Problem        `json:"problems"`
	More        int64            `json:"more"` // problems beyond those listed
}

// Problem is one violation of an invariant.
type Problem struct {
	Machine string `json:"machine,omitempty"` // in a cluster, the machine with the problem
	Order   string `json:"order,omitempty"`   // the order with the problem
	Triple  string `json:"triple,omitempty"`  // N-Quads, if one triple is concerned
	Message string `json:"message"`
}

// Check verifies all data of the node, or of all machines of the cluster. It takes as long as
// reading all data, and changes nothing.
func (c *Admin) Check(ctx context.Context) (CheckReport, error) {
	var r CheckReport
	if err := c.get(ctx, c.endpoint("/check", nil), &r); err != nil {
		return r, fmt.Errorf("check: %w", err)
	}
	return r, nil
}
