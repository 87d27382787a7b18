// Package route sends queries to the machines that hold the partitions of their pages, and puts the
// answers together.
//
// A [Router] knows what other machines hold and which are down. [Gather] divides a [Request] by machine,
// sends each a [Query] in bounded messages, and sends the rest elsewhere if a machine fails.
package route
