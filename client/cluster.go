// Status, and changing who is a member of a cluster.

package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Status is what a node says of itself, or of its cluster.
type Status struct {
	Version    string   `json:"version"`
	Epoch      uint64   `json:"epoch"`
	Members    []Member `json:"members"`
	Segments   int      `json:"segments"`
	Triples    int64    `json:"triples"`    // an estimate
	Rebuilding int      `json:"rebuilding"` // segments of which some copies are still to be made
	Lost       int      `json:"lost"`       // ranges of which rows may be gone for good

	Annotations int64  `json:"annotations"`
	Bytes       int64  `json:"bytes"`     // of tables on the disk
	FreeBytes   int64  `json:"freeBytes"` // of the disk; -1 where that is not known
	Reclaimed   int64  `json:"reclaimed"` // of a lone node: bytes of tables given back in quiet times
	Merges      int64  `json:"merges"`    // of a lone node: segments that shrank and were merged
	Corruptions int64  `json:"corruptions"`
	ReadOnly    bool   `json:"readOnly"`
	Error       string `json:"error,omitempty"` // why the node takes no writes

	// The rest is of clusters, and zero where the node is alone.
	Cluster    string `json:"cluster,omitempty"` // its name
	Generation uint64 `json:"generation,omitempty"`
	Phase      string `json:"phase,omitempty"`    // "idle", "fill", "serve" or "ingest"
	Leader     string `json:"leader,omitempty"`   // the ID of a machine; "" while there is none
	Waiting    string `json:"waiting,omitempty"`  // what the leader waits for, in words
	Protocol   string `json:"protocol,omitempty"` // the version that all members have, such as "3.0"
	Copies     int    `json:"copies,omitempty"`   // how many machines hold each triple, if there are so many
	Bears      int    `json:"bears,omitempty"`    // how many more machines may fail at once without a loss of data
	// Stale is how old the rest is, where the node reaches no leader.
	Stale float64 `json:"staleSeconds,omitempty"`
	// NoMajority: the node, one of two members, answers reads though it does not reach the
	// other one. Writes are refused.
	NoMajority bool        `json:"noMajority,omitempty"`
	LostRanges []LostRange `json:"lostRanges,omitempty"`
	Scrub      *Scrub      `json:"scrub,omitempty"` // nil where none has ended
}

// Member is one machine.
type Member struct {
	ID      string `json:"id"`
	Address string `json:"address"`
	State   string `json:"state"` // "up", "spare", "leaving" or "down"

	// The rest is of clusters.
	Voter       bool    `json:"voter,omitempty"` // it votes on views
	Incarnation uint64  `json:"incarnation,omitempty"`
	Version     string  `json:"version,omitempty"`  // of its release; "" where it is not known
	Protocol    string  `json:"protocol,omitempty"` // the version that it has had since it started last
	Segments    int     `json:"segments,omitempty"` // that it answers for
	Triples     int64   `json:"triples,omitempty"`  // rows of order SPO, an estimate
	Bytes       int64   `json:"bytes,omitempty"`    // of tables
	FreeBytes   int64   `json:"freeBytes,omitempty"`
	Lag         uint64  `json:"lag,omitempty"`          // epochs between its view and the newest
	Lease       float64 `json:"leaseSeconds,omitempty"` // that its lease lasts; 0 where it has none
	Walk        *Walk   `json:"walk,omitempty"`         // nil where it walks no more
	Slow        int     `json:"slow,omitempty"`         // how many members wait for it for too long
	Damaged     bool    `json:"damaged,omitempty"`      // its disk has returned damaged tables or rows
	Error       string  `json:"error,omitempty"`        // why it takes no writes
}

// Walk is how far a member is with its part of a rebuild or move.
type Walk struct {
	Rows     int64   `json:"rows"`              // looked at
	Repaired int64   `json:"repaired"`          // written or sent, because they were missing
	Left     int64   `json:"left"`              // still to be looked at, an estimate
	Damaged  int64   `json:"damaged,omitempty"` // that cannot be decoded, and are passed over
	Resumed  int64   `json:"resumed,omitempty"` // not sent again: a backfill of an earlier epoch has sent them
	ETA      float64 `json:"etaSeconds"`        // that it still takes; 0 where that is not known
}

// Scrub is what scrubs have found that the leader has led: comparisons of all copies.
type Scrub struct {
	Passes      int64   `json:"passes"`          // that came to their ends
	Differences int64   `json:"differences"`     // triples whose copies were not the same, in all passes
	Repaired    int64   `json:"repaired"`        // of these
	Left        int64   `json:"left"`            // of what the last pass found, not repaired
	Rows        int64   `json:"rows"`            // that the last pass compared
	Seconds     float64 `json:"seconds"`         // that it took
	Age         float64 `json:"ageSeconds"`      // since it ended
	Error       string  `json:"error,omitempty"` // why it did not come to its end
}

// LostRange is a range of an order of which some triples may be gone for good.
type LostRange struct {
	Order string `json:"order"`
	// From (inclusive) and Until (exclusive) are its bounds as text for people; ""
	// is the beginning or the end of the order. Lo and Hi are the keys.
	From  string `json:"from"`
	Until string `json:"until"`
	Lo    []byte `json:"lo"`
	Hi    []byte `json:"hi,omitempty"`
	Epoch uint64 `json:"epoch"` // from which on it is so
}

// Status returns the status of the node or of its cluster.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	if err := c.get(ctx, c.door("/status", nil), &s); err != nil {
		return s, fmt.Errorf("status: %w", err)
	}
	return s, nil
}

// Leave has a machine, named by its ID, hand over what it holds and then be a member
// of the cluster no more; "" is the node that is asked. It returns when that is
// decided, with the status of that moment.
func (c *Client) Leave(ctx context.Context, machine string) (Status, error) {
	return c.changeMember(ctx, "leave", machine)
}

// Remove gives up a machine that will not come back, as if it had failed: what it
// held is made anew from other copies.
func (c *Client) Remove(ctx context.Context, machine string) (Status, error) {
	return c.changeMember(ctx, "remove", machine)
}

// AcceptLoss has the cluster take what is there of lost ranges for all there is, so
// that they can be read again.
func (c *Client) AcceptLoss(ctx context.Context) (Status, error) {
	return c.changeMember(ctx, "accept-loss", "")
}

// SetCopies changes how many machines hold each triple: 2 to 5. It returns when that
// is decided, with the status of that moment.
func (c *Client) SetCopies(ctx context.Context, n int) (Status, error) {
	return c.changeCluster(ctx, "copies", url.Values{"copies": {strconv.Itoa(n)}})
}

func (c *Client) changeMember(ctx context.Context, how, machine string) (Status, error) {
	query := url.Values{}
	if machine != "" {
		query.Set("machine", machine)
	}
	return c.changeCluster(ctx, how, query)
}

func (c *Client) changeCluster(ctx context.Context, how string, query url.Values) (s Status, err error) {
	text, _, err := c.send(ctx, call{method: http.MethodPost, url: c.door("/cluster/"+how, query)}, maxJSONBytes)
	if err == nil {
		err = decodeJSON(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", how, err)
	}
	return s, nil
}
