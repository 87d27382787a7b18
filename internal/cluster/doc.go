// Package cluster is a machine's membership in a cluster: it joins, reports, adopts views,
// copies rows when layouts change, and leads when it is elected.
//
// # A member's life
//
//	Start      alone            the store serves by itself, until another machine joins
//	           join             ask a member; the leader proposes a view with this machine
//	           resume           the directory is a member's: wait for the leader's view
//	adopt      each new view, in order, through the gate
//	work       under a view     backfill in phase fill; sweep in phase idle
//	report     several times a lease, to the leader; the answer grants a lease
//	leave      excluded         another view lacks this machine: the process ends
//
// [Node] starts, joins and ends. The types below do the rest; each owns its state and locks it:
//
//   - membership: this process, its configuration and store, its adopted view (gate.Gate), and
//     the parts of a member
//   - isolation: the lease, and the way to a leader; whether this member may answer
//   - peers: messages to and from other nodes
//   - reporter: reports to the leader
//   - work, backfill.Filler: the work under the adopted view
//   - triples: reads and writes of clients, alone or through writes, reads and loads; updates take turns by
//     lock.Lock
//   - admin, status: what other packages and operators request of a cluster
//   - upkeep.Upkeep: purges, scrubs, checks
//   - leader.Leader: what this member decides while it leads
//   - agreement.Agreement, gossip.Gossip and the Leader exist only on a member, see parts
//
// # The route of a report
//
// The reporter makes a report of the store, the adopted view and the work under it. callLeader
// sends it to the leader, or to a member that forwards it. The leader verifies that it still leads
// (package leader), records the report and grants a lease. The lease runs from the moment before
// the report was made. So it ends before a later leader may exclude its holder.
//
// # The route of a view
//
// The leader proposes a view (package leader), and Raft agrees on it. Each member follows the log (follow) and adopts it (adopt): it
// locks the gate, so that everything of the old epoch has ended, stores the view and opens the
// gate. Then the work of the new view begins.
//
// # The route of a backfill
//
// In phase fill each member sends the rows that the target layout lacks (package backfill). When
// all is durable, its report has the marks of the receivers. When all members have reported
// that, the leader proposes the view in which the target is the base.
//
// # Sources
//
// Views are agreed on by Raft (D. Ongaro and J. Ousterhout, In Search of an Understandable
// Consensus Algorithm, 2014). Suspicion comes from SWIM (A. Das and others, 2002), as
// memberlist implements it. Leases follow C. Gray and D. Cheriton (Leases, 1989): they rely on
// clocks that run at about the same rate, not on equal times.
package cluster
