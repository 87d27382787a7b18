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
// acknowledged before the call, and from other orders while a machine is down. Nothing
// is kept in memory that could be behind.
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
// and no page keeps two, as of several UIDs, or claims, the one with the lowest stamp
// counts. All triples of one subject and predicate have one sequencer, or a cut between
// them that is as old as the first of them: so one who has written, and then reads that
// his is the first, has it for good. Who is not the first deletes his own again.
// Grants below 32768 are those of a node that is alone.
package ranges
