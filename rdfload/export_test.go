package rdfload

import "time"

// SetLimits makes runs, blocks, units and tables small, so that little data has
// many of them. 0 leaves a limit as it is.
func (o *Options) SetLimits(runQuads int64, levelRuns, blockBytes, unitTriples int, tableBytes uint64) {
	o.limits = limits{progress: o.limits.progress, runQuads: runQuads, levelRuns: levelRuns, blockBytes: blockBytes, unitTriples: unitTriples, tableBytes: tableBytes}
}

// SetProgressEvery says how often Progress is called.
func (o *Options) SetProgressEvery(d time.Duration) { o.limits.progress = d }

// BlankPrefix is blankPrefix.
func BlankPrefix(id string, source int) string { return blankPrefix(id, source) }

// Reserved returns the address space that arenas hold.
func Reserved() int64 { return reserved.Load() }
