// The vocabulary of the change feed.

// Package feed defines the change feed: the ordered record of committed changes. A lone store and a
// cluster both offer it as a [Source], and everything derived from triples follows it.
//
// # What the feed promises
//
//   - Each committed change is in the feed, and no other. A change enters it when its rows are
//     durable on all machines that must hold them, and before or soon after the client has its answer.
//   - Changes of one triple come in the order of their commits, which is the order of their stamps.
//     Changes of different triples have no order between machines.
//   - A bulk load is one change, and so is a cleared graph of a lone store. A consumer that needs
//     the triples of a load reads the rows with the load's stamp ([Source] has the rows).
//   - A consumer that continues at a [Position] misses nothing. After a failure it may receive
//     changes again; they have the same stamps.
//   - If the feed no longer reaches back to a position, the error is a [GoneError]. The consumer
//     must then read the rows again, and continue at the error's position.
//
// # Positions
//
// A change is identified by its stamp, its sequencer and its triple. A sequencer stamps in
// ascending order. Therefore a position is an epoch and, for each sequencer of this epoch, its last
// sequence that the consumer has. All changes of earlier epochs lie before the position. A lone
// store is a single sequencer, machine 0.
package feed
