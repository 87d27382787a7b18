// Package manifest finds damage in Pebble's manifests, which Pebble takes for the
// end of one.
//
// A manifest is a log of the tables that make up a database. Pebble reads it up to
// the first record whose checksum is wrong, as it must after a crash in the middle
// of a write, and goes on with what it has read: a database as it was some time
// ago. It then deletes the tables that it has not heard of. One flipped bit takes
// all that came into the database after it, and no error tells.
//
// So each manifest has a file beside it that says how much of it has been synced:
// MANIFEST-000012.synced for MANIFEST-000012. [Guard] keeps it, [Check] compares
// the two before a database is opened. The file is a sequence of entries, one after
// each sync of the manifest, synced in turn before Pebble goes on:
//
//	+----------+----------+
//	| length 8 | CRC-32 4 |   little-endian
//	+----------+----------+
//
// The length is that of the manifest, in bytes, all of them synced; a record ends
// there. The CRC-32 (Castagnoli) is over the manifest's name and the eight bytes.
// Entries whose checksum is wrong are passed over: the longest length that is left
// counts. What stands behind it in the manifest was being written when the process
// ended, nothing depends on it, and it may be cut off anywhere.
//
// Damage to this file is no error. A flipped bit in its last entry leaves the
// promise of the entry before, and only together with one in the manifest's last
// record is anything lost. A manifest without the file, as Pebble by itself or an
// earlier version of this program leaves it, is not checked: the next manifest has
// one, and each opening of a database for writes begins a new one.
package manifest
