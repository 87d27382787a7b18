// Checks.

package client

import (
	"context"
	"fmt"
)

// CheckReport is what a check found. No problem is a store or cluster in order.
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

// Check has the node verify everything, in a cluster on all machines. It takes as long
// as reading all there is, and changes nothing.
func (c *Client) Check(ctx context.Context) (CheckReport, error) {
	var r CheckReport
	if err := c.get(ctx, c.door("/check", nil), &r); err != nil {
		return r, fmt.Errorf("check: %w", err)
	}
	return r, nil
}
