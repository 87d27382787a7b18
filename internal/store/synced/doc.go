// Package synced finds the loss of synced bytes in Pebble's manifests and write-ahead logs, because
// Pebble takes some damage for their end.
//
// A manifest is a log of the tables of a database. Pebble reads both kinds up to the first record
// with a wrong checksum. It must do so, because a crash may cut off a write. After damage to a
// manifest it continues with an older state of the database and deletes all unknown tables. After
// damage to the last 32 KiB of a log it drops the acknowledged writes behind it. Neither is an error.
//
// Therefore each file has one beside it with its synced length: MANIFEST-000012.synced,
// 000014.log.synced. [Guard] writes it, and [Check] compares the two before a database is opened.
// It is a sequence of entries:
//
//	+----------+----------+
//	| length 8 | CRC-32 4 |   little-endian
//	+----------+----------+
//
// The length is the length of the file in bytes, all of them synced; a record or a part of one ends
// there. The CRC-32 (Castagnoli) is over the file's name and the eight bytes. If the checksum of an
// entry is wrong, the entry is skipped. The greatest remaining length counts. Records behind it
// were being written when the process ended. Nothing depends on them, and they may be cut off
// anywhere.
//
// Invariant: an entry is written after the sync of its length has ended. So no crash leaves an
// entry with too great a length, and a store that is whole is never rejected.
//
//   - An entry of a manifest is appended, and synced before Pebble continues.
//   - An entry of a log is written before the write is acknowledged, and synced at most [syncAfter]
//     later, because a second sync of each commit would double its time. After the end of the
//     process it counts in full, because the operating system has it. After a loss of power the
//     entries of the last [syncAfter] may be missing: damage in these bytes alone looks like a write
//     cut off. The file is a ring of [ringEntries] entries, so it never grows with the disk full.
//
// Damage to this file is no error. If a bit flips in its last entry, the entry before still
// counts. Data is lost only if the last record is damaged, too. A manifest or log without the file
// is not checked: Pebble itself and earlier releases leave such ones. So does a checkpoint for
// its copies of logs. The next files have it, because each opening for writes begins new ones.
package synced
