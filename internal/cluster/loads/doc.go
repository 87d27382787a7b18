// Package loads runs bulk loads into a cluster. The coordinator is any member: it has a sink for
// package rdfload, and sends each row to its owner. The owners write the rows into tables.
//
// # The route of a load
//
//	begin    the load gets a number, a view has it              view.BeginLoad
//	sort     package rdfload sorts the inputs into runs, on the coordinator's disk
//	place    an empty cluster is split at keys of the runs
//	stage    rows go to the owners of their keys; these write tables outside the store
//	seal     every owner records durably the complete list of its tables
//	publish  all members ingest their tables, then readers see the load: two epochs
//
// Rows have the number of the load instead of a stamp (see store.LoadStamp). Their owners follow
// from the placement in the view of the tables (view.Place). If the placement changes before the
// load is published, the tables must be made again from the runs. Splits do not change it, and
// the leader moves nothing by itself while a load is staged.
//
// # Messages
//
// loads/rows has rows of one table for one owner. Messages of a table have numbers from 0. The next
// one is sent when the one before is answered, so the owner detects a repeated message.
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
// are as package peer has them. loads/seal has the JSON of a store.Seal; its answer
// is a status.
package loads
