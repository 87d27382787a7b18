// Package recovery knows how the copies of a triple make up for each other: how
// every version is regenerated from any one ([Versions]), whether the orders of
// a range of keys hold the same triples ([Digest]), which machines must hold a
// triple under a placement ([Layout.Slots]), which row fills an empty slot
// ([Resolver.Fills]), and which rows a machine must read for that
// ([Joint.Backfill]). It is pure: no goroutine, clock, file or socket.
package recovery
