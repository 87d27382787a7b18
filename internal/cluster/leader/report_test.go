// What reports cost a leader, by the number of members.

package leader

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// reportsOf returns a report of each of n members, of which the first are coming back, as
// they are sent, and the view.
func reportsOf(tb testing.TB, n, back int) (v *view.View, all [][]byte) {
	v = &view.View{Epoch: 9, Generation: 1}
	id := func(i int) trie.MachineID { return trie.MachineID(i+1) * 0x123456789ABCD }
	var about []trie.MachineID
	for i := range n {
		v.Members = append(v.Members, view.Member{ID: id(i), Incarnation: 1_000_000, Address: fmt.Sprintf("10.0.%d.%d:7333", i/250, i%250)})
		if i < back {
			about = append(about, id(i))
		}
	}
	for i := range n {
		r := Report{
			ID: id(i), Incarnation: 1_000_000, Number: 1, Address: v.Members[i].Address, Lease: 2 * time.Second, Epoch: 9, Swept: true, Reconciled: true,
			Generation: 1, Seen: 9, Mark: 12, About: about,
			Store: StoreFigures{Triples: 1 << 30, Bytes: 1 << 36, FreeBytes: 1 << 38, Tombstones: 1000, Spare: 1 << 38},
		}
		for _, holder := range about { // of each sequencer that the member is a witness of, and of itself
			for s := range 5 {
				r.Answered = append(r.Answered, Answered{holder, id((i + s) % n), 1_000_000, 123_456_789})
			}
		}
		if i < back {
			r.Incarnation, r.Shows = r.Incarnation+1, true
			for s := range n {
				r.Heard = append(r.Heard, LastBatch{id(s), 1_000_000, 123_456_789})
			}
		}
		body, err := json.Marshal(r)
		require.NoError(tb, err)
		all = append(all, body)
	}
	return v, all
}

// BenchmarkReports is the leader's work on one report, decoded from the wire. KB/s is its input
// if each member sends 2.5 reports a second.
func BenchmarkReports(b *testing.B) {
	for _, n := range []int{7, 64, 128, 256, 1000} {
		for _, back := range []int{0, 1} {
			b.Run(fmt.Sprintf("members=%d/back=%d", n, back), func(b *testing.B) {
				v, all := reportsOf(b, n, back)
				bytes := 0
				for _, body := range all {
					bytes += len(body)
				}
				var g grants
				g.lead(1, 0)
				number := uint64(0)
				for b.Loop() {
					number++
					var r Report
					if err := json.Unmarshal(all[number%uint64(n)], &r); err != nil {
						b.Fatal(err)
					}
					r.Number = number
					if ok, _ := g.report(v, r, time.Hour, time.Hour, time.Hour); !ok {
						b.Fatal("it does not lead")
					}
					g.wanted(v, r.ID)
					g.grant(v, &r, 1, time.Second, time.Hour)
				}
				b.ReportMetric(float64(bytes)/float64(n), "B/report")
				b.ReportMetric(2.5*float64(bytes)/1000, "KB/s")
				b.ReportMetric(2.5*float64(n)*b.Elapsed().Seconds()/float64(b.N)*100, "%CPU")
			})
		}
	}
}

// Reports do not grow with the members.
func TestReportsDoNotGrow(t *testing.T) {
	_, few := reportsOf(t, 5, 0)
	_, many := reportsOf(t, 1000, 0)
	if len(many[999]) > len(few[4])+50 {
		t.Errorf("%d bytes of one of 1,000 members, %d of one of five", len(many[999]), len(few[4]))
	}
}

// FuzzReport: the leader must take any report of a member, and answer.
func FuzzReport(f *testing.F) {
	_, all := reportsOf(f, 3, 1)
	for _, body := range all {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var r Report
		if json.Unmarshal(body, &r) != nil {
			return
		}
		v, others := reportsOf(t, 3, 1)
		var g grants
		g.lead(1, 0)
		for _, body := range others {
			var o Report
			require.NoError(t, json.Unmarshal(body, &o))
			g.report(v, o, time.Second, time.Second, time.Second)
		}
		r.Number = 2
		g.report(v, r, time.Second, time.Second, time.Second)
		for i := range v.Members {
			g.wanted(v, v.Members[i].ID)
			if h, ok := g.reports[v.Members[i].ID]; ok {
				h.diskShows(&v.Members[i])
			}
		}
		g.grant(v, &r, 1, time.Second, time.Second)
	})
}
