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
//	SPO  grant urn:trefoil:claimedBy name    a claim of a grant (package ranges)
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
// it. The fewest machines that an operation comes to are three, or all under a view of
// less; if the journals of all members are read but one fewer than that, one holder at
// least is among them. The members are those of all views since the copy was made, of
// the layouts that these come from and go to; a copy is dropped where views were missed.
// A machine whose process began again since, which took in a bulk load or repaired rows,
// counts as not read: its journal is gone. Nothing is answered while a bulk load shows
// that the copy has not seen.
//
// All journals are read under one epoch, none of those asked has adopted a later one, and
// this machine holds a lease for it afterwards.
//
// A journal tells of a triple what its latest operation was, if that is known to be
// settled and has come in its turn: not with a walk, which may bring it late, and not with
// a stamp of an epoch before that of the marks, driven again by another sequencer. All
// others are only said to have changed; how they are is for the caller to find out, from
// any order.
//
// # Lists in parts
//
// A row has all links of a part of a list, and where a range is cut in the middle of it,
// what belongs behind the cut may be in a row before it. So what lies behind a new
// boundary is not covered until it is copied anew; and more than was asked for of a list
// does no harm, as everything that was told of it is put right.
//
// # Going through a range
//
// [Copies.Walk] tells what a range has from its beginning on, up to a place between lists,
// by the same rules. Journals are read before rows, as always, so where a part ends is found
// by the changes first; the rows may end it earlier.
package copies
