// Package ranges is the graph of the links of a cluster, answered from the ordered ranges
// of its triples (package links defines the triples):
//
//	UIDs           SPO  url  urn:trefoil:uid  ?        a batch is one message an owner
//	URLs           POS  urn:trefoil:uid  uid  ?
//	forward links  SPO  url  linksTo  ?
//	backward links POS  linksTo  url  ?
//	pages          POS  urn:trefoil:uid  from ..       in the order of UIDs
//
// So an answer is as complete as the cluster's reads, or it is an error. It includes all
// that was acknowledged before the call. If a machine is down, rows come from other orders.
//
// # Packages
//
// [Graph] makes one part for each job, and calls it:
//
//	linkkeys    keys, rows and packed lists: pure functions
//	ownership   the owner of each range under a view, and the machines that are down
//	rowreader   the rows of one call; ranges of down machines from copies
//	assign      UIDs: how a page gets one, look-ups and their cache
//	linklists   lists, samples and degrees, from their owners
//	copyserver  answers from the copies of this machine, and rows for the copies of others
//	updates     changes, and the replacement of whole lists
//	pagerank    the PageRank job
//	epochs      the epoch of the graph
//
// A read of lists goes through them like this:
//
//	Graph.Links
//	  -> rowreader.Readers.ReadRetrying   a Reader of a snapshot; retries while a machine is down
//	  -> linklists.Reader.Read            a request to each owner (links/own)
//	       -> linklists.OwnedLists        kept lists, or rows and their UIDs
//	  -> linklists.fetchCopied            if an owner is down (links/copied, copyserver)
//	  -> rowreader.Reader.ScanTargets     if nobody answers: rows, from any order
//
// # Down machines
//
// While the owner of a range is down, lists, UIDs, URLs, pages and counts come from
// machines that keep copies of them (package copies). A failed call is retried for some
// seconds, because the next view may have another owner. An update needs only that its
// triples can be written: copies list the links of a replaced list, too.
package ranges
