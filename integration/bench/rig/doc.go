// The package comment.

// Package rig holds the parts that the suites of the benchmark share.
//
// A [Rig] is one run: the binary under test, the directory for data and stores, the seed and
// the [Report]. A suite makes its data files once by [Rig.Data] and [Rig.File], starts a
// [Process] or a [Cluster] of processes of the binary, measures, and adds figures to the
// report. A [Process] follows the log of its server, because the log has the times at which a
// member adopts a view or ends a backfill.
package rig
