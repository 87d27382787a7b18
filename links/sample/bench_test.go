// Benchmarks of samples and sketches.

package sample

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/trefoildb/trefoil/links/uid"
)

// benchList is a list to pages of hosts of 20 pages.
func benchList(length int) []uid.UID {
	links := make([]uid.UID, length)
	for i := range links {
		links[i] = uid.UID(1+i/20)<<uid.PageBits | uid.UID(i%20)
	}
	return links
}

func BenchmarkSample(b *testing.B) {
	for _, length := range []int{18, 1024, 10_000_000} {
		links := benchList(length)
		for _, mode := range []Mode{ModeRandom, ModeConsistent} {
			for _, class := range []Class{All, InterDomain} {
				b.Run(fmt.Sprintf("%s/%s/%d", mode, class, length), func(b *testing.B) {
					b.ReportAllocs()
					var dst []uid.UID
					seed := uint64(0)
					for b.Loop() {
						seed++
						dst = Sample(dst[:0], links, links[0], Spec{N: 10, Mode: mode, Class: class, Seed: seed}, pairs{})
					}
				})
			}
		}
	}
}

func BenchmarkSketchSample(b *testing.B) {
	links := benchList(1_000_000)
	for _, n := range []int{10, 256} {
		view := tableOf(b, NewSketch(links, ClassesOf(pairs{}, links[0]), MaxSketchSize))
		for _, changes := range []int{0, 100} {
			b.Run(fmt.Sprintf("%d/changes=%d", n, changes), func(b *testing.B) {
				b.ReportAllocs()
				r := rand.New(rand.NewPCG(1, 1))
				c := Changes{Added: aList(r, changes, 1000), Deleted: someOf(r, links, changes)}
				var dst []uid.UID
				for b.Loop() {
					var ok bool
					if dst, ok = view.Sample(dst[:0], n, All, c); !ok && changes == 0 {
						b.Fatal("too short")
					}
				}
			})
		}
	}
}

func BenchmarkNewSketch(b *testing.B) {
	for _, length := range []int{2000, 10_000_000} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			links := benchList(length)
			classes := ClassesOf(pairs{}, links[0])
			bytes := 0
			for b.Loop() {
				s := NewSketch(links, classes, SketchSize(length))
				bytes = 8*s.Len() + s.Len()/4 + entryLen
			}
			b.ReportMetric(float64(bytes)/float64(length), "B/link")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(length), "ns/link")
		})
	}
}
