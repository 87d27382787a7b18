// Package limits bounds what clients may take of memory and time.
//
// A [Budget] is a number of bytes that all requests share. Each request holds an [Account] of
// it, in the name of its client, because one client must leave room for others. A [SlowLimit]
// computes deadlines of reads and writes: they follow progress, so that a large transfer may
// take long if its client keeps a minimum rate.
package limits
