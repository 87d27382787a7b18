// The messages between the machines of a PageRank.

package rank

import (
	"context"

	"github.com/trefoildb/trefoil/links/uid"
)

// Exchange carries the messages between the machines that share a PageRank. The job calls its
// methods from several goroutines at once. In each step a machine sends one message to every other
// machine, then receives one of each. Steps are numbered from 0 on. A machine sends its message of
// a step when it has received all of the step before. So an implementation holds at most two
// messages of each other machine. It must pass ranktest.CheckExchange.
//
// If a method returns an error, the job ends on this machine, and only there. When a machine learns
// that another has ended or is down, all calls must return an error.
type Exchange interface {
	// Machines returns the number of machines and the number of this one, from 0 on. All machines
	// must number them alike.
	Machines() (n, self int)
	// Owner returns the machine whose partitions may have a page. The page is in no partition of
	// this machine.
	Owner(u uid.UID) int
	// Send sends the message of a step to another machine. It must not wait until that machine
	// receives the message. message is not kept.
	Send(ctx context.Context, step, to int, message []byte) error
	// Receive waits for the message of a step from another machine. The caller owns it.
	Receive(ctx context.Context, step, from int) ([]byte, error)
}
