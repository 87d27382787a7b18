// Package view is the agreement of a cluster's nodes, and the rules for its changes.
//
// A [View] lists the members, the present places of all keys (base), the future ones (target),
// and how far the members are on the way (phase). Views are numbered by epochs; each change is a
// method. It returns the view of the next epoch and leaves the old one as it was. [Plan] decides
// which change comes next. All of it is pure: no goroutine, clock, file or socket.
//
// # Phases
//
//	phase   writes go to     reads come from  it ends when
//	idle    base             base's owners    something must change
//	fill    base and target  base's owners    all members have backfilled: target is complete
//	serve   base and target  target's owners  all members have adopted it
//	ingest  base             base's owners    a bulk load's tables are ingested
//
// Only live machines count: those of base if they still have their rows from when base was full,
// and all members of target. In idle and ingest, target is base.
//
// # Changes
//
// All data moves by one mechanism: a new target, and fill, serve, idle.
//
//	Join, Leave         a target with or without the machines
//	Rebalance, MoveTo   a target with segments elsewhere
//	Exclude, Recover    a target without the dead; spares take their places
//
// If a change comes before the one under way has ended, base must be decided first. In fill base
// is still the only full layout, and stays. In serve target is full, and becomes base. So base is
// always a layout whose machines had all of their places filled, in the incarnations of
// BaseIncarnations.
//
// If three of base's machines are dead at once (or all, of fewer), some triples may have lost all
// holders, and it is not known which. Then the segments of the dead go to Lost: their remaining
// rows are served, but may not be all.
//
// If a change moves no data, the phase stays: Readmit (a member's process started again), Unwait
// (it may have a lease again), Split, Remove, and the joining of a spare.
//
// A placement is the hash of the machines' places. A machine's place is its own ID, or the ID of
// the dead machine it replaced. So a spare owns the data of the dead one, and the next placement
// does not take it away.
package view
