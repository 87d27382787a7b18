// How subscriptions are stored, followed and delivered.

// Package subscriptions delivers changes to applications that registered for them.
//
// # What is stored
//
// A subscription is one triple of the system graph with two annotations, so it is durable and
// replicated like any triple:
//
//	<urn:trefoil:subscription:NAME> rdf:type <urn:trefoil:Subscription> <urn:trefoil:system>
//	    urn:trefoil:definition    JSON of [Definition]: the filter, the target; "operator": true if an operator stored it
//	    urn:trefoil:state         JSON of [State]: the position, counts, the last error, dead letters
//
// All of them are one range of GSPO, and so are the second triples of those of kind read. So what
// clients write to other graphs is not scanned.
//
// # The route of a change
//
//	feed -> follower -> index -> subscription is due -> queue -> worker: read a batch behind the
//	        (one for all)                                        position, send it, store the state
//
// One follower for all subscriptions reads the feed and keeps no data: it only marks subscriptions
// as due. It begins at the least stored position of all that the machine takes up, so that 10,000
// subscriptions catch up by one reader. If only a few are far behind, workers read for them instead, so
// that the others need not wait. A worker then reads the feed from the subscription's own position.
// So memory is bounded by the number of workers, however slow a receiver is. Hosts share the workers
// ([lane]). A change cannot be lost between the two: what is delivered always comes from the feed,
// behind the stored position.
//
// # Promises
//
//   - At least once, in the order of the feed. The position is stored after the receiver has
//     accepted the batch. If the machine dies in between, the batch is sent again under the same
//     positions.
//   - One member of a cluster delivers for a subscription: the owner of its triple, while it has a
//     lease. The state is compared and set, so a former owner cannot move the position.
//   - A batch is given up after a limit of tries or age. It becomes a dead letter: a record in the
//     state with the positions around it, by which the application can read the changes from the
//     feed. The subscription continues behind it.
//   - If the feed no longer reaches back to the position, the receiver gets a line of kind "gone",
//     and the subscription continues at the position of that line. It is a dead letter, too.
//
// Changes of the system graph are delivered only to subscriptions whose pattern names that graph,
// and states never, because each delivery changes one.
package subscriptions
