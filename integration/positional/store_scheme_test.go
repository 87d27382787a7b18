// This file holds the builder: from pages and their links to the partitions and
// tables of both placements.

package positional

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/links/weburl"
)

// Options are the parameters of [Build].
type Options struct {
	Policy Policy
	Layout Layout
	// PrimaryOf and SecondaryOf replace the policy's hashes, if they are not nil: they return the
	// partition of the host with a key, for example from a table. They must be pure functions.
	PrimaryOf, SecondaryOf func(hostKey string) int
}

// Validate returns an error that wraps [ErrPolicy] or [ErrLayout] if the options contradict each
// other.
func (o Options) Validate() error {
	if err := o.Policy.Validate(); err != nil {
		return err
	}
	return o.Layout.Validate(o.Policy)
}

// withHashes returns the options with the policy's hashes if none are set.
func (o Options) withHashes() Options {
	if o.PrimaryOf == nil {
		o.PrimaryOf = o.Policy.PrimaryOf
	}
	if o.SecondaryOf == nil {
		o.SecondaryOf = o.Policy.SecondaryOf
	}
	return o
}

// Store is a graph in both placements: the contents of the disks of a cluster's machines. It is
// immutable and safe for concurrent use.
type Store struct {
	options  Options
	machines []*Machine
	urls     int
	links    int
}

// page is one page during a build.
type page struct {
	url, host          string
	primary, secondary UID
}

// builder is a store during its build.
type builder struct {
	options Options
	pages   []page // in the order of weburl.Compare
	// edges are forward links, from and to, and backward ones, to and from: places
	// in pages, ascending, each once.
	edges [2][][2]int32
	parts map[Part][]int32 // places in pages, ascending
	in    []Row            // of PrimToSec
	out   []Row            // of SecToPrim
}

// Build returns the store of a graph. Every IRI that is a page or the target of a link is a page.
// If a page is repeated, its links are merged; duplicates are dropped. The error wraps [ErrPolicy]
// or [ErrLayout].
func Build(graph iter.Seq2[string, []string], o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &builder{options: o.withHashes(), parts: make(map[Part][]int32)}
	b.read(graph)
	if err := b.place(); err != nil {
		return nil, err
	}
	return b.store(), nil
}

// read collects the pages, in order, and the links.
func (b *builder) read(graph iter.Seq2[string, []string]) {
	// 1. Number the pages in the order of their appearance.
	places := make(map[string]int32)
	place := func(url string) int32 {
		i, known := places[url]
		if !known {
			i = int32(len(b.pages))
			places[url] = i
			b.pages = append(b.pages, page{url: url, host: weburl.HostKey(url)})
		}
		return i
	}
	var edges [][2]int32
	for url, targets := range graph {
		from := place(url)
		for _, target := range targets {
			edges = append(edges, [2]int32{from, place(target)})
		}
	}
	// 2. Sort the pages, and renumber the links, because lists must ascend.
	slices.SortFunc(b.pages, func(a, b page) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.url, b.url))
	})
	sorted := make([]int32, len(b.pages)) // by the place in order of appearance
	for i, p := range b.pages {
		sorted[places[p.url]] = int32(i)
	}
	for _, edge := range edges {
		from, to := sorted[edge[0]], sorted[edge[1]]
		b.edges[Forward] = append(b.edges[Forward], [2]int32{from, to})
		b.edges[Backward] = append(b.edges[Backward], [2]int32{to, from})
	}
	for d, edges := range b.edges {
		slices.SortFunc(edges, func(a, b [2]int32) int {
			return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
		})
		b.edges[d] = slices.Compact(edges)
	}
}

// place assigns two UIDs to every page, and rows to every host.
func (b *builder) place() error {
	policy, layout := b.options.Policy, b.options.Layout
	var first, second Part // of the host
	// Pages of a host are neighbours, so its partitions are computed once.
	for i := range b.pages {
		p := &b.pages[i]
		newHost := i == 0 || b.pages[i-1].host != p.host
		if newHost {
			first = Part{Number: b.options.PrimaryOf(p.host)}
			second = Part{Secondary: true, Number: b.options.SecondaryOf(p.host)}
			if first.Number < 0 || first.Number >= policy.Primaries() || second.Number < 0 || second.Number >= policy.Secondaries() {
				return fmt.Errorf("positional: host %.100s in %s and %s: there is no such partition: %w", p.host, first, second, ErrPolicy)
			}
		}
		here, there := uint64(len(b.parts[first])), uint64(len(b.parts[second]))
		if max(here, there) > layout.maxRelative() {
			return fmt.Errorf("positional: more than %d pages in %s or %s: %w", layout.maxRelative(), first, second, ErrLayout)
		}
		p.primary = layout.Make(first.Number, second.Number, here)
		p.secondary = layout.Make(first.Number, second.Number, there)
		if newHost {
			b.in = append(b.in, Row{p.primary, there})
			b.out = append(b.out, Row{p.secondary, here})
		}
		b.parts[first] = append(b.parts[first], int32(i))
		b.parts[second] = append(b.parts[second], int32(i))
	}
	return nil
}

// store builds the partitions and puts them on the machines' disks.
func (b *builder) store() *Store {
	policy, layout := b.options.Policy, b.options.Layout
	s := &Store{options: b.options, urls: len(b.pages), links: len(b.edges[Forward])}
	in, out := NewPrimToSec(layout, b.in), NewSecToPrim(layout, b.out)
	partitions := make(map[Part]*partition)
	tables := make(map[int]PrimToSec)
	for x := range policy.Primaries() {
		m := &Machine{options: &s.options, number: x, disk: make(map[Part]*partition), in: make(map[int]PrimToSec), out: out}
		for _, part := range policy.Disk(x) {
			if partitions[part] == nil {
				partitions[part] = b.partition(part)
				if part.Secondary {
					tables[part.Number] = in.Secondary(part.Number)
				}
			}
			m.disk[part] = partitions[part]
			if part.Secondary {
				m.in[part.Number] = tables[part.Number]
			}
		}
		s.machines = append(s.machines, m)
	}
	return s
}

// partition returns a partition with its IRIs and lists.
func (b *builder) partition(part Part) *partition {
	uidOf := func(i int32) UID {
		if part.Secondary {
			return b.pages[i].secondary
		}
		return b.pages[i].primary
	}
	// 1. The IRIs of its pages.
	members := b.parts[part]
	p := &partition{}
	for _, i := range members {
		p.urls = append(p.urls, b.pages[i].url)
	}
	// 2. The lists of both directions, in the UIDs of this placement.
	var targets []UID
	for d, edges := range b.edges {
		lists := &p.lists[d]
		for _, i := range members {
			targets = targets[:0]
			at, _ := slices.BinarySearchFunc(edges, i, func(edge [2]int32, i int32) int { return cmp.Compare(edge[0], i) })
			for ; at < len(edges) && edges[at][0] == i; at++ {
				targets = append(targets, uidOf(edges[at][1]))
			}
			slices.Sort(targets)
			lists.data = AppendList(lists.data, uidOf(i), targets)
			lists.ends = append(lists.ends, len(lists.data))
		}
	}
	return p
}

// NumUrls returns the number of pages of the graph.
func (s *Store) NumUrls() int { return s.urls }

// NumLinks returns the number of links of the graph.
func (s *Store) NumLinks() int { return s.links }

// Machine returns machine x of the cluster, 0 <= x < n.
func (s *Store) Machine(x int) *Machine { return s.machines[x] }
