// Package recovery knows how the copies of a triple make up for each other: how
// every version is regenerated from any one ([Versions]), whether the orders of
// a range of keys hold the same triples ([Digest]), and which machines must
// hold a triple under a placement ([Slots]). It is pure: no goroutine, clock,
// file or socket.
package recovery
