// Links that a command has stored.

// Package clitest has what tests of several groups of commands compare: stored links, and the status of a cluster.
package clitest

import (
	"maps"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/triple"
)

// Edge is a link of a plain graph: its source and its destination.
type Edge [2]string

// StoredLinks returns the links of a directory with their labels, after a check of
// the store.
func StoredLinks(t *testing.T, data, predicate string) map[Edge]links.Label {
	t.Helper()
	db, err := store.Open(data, store.Options{ReadOnly: true, MinFreeBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// 1. A load that was interrupted must leave a store without problems, too.
	report, err := db.Check(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%v %+v", err, report.Problems)
	}
	sn, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	// 2. A link without an annotation has no label.
	all := make(map[Edge]links.Label)
	for row, err := range sn.Match(t.Context(), triple.Pattern{Predicate: triple.NewIRI(predicate), DefaultGraph: true}, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		tr, err := row.Triple()
		if err != nil {
			t.Fatal(err)
		}
		label := cell.NoLabel
		record, err := sn.Annotation(t.Context(), tr, links.Application)
		if err == nil && record != nil {
			label, err = lists.DecodeLabel(record.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
		all[Edge{tr.Subject.Value(), tr.Object.Value()}] = label
	}
	return all
}

// SameLinks reports each link that only one of two graphs has, or with another label.
func SameLinks(t *testing.T, got, want map[Edge]links.Label) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for e, label := range want {
		if has, ok := got[e]; !ok || has != label {
			t.Errorf("%v is %v (there: %t), want %v", e, has, ok, label)
		}
	}
	for e, label := range got {
		if _, ok := want[e]; !ok {
			t.Errorf("%v %v is from nowhere", e, label)
		}
	}
}
