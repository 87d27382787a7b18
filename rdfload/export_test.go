// Access to limits for tests from outside the package.

package rdfload

import "time"

// SetLimits makes runs, blocks, units and tables small, because few data must have many of them. 0
// leaves a limit unchanged.
func (o *Options) SetLimits(runQuads int64, levelRuns, blockBytes, unitTriples int, tableBytes uint64) {
	o.limits = limits{progress: o.limits.progress, runQuads: runQuads, levelRuns: levelRuns, blockBytes: blockBytes, unitTriples: unitTriples, tableBytes: tableBytes}
}

// SetProgressEvery sets the interval between calls of Progress.
func (o *Options) SetProgressEvery(d time.Duration) { o.limits.progress = d }

// BlankPrefix is blankPrefix.
func BlankPrefix(id string, source int) string { return blankPrefix(id, source) }
