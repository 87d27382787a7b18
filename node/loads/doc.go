// Package loads makes bulk loads go into a cluster: the coordinator's side is a
// sink of package rdfload, which any member has, the owners' side takes the rows
// that belong to them.
//
// # How a load goes
//
//	begin    the load gets a number, a view has it              view.BeginLoad
//	sort     package rdfload sorts the inputs into runs, on the coordinator's disk
//	place    an empty cluster is split where the runs say so
//	stage    rows go to the owners of their keys, who write tables outside of the store
//	seal     every owner makes durable which tables are all of the load
//	publish  all members take their tables in, then the load shows: two epochs
//
// Rows carry the number of the load instead of a stamp (see node.LoadStamp). Where
// they belong follows from the placement in the view that the tables are made
// under (view.Place); where that changes before all is published, the tables are
// made anew from the runs. Splits change nothing of it, and the leader moves
// nothing by itself while a load is staged.
//
// # Messages
//
// loads/rows has rows of one table for one owner. Messages of a table have numbers
// from 0; the next one is sent when the one before is answered, so that one that
// comes twice can be told.
//
//	load string | place string | name string | table byte | stream 8 | number uvarint | last byte
//	if last: hash 8 of the rows of all messages, one after the other
//	rows to the end, each is
//	    shared << 1 | own value, uvarint    bytes in common with the key before, of this message
//	    length uvarint, rest of the key
//	    length uvarint, value               where it is not the load's common one
//
// The answer is a status, and then how many bytes the table has; to the last one
// the bytes, rows and new triples of the file, all uvarints, a byte, 1 where it has
// annotations, the new ones of them, uvarint, and the file's name. Strings and byte strings
// are as package peer has them. loads/seal has the JSON of a node.Seal; its answer
// is a status.
package loads
