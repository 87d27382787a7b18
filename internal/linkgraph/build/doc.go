// Package build makes cells from the rows of the store. A [Maker] reads the pages of partitions, then
// their links in one pass or several within a bound of memory, and returns the parts with a position of
// the feed.
package build
