// The status of a cluster in which much is going on.

package clitest

import "github.com/trefoildb/trefoil/client"

// Five is the status of a cluster of five in which much is going on.
var Five = client.Status{
	Cluster: "photos", Generation: 2, Epoch: 1017, Phase: "fill", Leader: "00a1", Waiting: "the walk of 00b2", Protocol: "2.0",
	Segments: 1024, Rebuilding: 12, Lost: 1, Triples: 1_280_723, Missing: []string{"00e9"}, Copies: 3, StoredCopies: 2, Bears: 1,
	Excluded:   []client.ExcludedMachine{{ID: "00e9", Address: "10.0.0.9:7333", Epoch: 1016, Why: "which is not heard of"}},
	LostRanges: []client.LostRange{{Order: "pos", Until: `<x:p> "7"^^<x:d> <x:s>`, Epoch: 1001}},
	Members: []client.Member{
		{ID: "00a1", Address: "10.0.0.1:7333", State: "up", Voter: true, Segments: 400, Triples: 600_000, Copies: 1_200_000, Bytes: 3 << 20, Version: "1.4.0", Protocol: "2.1"},
		{ID: "00a2", Address: "10.0.0.2:7333", State: "down", Voter: true, Lag: 1, Protocol: "2.0"},
		{ID: "00b2", Address: "10.0.0.3:7333", State: "leaving", Segments: 300, Protocol: "2.0", Walk: &client.Walk{Rows: 30, Repaired: 7, Left: 70, ETA: 80}},
		{ID: "00b3", Address: "10.0.0.4:7333", State: "up", Segments: 324, Protocol: "2.0", Walk: &client.Walk{Rows: 10, Left: 0}, Error: "the disk is full"},
		{ID: "00c4", Address: "10.0.0.5:7333", State: "spare", Protocol: "2.0"},
	},
}
