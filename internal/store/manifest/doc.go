// Package manifest finds damage in Pebble's manifests, because Pebble takes it for their end.
//
// A manifest is a log of the tables of a database. Pebble reads it up to the first record with a
// wrong checksum. It must do so, because a crash may cut off a write. It then continues with an
// older state of the database and deletes all unknown tables. So one flipped bit removes
// everything that was written after it, without an error.
//
// Therefore each manifest has a file beside it with its synced length: MANIFEST-000012.synced for
// MANIFEST-000012. [Guard] writes it, and [Check] compares the two before a database is opened.
// The file is a sequence of entries. One is added after each sync of the manifest, and must be
// synced before Pebble continues:
//
//	+----------+----------+
//	| length 8 | CRC-32 4 |   little-endian
//	+----------+----------+
//
// The length is the length of the manifest in bytes, all of them synced; a record ends there. The
// CRC-32 (Castagnoli) is over the manifest's name and the eight bytes. If the checksum of an entry
// is wrong, the entry is skipped. The greatest remaining length counts. Records behind it were
// being written when the process ended. Nothing depends on them, and they may be cut off anywhere.
//
// Damage to this file is no error. If a bit flips in its last entry, the entry before still
// counts. Data is lost only if the manifest's last record is damaged, too. A manifest without the
// file is not checked: Pebble itself and earlier releases leave such ones. The next manifest has a
// file, because each opening for writes begins a new one.
package manifest
