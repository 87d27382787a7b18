// Package leader is what the leader of a cluster decides: who gets a lease, who is excluded, which
// view comes next.
//
// # The route of a report
//
//	Receive      verify that this node still leads, then
//	grants       record the report, and grant a lease if nothing forbids it
//	Run          a report with news wakes the loop
//	plan         reports, gossip and wishes become a [view.PlanOptions]; view.Plan decides
//	grants.bar   an excluded member gets no lease from here on, under the same lock
//	Propose      Raft agrees on the view
//
// [Leader] owns all of it. Every member has one, because each may be elected; it has no records
// until then. Its parts lock themselves:
//
//   - grants: the members' last reports, leases and exclusions, of one term
//   - wishes: requests to join, to leave, to change copies, to load, until a view fulfils them
//   - DiskWatch: whether this machine's own disk blocks, and another machine must lead
package leader
