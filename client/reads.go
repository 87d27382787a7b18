// Read counts: what clients have read, for subscriptions of kind read.

package client

import (
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// ReadCount is how often a caller has read a pattern.
type ReadCount struct {
	// Pattern has the terms that all rows of the reads share. If Other is set, it is unknown, because
	// a node counts a bounded number of patterns.
	Pattern triple.Pattern
	Other   bool
	// Long names the positions of the pattern, of s, p, o and g, whose terms are too long to be shown.
	Long []string
	// Caller is "anonymous", "client", "operator" or "application"; Application is its ID then. Both
	// are "" of others.
	Caller, Application string
	// Reads is the number of scans, Rows that of the rows that they returned. The first scan ended at
	// First, the last one at Last.
	Reads, Rows int64
	First, Last time.Time
	// Run and Batch identify the batch: those of a batch that comes again are equal.
	Run   string
	Batch uint64
}

// wireRead has the members of a line that only reads have.
type wireRead struct {
	Caller      string
	Other       bool
	Long        []string
	Reads, Rows int64
	First, Last time.Time
	Run         string
	Batch       uint64
}

// takeRead moves what a line has of a read to its ReadCount.
func (c *Change) takeRead(w *wireChange) {
	t := c.Triple
	c.Read = &ReadCount{
		Pattern: triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, Graph: t.Graph, DefaultGraph: w.Default},
		Other:   w.Other, Long: w.Long, Caller: w.Caller, Application: w.App, Reads: w.Reads, Rows: w.Rows,
		First: w.First, Last: w.Last, Run: w.Run, Batch: w.Batch,
	}
	c.Triple, c.Application, c.Default = triple.Triple{}, "", false
}
