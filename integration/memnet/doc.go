// Package memnet is a network in memory for tests: hosts with streams and
// datagrams between them, and the faults of networks.
//
// A Host has the methods of port.Network, so that a node runs on it unchanged.
// Nothing in it waits for the system: it works inside of testing/synctest, where
// the time of delays and deadlines costs nothing.
//
// Streams keep what TCP keeps. Bytes come whole and in order. Where the way is
// cut they wait, in both buffers, and come after it is healed; neither end gets an error.
// What ends a connection travels the way of its bytes, so a host that was killed
// behind a cut looks like one that is slow. Datagrams are lost by chance, in cuts,
// and where nobody reads them; with a delay that varies they overtake each other.
//
// A frozen host is one whose processes are stopped: it neither reads nor writes, and
// its peers get no error.
//
// What chance decides, loss and delay, is drawn for each way by itself, from the
// network's seed: the nth datagram from one host to another has the same fate in
// every run, whatever happens between other hosts.
package memnet
