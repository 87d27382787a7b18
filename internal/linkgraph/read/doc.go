// Package read answers the reads of a graph of links. A [Reader] reads this machine's state if it holds
// all partitions of a request, and gathers from several machines otherwise.
package read
