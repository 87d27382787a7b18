// Benchmarks of the codecs' sizes and speeds, on a generated web and on the hosts' links of
// 1996, beside plain arrays.

package lists

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/trefoildb/trefoil/internal/dataset/linkgen"
)

var directions = []string{"forward", "backward"}

// BenchmarkBytesPerLink reports sizes with positions and headers, but without the dictionary of
// ghosts.
func BenchmarkBytesPerLink(b *testing.B) {
	for _, data := range []struct {
		name string
		load func(b *testing.B) [2][]part
	}{
		{"hosts1996", hosts1996},
		{"generated/cells=1", func(*testing.B) [2][]part { return [2][]part{theWeb().cells(1), theBackward().cells(1)} }},
		{"generated/cells=16", func(*testing.B) [2][]part { return sixteen() }},
	} {
		b.Run(data.name, func(b *testing.B) {
			for d, parts := range data.load(b) {
				for _, codec := range codecs {
					b.Run(fmt.Sprintf("%s/%v", directions[d], codec), func(b *testing.B) {
						reportSize(b, parts, func(p part) (whole, positions uint64) {
							return open(b, build(b, Options{Codec: codec}, p.graph)).Size()
						})
					})
				}
				b.Run(directions[d]+"/nybbles", func(b *testing.B) {
					reportSize(b, parts, func(p part) (whole, positions uint64) { return nybblesOf(p.graph, p.ghosts == 0).size() })
				})
			}
		})
	}
}

// reportSize reports the sizes of tables of the parts. size returns those of one.
func reportSize(b *testing.B, parts []part, size func(p part) (whole, positions uint64)) {
	lists, links, ghosts, distinct := count(parts)
	whole, positions := uint64(0), uint64(0)
	for b.Loop() {
		whole, positions = 0, 0
		for _, p := range parts {
			w, p := size(p)
			whole += w
			positions += p
		}
	}
	b.ReportMetric(float64(whole)/float64(links), "B/link")
	b.ReportMetric(float64(positions)*8/float64(lists), "positionbits/list")
	b.ReportMetric(float64(ghosts)/float64(links), "ghostshare")
	b.ReportMetric(float64(distinct)/float64(links), "distinctghosts/link")
}

// csr is the plain form of the same lists: a T for each target, and 8 bytes a list.
type csr[T uint32 | uint64] struct {
	starts  []uint64
	targets []T
}

func newCSR[T uint32 | uint64](graph []links) *csr[T] {
	c := &csr[T]{starts: []uint64{0}}
	for _, l := range graph {
		for _, list := range [][]uint32{l.locals, l.ghosts} {
			for _, v := range list {
				c.targets = append(c.targets, T(v))
			}
		}
		c.starts = append(c.starts, uint64(len(c.targets)))
	}
	return c
}

func (c *csr[T]) appendLinks(dst []T, key uint32) []T {
	return append(dst, c.targets[c.starts[key]:c.starts[key+1]]...)
}

// BenchmarkDecode reads random lists: of one cell of 62,500 pages, which fits the processor's
// cache, and of the whole web in one cell.
func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 0))
	for _, data := range []struct {
		name string
		load func() part
	}{
		{"cell", func() part { return sixteen()[0][0] }},
		{"whole", func() part { return theWeb().cells(1)[0] }},
	} {
		b.Run(data.name, func(b *testing.B) {
			p := data.load()
			keys := make([]uint32, 1<<16)
			for i := range keys {
				keys[i] = rng.Uint32N(uint32(len(p.graph)))
			}
			for _, codec := range codecs {
				table := open(b, build(b, Options{Codec: codec}, p.graph))
				b.Run(codec.String(), func(b *testing.B) {
					l, g := make([]uint32, 0, 1<<20), make([]uint32, 0, 1<<20)
					i := 0
					for b.Loop() {
						if _, _, err := table.Decode(keys[i&(1<<16-1)], l, g); err != nil {
							b.Fatal(err)
						}
						i++
					}
				})
			}
			benchmarkCSR(b, "csr32", newCSR[uint32](p.graph), keys)
			benchmarkCSR(b, "csr64", newCSR[uint64](p.graph), keys)
		})
	}
}

// BenchmarkDecodeLarge reads random lists of one table of 140 million links, because no cache
// holds it. The table takes some minutes to build.
func BenchmarkDecodeLarge(b *testing.B) {
	if testing.Short() {
		b.Skip("makes 140 million links")
	}
	g, err := linkgen.New(linkgen.Options{Pages: 7_800_000, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	builder, err := NewBuilder(Options{})
	if err != nil {
		b.Fatal(err)
	}
	c := &csr[uint32]{starts: []uint64{0}}
	for p := range g.Pages() {
		from := len(c.targets)
		c.targets = g.Links(p, c.targets)
		c.starts = append(c.starts, uint64(len(c.targets)))
		if err := builder.Append(c.targets[from:], nil); err != nil {
			b.Fatal(err)
		}
	}
	data, err := builder.AppendTo(nil)
	if err != nil {
		b.Fatal(err)
	}
	table := open(b, data)
	rng := rand.New(rand.NewPCG(3, 0))
	keys := make([]uint32, 1<<16)
	for i := range keys {
		keys[i] = rng.Uint32N(table.Len())
	}
	b.Run("streamvbyte", func(b *testing.B) {
		l, g := make([]uint32, 0, 1<<20), make([]uint32, 0, 1<<20)
		i := 0
		for b.Loop() {
			if _, _, err := table.Decode(keys[i&(1<<16-1)], l, g); err != nil {
				b.Fatal(err)
			}
			i++
		}
		b.ReportMetric(float64(len(data))/float64(table.NumLocals()), "B/link")
		b.ReportMetric(float64(table.NumLocals())/1e6, "Mlinks")
	})
	benchmarkCSR(b, "csr32", c, keys)
}

func benchmarkCSR[T uint32 | uint64](b *testing.B, name string, c *csr[T], keys []uint32) {
	b.Run(name, func(b *testing.B) {
		dst := make([]T, 0, 1<<20)
		i := 0
		for b.Loop() {
			dst = c.appendLinks(dst[:0], keys[i&(1<<16-1)])
			i++
		}
	})
}

// BenchmarkDegree reads the degree of random keys.
func BenchmarkDegree(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 0))
	p := sixteen()[0][0]
	for _, codec := range codecs {
		b.Run(codec.String(), func(b *testing.B) {
			table := open(b, build(b, Options{Codec: codec}, p.graph))
			sum := uint64(0)
			for b.Loop() {
				sum += table.Degree(rng.Uint32N(table.Len()))
			}
		})
	}
}

// BenchmarkScan reads all lists of a cell in order and adds up the targets.
func BenchmarkScan(b *testing.B) {
	for d, parts := range sixteen() {
		p := parts[0]
		_, links, _, _ := count(parts[:1])
		for _, codec := range codecs {
			table := open(b, build(b, Options{Codec: codec}, p.graph))
			b.Run(directions[d]+"/"+codec.String(), func(b *testing.B) {
				s := new(Scanner)
				sum := uint32(0)
				for b.Loop() {
					for s.Reset(table, 0, table.Len()); s.Next(); {
						for _, v := range s.Locals() {
							sum += v
						}
						for _, v := range s.Ghosts() {
							sum += v
						}
					}
					if s.Err() != nil {
						b.Fatal(s.Err())
					}
				}
				b.ReportMetric(float64(links)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
			})
		}
		b.Run(directions[d]+"/csr32", func(b *testing.B) {
			c := newCSR[uint32](p.graph)
			sum := uint32(0)
			for b.Loop() {
				for key := range p.graph {
					for _, v := range c.targets[c.starts[key]:c.starts[key+1]] {
						sum += v
					}
				}
			}
			b.ReportMetric(float64(links)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
		})
	}
}

// BenchmarkBuild builds the table of a cell.
func BenchmarkBuild(b *testing.B) {
	p := sixteen()[0][0]
	_, links, _, _ := count(sixteen()[0][:1])
	for _, codec := range codecs {
		b.Run(codec.String(), func(b *testing.B) {
			for b.Loop() {
				build(b, Options{Codec: codec}, p.graph)
			}
			b.ReportMetric(float64(links)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
		})
	}
}

// BenchmarkLongList reads a list of ten million targets in pieces.
func BenchmarkLongList(b *testing.B) {
	const n = 10_000_000
	all := make([]uint32, n)
	for i := range all {
		all[i] = uint32(3 * i)
	}
	for _, codec := range codecs {
		b.Run(codec.String(), func(b *testing.B) {
			table := open(b, build(b, Options{Codec: codec}, []links{{ghosts: all}}))
			s := new(Scanner)
			for b.Loop() {
				for s.Reset(table, 0, 1); s.Next(); {
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mlinks/s")
		})
	}
}
