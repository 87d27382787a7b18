// The version of the protocol between nodes.

// Package protocol numbers the protocol between the nodes of a cluster, because builds of two
// releases must be able to form one cluster during an upgrade.
//
// The major is in the hello of every connection (package port). If majors differ, nodes reject each
// other. The minor of a build is in its member of the view and in its reports. Nodes of different
// minors serve each other, by these rules:
//
//   - The minor of a cluster is the least of its members'. The view keeps it (package
//     view). It never falls, so a build with a smaller minor is refused.
//   - A build sends, and writes to a disk, what a minor adds only if the cluster's minor
//     has come so far. Binary messages and rows have no room for unknown fields: a change
//     to one of them is a new method, or depends on the cluster's minor.
//   - The header of a message may get fields in any minor. Who receives one ignores what it
//     does not know.
//   - A JSON object may get fields in any minor. Who decodes one ignores what it does not
//     know. The view is passed on by those who do not know all of it, so it, its members
//     and its loads keep unknown fields. Its other parts get no fields.
//   - A data directory records the cluster's minor before anything of that minor is
//     written to it. A build with a smaller one does not open it.
//
// A minor is never used again: 1.7 is followed by 1.8 or 2.8.
package protocol

import "fmt"

const (
	// Major changes if nodes of the release before cannot be in one cluster with this one.
	Major = 1
	// Minor grows with each release that adds to the protocol. What depends on a minor names it by a
	// constant of this package.
	Minor = 0
)

// Name returns the version of this major with a minor, such as 1.0.
func Name(minor uint64) string { return fmt.Sprintf("%d.%d", Major, minor) }
