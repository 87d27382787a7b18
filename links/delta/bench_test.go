// Benchmarks of appending, and of reading through a delta of a tenth of the links against the
// bare cell.

package delta

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	benchPages  = 200_000
	benchDegree = 18
	perHost     = 40
)

func benchPage(i int) uid.UID {
	host := i / perHost
	return uid.Make(uid.Slot(host/4), uint32(1+host%4), uint32(i%perHost))
}

// cpu returns a function to defer in a benchmark. It reports the processor time an operation,
// because that is steadier than the clock if others use the machine.
func cpu(b *testing.B) func() {
	used := func() int64 {
		var usage syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
			b.Fatal(err)
		}
		return usage.Utime.Nano() + usage.Stime.Nano()
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// benchLink returns a random link. Three of four are within the host.
func benchLink(r *rand.Rand) (from, to int) {
	from = r.IntN(benchPages)
	if r.IntN(4) == 0 {
		return from, r.IntN(benchPages)
	}
	return from, from/perHost*perHost + r.IntN(perHost)
}

var benchCell = sync.OnceValue(func() *cell.Cell {
	b, err := cell.NewBuilder(cell.Options{})
	if err != nil {
		panic(err)
	}
	for i := range benchPages {
		u := benchPage(i)
		if err := b.AddPage(u, fmt.Appendf(nil, "http://h%d.example/p/%d.html", i/perHost, u.Page())); err != nil {
			panic(err)
		}
	}
	r := rand.New(rand.NewPCG(1, 0))
	var edges [2][]cell.Edge
	for range benchPages * benchDegree {
		from, to := benchLink(r)
		edges[cell.Forward] = append(edges[cell.Forward], cell.Edge{From: benchPage(from), To: benchPage(to)})
		edges[cell.Backward] = append(edges[cell.Backward], cell.Edge{From: benchPage(to), To: benchPage(from)})
	}
	for d := range edges {
		slices.SortFunc(edges[d], func(a, b cell.Edge) int {
			return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		})
		if err := b.AddEdges(cell.Direction(d), edges[d], nil); err != nil {
			panic(err)
		}
	}
	data, err := b.Build()
	if err != nil {
		panic(err)
	}
	c, err := cell.Open(data)
	if err != nil {
		panic(err)
	}
	return c
})

// benchBatch fills b with changed links. Three of four are new.
func benchBatch(b *Batch, r *rand.Rand, n int) {
	b.Reset()
	for range n {
		i, j := benchLink(r)
		from, to := benchPage(i), benchPage(j)
		if r.IntN(4) == 0 {
			b.Delete(cell.Forward, from, to)
			b.Delete(cell.Backward, to, from)
		} else {
			b.Add(cell.Forward, from, to)
			b.Add(cell.Backward, to, from)
		}
	}
}

// BenchmarkAppend appends batches, with all merges, until a tenth of the links has changed. A
// link is one change in each direction.
func BenchmarkAppend(b *testing.B) {
	const changed = benchPages * benchDegree / 10
	for _, size := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 0))
			base := benchCell()
			var batch Batch
			var bytes int64
			changes := 0
			defer cpu(b)()
			for b.Loop() {
				d, err := New(base)
				if err != nil {
					b.Fatal(err)
				}
				for range changed / size {
					benchBatch(&batch, r, size)
					if _, err := d.Append(&batch); err != nil {
						b.Fatal(err)
					}
				}
				changes += changed / size * size
				bytes = d.View().Bytes()
			}
			b.ReportMetric(float64(changes)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
			b.ReportMetric(float64(bytes)/changed, "B/link")
		})
	}
}

// benchView returns a view with a tenth of the links changed, in that many epochs.
var benchView = func(b *testing.B, epochs int) *View {
	r := rand.New(rand.NewPCG(2, 0))
	d, err := New(benchCell())
	if err != nil {
		b.Fatal(err)
	}
	var batch Batch
	for range epochs {
		benchBatch(&batch, r, benchPages*benchDegree/10/epochs)
		if _, err := d.Append(&batch); err != nil {
			b.Fatal(err)
		}
	}
	return d.View()
}

func BenchmarkRead(b *testing.B) {
	c := benchCell()
	r := rand.New(rand.NewPCG(3, 0))
	uids := make([]uid.UID, 1<<16)
	for i := range uids {
		uids[i] = benchPage(r.IntN(benchPages))
	}
	for d := range cell.Backward + 1 {
		b.Run(fmt.Sprintf("%s/cell", d), func(b *testing.B) {
			var dst []uid.UID
			defer cpu(b)()
			for i := 0; b.Loop(); i++ {
				ord, _ := c.Ordinal(uids[i&(len(uids)-1)])
				dst = c.AppendLinks(dst[:0], d, ord)
			}
		})
		for _, epochs := range []int{1, 127} {
			v := benchView(b, epochs)
			lists := map[string][]uid.UID{}
			for _, u := range uids {
				name := "unchanged"
				if e, s := v.entry(d, u); e != nil {
					s.release()
					name = "changed"
				}
				lists[name] = append(lists[name], u)
			}
			for name, uids := range lists {
				b.Run(fmt.Sprintf("%s/rows=%d/%s", d, len(v.Rows()), name), func(b *testing.B) {
					var dst []uid.UID
					defer cpu(b)()
					for i := 0; b.Loop(); i++ {
						dst = v.AppendLinks(dst[:0], d, uids[i%len(uids)])
					}
				})
			}
		}
	}
}

// BenchmarkBuild builds the next cell of a view.
func BenchmarkBuild(b *testing.B) {
	v := benchView(b, 127)
	links := int64(0)
	for b.Loop() {
		if _, _, err := v.Build(cell.Options{}); err != nil {
			b.Fatal(err)
		}
		links += v.Cell().NumLinks(cell.Forward)
	}
	b.ReportMetric(float64(links)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
}
