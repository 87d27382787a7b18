// Package ranges is the graph of the links of a cluster, answered from the ordered
// ranges of its triples (package links says which these are):
//
//	UIDs           SPO  url  urn:trefoil:uid  ?        a batch is one message an owner
//	URLs           POS  urn:trefoil:uid  uid  ?
//	forward links  SPO  url  linksTo  ?
//	backward links POS  linksTo  url  ?
//	pages          POS  urn:trefoil:uid  from ..       in the order of UIDs
//
// So an answer is what the cluster's reads are: complete or an error, with all that was
// acknowledged before the call, and from other orders while a machine is down. What is
// kept in memory is which URLs have which UIDs: that never changes. (Who deletes the
// triple of a UID by hand takes it from a page for good; members that remember it do so
// until they are started again.)
//
// While the machine that reads a range is dead or not heard of, lists, UIDs, URLs, pages in
// their order and counts come from machines that keep copies of them (package copies), and
// a call that was in vain is repeated for some seconds, under the views that come. Updates
// need no more than that a triple can be written: which links a list has that is replaced is
// told by copies, too.
//
// # Lists
//
// Lists are kept, too, by the machine that reads their rows, as long as its count of changes
// of these rows is the same. It answers for the list, for its degree, and for samples of
// it. A list of more than [Options.LongList] links is long: of that only its degree and a
// sketch (package sample) are kept, which are made by reading its rows in parts, each
// under the view and the lease like any rows, so that the list is never held.
//
// Where a list is cut, each machine answers for its part, and who asks adds the degrees
// up and takes the smallest links of all samples. The rows of one link in several graphs
// may be on both sides of a cut: so a part tells its first and its last link, and what
// ends one part and begins the next one counts once. Random samples of such lists are
// drawn by who asks, from the rows.
//
// Under one view a machine that was told the URL of a page is asked about that page by its
// UID alone; it says so where it does not know it any more.
//
// # Giving UIDs
//
// Pages get UIDs when they are first needed: by an update, by a read of a list that
// leads to them, by a job, or by the member that looks through its ranges of links in
// the background. Which machine gives them matters for how close the numbers of a host
// are, and for nothing else: the one that reads the slot's part of POS is asked, and if
// it does not answer, any other member does.
//
// No number is given twice, since each graph that is opened claims grants of its own
// (package uid): a triple
//
//	<urn:trefoil:grant:32768> <urn:trefoil:claimedBy> "machine/random" .
//
// and no page keeps two: of several UIDs of a page, or claims of a grant, the one with
// the lowest stamp counts. Within an epoch the triples of one subject and predicate have
// one sequencer, whose stamps ascend, and who reads them in SPO after his own is settled
// sees all that were stamped before it. What was stamped in an earlier epoch may be
// settled later by others, with its old stamp; so UIDs with stamps of the last epochs
// count when all members have been asked whether everything from before this epoch is
// settled, once for each. (A cut between two such triples makes them two sequencers'.
// It is made at a row that is there, in an epoch of its own, so that the triple that was
// there has the lower stamp.) Who was not the first deletes his own triple again.
//
// # Who was first, while the machine that reads it is away
//
// Copies and other orders tell all that is acknowledged, and that is not enough: a claim
// may be settled while one with a lower stamp is on its way still. So the first claim that
// is found counts at once only if
//
//   - it was read in SPO by the machine that reads it there, or is a row of a copy, which
//     was made of such a read: what was stamped before it in its epoch was there, too; or
//   - it is of an epoch of which all was settled when the read began.
//
// Any other one comes from a journal or another order, and was stamped in this epoch by the
// machine that is the sequencer of its range under this view. As the claim is settled, that
// machine has it, and has all that it stamped before: these came to it in the order of
// their stamps. So it is asked for the end of its journal, which it tells when all that it
// has is settled, and the claims are read again. What is then the first one has no lower
// stamp than the claim that was seen, so that all that could be before it was on that
// machine, is settled, and shows. If the view changes meanwhile, the claim is of an earlier
// epoch, and waits until all of that is settled. Where the sequencer itself is away, nobody
// knows what it has stamped: the call waits until it is excluded, and what it stamped is of
// an earlier epoch then. That is needed for pages only that got their UIDs in the last
// moments before, as copies have the others in rows.
//
// Whoever gives a number tells it after such a read, and so does whoever reads one. A copy
// that lags behind has claims in journals instead of rows: they cost the question, and are
// right.
//
// Grants below 32768 are those of a node that is alone.
package ranges
