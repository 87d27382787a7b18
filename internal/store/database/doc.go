// Package database is the Pebble database of a store and the disk below it. [Database] knows when
// the disk is full or has failed, who still uses the database, and which rows have changed.
//
// The route of a write: [Database.Commit] gives the batch to Pebble.
// Pebble writes through guardedFS, which turns an error of a log or a sync into a failure for
// good, because Pebble itself would panic. Flushes and compactions are scheduled by compactions,
// and [Database.Reclaim] adds those that free the space of deleted rows.
package database
