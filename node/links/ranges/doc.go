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
// While the machine that reads a range is dead or not heard of, lists, UIDs and URLs come
// from machines that keep copies of them (package copies), and a call that was in vain is
// repeated for some seconds, under the views that come.
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
// Grants below 32768 are those of a node that is alone.
package ranges
