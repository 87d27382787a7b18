// The status of a cluster, and changes of its members.

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/trefoildb/trefoil/internal/api"
)

// Status is the status of a node, or of its cluster, with its parts.
type (
	Status          = api.Status
	Member          = api.Member
	ExcludedMachine = api.ExcludedMachine
	Walk            = api.Walk
	Scrub           = api.Scrub
	LostRange       = api.LostRange
	StalledFollower = api.StalledFollower
)

// Status returns the status of the node or of its cluster.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	if err := c.get(ctx, c.endpoint("/status", nil), &s); err != nil {
		return s, fmt.Errorf("status: %w", err)
	}
	return s, nil
}

// Ready returns nil if the node can work, and otherwise why it cannot: it is shutting down, or its
// disk or its cluster has failed. It needs no token.
func (c *Client) Ready(ctx context.Context) error {
	if _, _, err := c.send(ctx, call{method: http.MethodGet, target: c.endpoint("/readyz", nil)}, maxJSONBytes); err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	return nil
}

// Leave makes a machine hand over its data and then stop being a member. machine is its ID; "" is
// the node of the client, which must then have one address. It returns when that is decided, with the
// status at that moment.
func (c *Admin) Leave(ctx context.Context, machine string) (Status, error) {
	if machine == "" && len(c.nodes) > 1 {
		return Status{}, fmt.Errorf("leave: name the machine, because the client has %d addresses", len(c.nodes))
	}
	return c.changeMember(ctx, "leave", machine)
}

// Remove excludes a machine that will not come back, as if it had failed. Its copies are made again
// from others.
func (c *Admin) Remove(ctx context.Context, machine string) (Status, error) {
	return c.changeMember(ctx, "remove", machine)
}

// AcceptLoss declares the remaining rows of lost ranges complete, because they can then be read
// again.
func (c *Admin) AcceptLoss(ctx context.Context) (Status, error) {
	return c.changeMember(ctx, "accept-loss", "")
}

// SetCopies changes the number of copies of each triple: 2 to 5. It returns when that is decided,
// with the status at that moment.
func (c *Admin) SetCopies(ctx context.Context, n int) (Status, error) {
	return c.changeCluster(ctx, "copies", url.Values{"copies": {strconv.Itoa(n)}})
}

func (c *Admin) changeMember(ctx context.Context, how, machine string) (Status, error) {
	query := url.Values{}
	if machine != "" {
		query.Set("machine", machine)
	}
	return c.changeCluster(ctx, how, query)
}

func (c *Admin) changeCluster(ctx context.Context, how string, query url.Values) (s Status, err error) {
	text, _, err := c.send(ctx, call{method: http.MethodPost, target: c.endpoint("/cluster/"+how, query)}, maxJSONBytes)
	if err == nil {
		err = decodeJSON(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", how, err)
	}
	return s, nil
}
