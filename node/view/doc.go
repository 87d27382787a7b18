// Package view is what the nodes of a cluster agree on, and how that may change.
//
// A [View] says who the members are, where every key is (base), where it is to be
// (target), and how far the members are on the way (phase). Views are numbered by
// epochs; each change is a method that returns the view of the next epoch and
// leaves the old one as it was. [Plan] decides which change comes next. All of it
// is pure: no goroutine, clock, file or socket.
//
// # Phases
//
//	phase   writes go to     reads come from  it ends when
//	idle    base             base's owners    something is to change
//	fill    base and target  base's owners    all members have walked: what target lacked is there
//	serve   base and target  target's owners  all members have adopted it
//	ingest  base             base's owners    a bulk load's tables are taken in
//
// Only machines that live count: those of base that still have what they had when
// base was full, all members of target. In idle and ingest, target is base.
//
// # Changes
//
// Whatever moves data is one mechanism: a new target, and fill, serve, idle.
//
//	Join, Leave         a target with or without the machines
//	Rebalance, MoveTo   a target with segments elsewhere
//	Exclude, Recover    a target without the dead; spares take their places
//
// Where one comes before the change under way has ended, base is settled first. In
// fill base is still the only layout that is full, and stays. In serve target is
// full, and becomes base. So base is always a layout whose machines had all of
// their slots filled, in the incarnations that BaseIncarnations has.
//
// Where three of base's machines are dead at once (or all, of fewer), all holders
// of some triple may be, and nobody can tell of which. Then the segments of the
// dead go to Lost: what they hold is served, and is perhaps not all.
//
// What moves no data leaves the phase alone: Readmit (a member's process started
// again), Unwait (it may have a lease again), Split, Remove, and the joining of a
// spare.
//
// A placement is the hash of the machines' places. A machine's place is its own
// ID, or that of the dead machine for which it stepped in: so a spare owns what the
// dead one owned, and the next placement does not take that from it.
package view
