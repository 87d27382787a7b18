// Package memnet is a network in memory for tests: hosts with streams and
// datagrams between them, and the faults of networks.
//
// A Host has the methods of port.Network, so a node runs on it unchanged. Nothing in it waits for
// the system, so it works inside of testing/synctest. There the time of delays and deadlines costs
// nothing.
//
// Streams behave like TCP. Bytes arrive completely and in order. If the way is cut, they wait in
// both buffers and arrive after it is healed; neither end gets an error. The end of a connection
// travels the way of its bytes. So a host that was killed behind a cut looks like a slow one.
// Datagrams may be lost by chance, in cuts, and if no socket reads them. If the delay varies, they
// overtake each other.
//
// A frozen host is one with stopped processes. It neither reads nor writes, and its peers get no
// error.
//
// Loss and delay are drawn for each way separately, from the network's seed. So the nth datagram
// from one host to another has the same fate in every run, whatever happens between other hosts.
package memnet
