// Package copies keeps, on a machine's disk, copies of what other machines of a cluster read of
// the graph of links: lists of links and the UIDs of pages. While one of those is down, and
// until its ranges are regenerated, its lists are answered from here. An answer is complete,
// with everything that was acknowledged before the call, or it is an error.
//
// # Which machine has copies of what
//
// If a machine reads a range of keys, the machines that follow it clockwise copy the range.
// Their number is [Options.Copies]. Copies are rows, made by the machine that reads the range,
// from its rows (see [Pull]). The key of a copied row is the common prefix, in the ordered
// space, of the rows that it was made of:
//
//	SPO  url linksTo         a part of a forward list
//	SPO  url urn:trefoil:uid n    a UID of a page
//	SPO  grant urn:trefoil:claimedBy name    a claim of a grant (package ranges)
//	POS  linksTo url         a part of a backward list
//	POS  urn:trefoil:uid n url    a page of a UID
//
// They are in a Pebble database of their own. It is written without a log and deleted when the
// process starts, because everything in it can be copied again.
//
// # Why answers are complete
//
// Every operation on a triple comes to all machines that hold one of its places: three
// different ones, or all if there are fewer. It is in the journal of each (package replica)
// before it is acknowledged. A copy has a mark in the journal of each member. Everything before
// the marks was committed when the copied rows were read, so the copy has it. Everything
// acknowledged since is behind the mark of each holder. The fewest machines that an operation
// comes to are three, or all if a view has fewer. If the journals of all members but one fewer
// than that are read, at least one holder is among them. The members are those of all views
// since the copy was made, and of the base and target layouts of these. If a view was missed,
// the copy is dropped. If a machine restarted since, took in a bulk load or repaired rows, it
// counts as not read, because its journal is gone. If a bulk load shows that the copy has not
// seen, there is no answer.
//
// All journals are read under one epoch. None of the called members has adopted a later one,
// and this machine holds a lease for the epoch afterwards.
//
// A journal has the latest operation of a triple, if that is known to be committed and came in
// its turn. It must not come with a backfill, because that may bring it late. Nor may its stamp
// be of an epoch before that of the marks, because another sequencer may have driven it again.
// All other triples are only reported as changed. The caller must find their present state,
// from any order.
//
// # Lists in parts
//
// A row has all links of a part of a list. If a range is cut in the middle of a list, links
// behind the cut may be in a row before it. So a range behind a new boundary is not covered
// until it is copied again. If an answer has more of a list than was requested, that does no
// harm, because everything reported of it is corrected.
//
// # Reading a range from its beginning
//
// [Copies.Walk] returns what a range has from its beginning on, up to a boundary between lists,
// by the same rules. Journals must be read before rows. So the changes determine first where a
// part ends, and the rows may end it earlier.
package copies
