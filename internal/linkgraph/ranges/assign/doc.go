// Package assign assigns UIDs to the pages of a cluster, and looks them up.
//
// # How a page gets its UID
//
//	Update, a read of a list, a job, or the background search needs the UID of a URL
//	  -> AssignUIDs     looks it up: cache, then SPO url urn:trefoil:uid ?
//	  -> RequestUIDs    if there is none: asks the machine that assigns the host's slot (links/name)
//	  -> assignLocal    there, one call at a time: looks it up again, then
//	       takeNumbers    the next numbers of the host, from a grant of this process
//	       writeUIDs      adds the triple: url urn:trefoil:uid "n"
//	       LookUpUIDs     reads it back: the claim with the lowest stamp counts
//
// The machine that owns the slot's part of POS assigns, so that the numbers of a host are
// close together. If it does not answer, any other member may assign: correctness does not
// depend on it.
//
// # No number is assigned twice
//
// Each process that opens a graph claims grants of its own (package uid) by a triple
//
//	<urn:trefoil:grant:32768> <urn:trefoil:claimedBy> "machine/random" .
//
// Grants below 32768 belong to a lone node.
//
// # No page keeps two UIDs
//
// If a page has several UIDs, or a grant several claims, the one with the lowest stamp
// counts. A machine that was not first deletes its own triple again.
//
// Within an epoch the triples of one subject and predicate have one sequencer, and its stamps
// ascend. A machine that reads them in SPO after its own is committed reads all earlier ones.
// An operation of an earlier epoch may be committed later, with its old stamp. So UIDs of the
// last epochs count only when all members have confirmed, once for each epoch, that everything
// from before it is committed ([Assigner.AwaitCommitted]). If a split between two such triples
// makes two sequencers of one, it must be at an existing row, in an epoch of its own: the older
// triple keeps the lower stamp.
//
// # First claims while the owner is down
//
// Copies and other orders have all that is acknowledged. That is not enough: a claim may be
// committed while one with a lower stamp is in flight. So the first claim that is found
// counts at once only if
//
//   - its owner read it in SPO, or it is a row of a copy, because a copy is made of such a
//     read: all claims that were stamped before it in its epoch were read, too; or
//   - it is of an epoch of which everything was committed when the read began.
//
// Any other claim comes from a journal or another order. The sequencer of its range stamped it
// under this view, and has all that it stamped before, in order. So the reader requests the end
// of its journal. The sequencer sends it when all of that is committed. Then the claims are
// read again, and the first of them is first for good. If the view changes meanwhile, the claim
// is of an earlier epoch, and the rule above applies. If the sequencer is down, the call waits
// until it is excluded. This concerns pages only that got their UIDs in the last moments,
// because copies have all others as rows.
package assign
