// What this program is for.

// Replay runs tests of clusters so that a seed repeats its history. Its test, which runs
// if TREFOIL_REPLAY is set, shows that for one seed: three processes write the same events
// byte for byte. Some other seeds do not repeat; -times 2 shows if one does.
//
//	go run ./integration/replay -seeds 7 -times 3       # the same seed three times: is it one history?
//	go run ./integration/replay -seeds 1-1000 -jobs 2   # a thousand seeds, a process each
//
// It builds the test binary of integration/cluster with a runtime in which a seed
// decides all that chance and time decide otherwise (see the edits in runtime.go):
// there is one processor and no preemption, every random number follows from
// TREFOIL_SEED, the clock is the fake one of the build tag faketime, and garbage is
// collected while the world stands still. Go's overlay of source files does it: the
// toolchain and the code of trefoil are not changed.
//
// The tests write what happens to the file TREFOIL_EVENTS: messages and datagrams,
// operations on disks, what clients did and saw, and the log of every machine. Two
// runs of a seed are the same if these files are. A file is compared by its SHA-256.
//
// The history of a seed holds for one binary: a change of the code, of Go or of the
// processor's kind gives another one. The environment is always the same, because
// its size would move what is in memory and with it the order of maps by pointers.
package main
