// Package copies keeps, on a machine's disk, copies of what other machines of a cluster
// read of the graph of links: lists of links and the UIDs of pages. While one of those is
// dead, and until its ranges are regenerated, its lists are answered from here: complete,
// with all that was acknowledged before the call, or not at all.
//
// # Who has copies of what
//
// A range of keys that some machine reads is copied by the machines that follow it
// clockwise, as many as [Options.Copies] says. Copies are rows, made from rows of that
// range by the machine that reads it (see [Pull]); the key of a copied row is the key
// in the ordered space with which the rows that it was made of begin:
//
//	SPO  url linksTo         a part of a forward list
//	SPO  url urn:trefoil:uid n    a UID of a page
//	POS  linksTo url         a part of a backward list
//	POS  urn:trefoil:uid n url    a page of a UID
//
// They are in a Pebble database of their own, written without a log and deleted when the
// process begins: everything in it can be had again.
//
// # Why answers are complete
//
// Every operation on a triple comes to all machines that hold one of its versions or
// replicas, three different ones or as many as there are, and is in the journal of each
// (package node) before it is acknowledged. A copy knows a mark in the journal of each
// member; all before the marks was settled when what is copied was read, so that the copy
// has it. Whatever was acknowledged since is behind the mark of each machine that holds
// it. So it is enough to read the journals of all members but two, of one fewer than
// what the fewest holders are: at least one holder is among those that were read. The
// members are those of all views since the copy was made, and one whose process began
// again since, or which took in a bulk load, counts as not read: its journal is gone.
//
// All journals are read under one epoch, and this machine holds a lease for it
// afterwards, so that nothing was settled under a later view that it does not know.
//
// What the journals tell of a list makes it one whose copy is old: then the package says
// which triples these are, and their state is for the caller to find out, from any order.
package copies
