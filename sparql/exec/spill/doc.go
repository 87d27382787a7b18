// Package spill keeps rows of a query in temporary files when they do not fit in its memory.
//
// A [Scratch] makes the files of one query. Each is a [RecordFile]: it must be written first,
// then read. [Runs] are sorted files merged (ORDER BY), [Partitions] are files by the hash of a
// key (joins, DISTINCT, GROUP BY), and a [Queue] keeps rows in order of arrival.
package spill
