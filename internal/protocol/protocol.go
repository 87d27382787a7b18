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
// A minor is never used again: 3.7 is followed by 3.8 or 4.8.
package protocol

import "fmt"

const (
	// Major changes if nodes of the release before cannot be in one cluster with this one.
	Major = 3
	// Minor grows with each release that adds to the protocol.
	Minor = 3
)

// Feed is the minor that added the change feed of a cluster: the stamper of an operation, the feed
// in the view, and the methods of package changes.
const Feed = 1

// AnnotationVersions is the first minor with versions of annotations: conditions, versions in
// reads, and annotations with a media type of up to 1 MiB beside it.
const AnnotationVersions = 1

// Skip is the first minor in which owners skip rows of a read.
const Skip = 1

// Versions is the first minor in which a member reports which versions of a triple it has.
const Versions = 1

// Operations is the first minor in which a member answers for its queries and its activity.
const Operations = 1

// TripleTerms is the first minor whose builds decode triple terms in keys and operations.
const TripleTerms = 2

// SystemLinks is the first minor whose builds have the UIDs of pages in the system graph.
const SystemLinks = 3

// Name returns the version of this major with a minor, such as 3.0.
func Name(minor uint64) string { return fmt.Sprintf("%d.%d", Major, minor) }
