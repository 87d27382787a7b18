// This file holds what the machines of a PageRank tell each other.

package rank

import "context"

// Exchange carries what the machines that share a PageRank tell each other.
// Partitions are known by their numbers; each is worked on by one machine, which
// calls these methods from several goroutines at once. An implementation passes
// ranktest.CheckExchange.
//
// Send methods may not wait for the receiver to ask: an implementation holds
// what was sent until it is asked for, which is at most one round's. Receive and
// Gather wait. Any error ends the job on this machine, and only there. So who
// runs the job tells the other machines when PageRank returns an error; and a
// machine that learns that another has ended or is gone lets all calls that wait
// for it return an error.
type Exchange interface {
	// SendRoute tells another machine, once for each two partitions, before the
	// first round, which pages of partition to the values from partition from
	// will be for, in their order. It may be none. pages is not kept.
	SendRoute(ctx context.Context, from, to int, pages []uint32) error
	// ReceiveRoute returns what was sent by SendRoute.
	ReceiveRoute(ctx context.Context, from, to int) ([]uint32, error)
	// SendValues sends the values of a round, one for each page of the route.
	// values is not kept. It is not called for an empty route.
	SendValues(ctx context.Context, round, from, to int, values []float64) error
	// ReceiveValues returns what was sent by SendValues.
	ReceiveValues(ctx context.Context, round, from, to int) ([]float64, error)
	// Gather returns one value of each partition, in their order, to all
	// machines, when all of them have given theirs: own is by partition. Steps
	// are numbered from 0 on.
	Gather(ctx context.Context, step int, own map[int]float64) ([]float64, error)
}
