// The messages between the machines of a PageRank.

package rank

import "context"

// Exchange carries the messages between the machines that share a PageRank. A partition has a
// number and one machine that works on it. That machine calls these methods from several
// goroutines at once. An implementation must pass ranktest.CheckExchange.
//
// Send methods must not wait until the receiver requests the data. An implementation holds what
// was sent until then, at most the data of one round. Receive and Gather wait. If a method
// returns an error, the job ends on this machine, and only there. So when PageRank returns an
// error, its caller must inform the other machines. When a machine learns that another has ended
// or is down, all calls that wait for it must return an error.
type Exchange interface {
	// SendRoute sends the route between two partitions to another machine: the pages of partition
	// to that receive values from partition from, in the order of the values. The job must call
	// it once for each pair of partitions, before the first round. The route may be empty. pages
	// is not kept.
	SendRoute(ctx context.Context, from, to int, pages []uint32) error
	// ReceiveRoute returns the pages of SendRoute.
	ReceiveRoute(ctx context.Context, from, to int) ([]uint32, error)
	// SendValues sends the values of a round, one for each page of the route. values is not kept.
	// If the route is empty, the job does not call it.
	SendValues(ctx context.Context, round, from, to int, values []float64) error
	// ReceiveValues returns the values of SendValues.
	ReceiveValues(ctx context.Context, round, from, to int) ([]float64, error)
	// Gather returns one value of each partition, in their order, to all machines. It waits until
	// all of them have sent theirs. own is by partition. Steps are numbered from 0 on.
	Gather(ctx context.Context, step int, own map[int]float64) ([]float64, error)
}
