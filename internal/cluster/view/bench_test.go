// Benchmarks of views and plans.

package view

import (
	"fmt"
	"testing"

	"github.com/trefoildb/trefoil/trie"
)

// BenchmarkExclude is what the leader computes between a death and the proposal,
// with 10,000 segments.
func BenchmarkExclude(b *testing.B) {
	l, _ := spread(b, machineOf(0), 10_000, 1)
	v := First("test", "id", up(machineOf(0)), l, 1)
	var ms []Member
	for i := 1; i < 5; i++ {
		ms = append(ms, up(machineOf(i)))
	}
	v = through(b, must(b)(v.Join(ms...)))
	b.ReportAllocs()
	for b.Loop() {
		must(b)(v.Exclude(machineOf(2)))
	}
}

// BenchmarkPlan is a tick of the leader when all is well.
func BenchmarkPlan(b *testing.B) {
	l, _ := spread(b, machineOf(0), 10_000, 1)
	v := First("test", "id", up(machineOf(0)), l, 1)
	reports := map[trie.MachineID]Report{machineOf(0): {Incarnation: 1, Epoch: 1, Swept: true, Reconciled: true}}
	b.ReportAllocs()
	for b.Loop() {
		if next, _, wait := Plan(v, reports, Wishes{}, PlanOptions{}); next != nil || wait != "" {
			b.Fatal(wait)
		}
	}
}

// BenchmarkPlanMembers is a tick of the leader of many members when all is well.
func BenchmarkPlanMembers(b *testing.B) {
	for _, n := range []int{64, 256} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l, _ := spread(b, machineOf(0), 10_000, 1)
			v := First("test", "id", up(machineOf(0)), l, 1)
			var ms []Member
			for i := 1; i < n; i++ {
				ms = append(ms, up(machineOf(i)))
			}
			v = must(b)(v.Join(ms...))
			reports := map[trie.MachineID]Report{}
			for _, m := range v.Members {
				reports[m.ID] = Report{Incarnation: 1, Epoch: v.Epoch}
			}
			for b.Loop() {
				if next, _, _ := Plan(v, reports, Wishes{}, PlanOptions{Self: machineOf(0)}); next != nil {
					b.Fatal("it proposes a view")
				}
			}
		})
	}
}
