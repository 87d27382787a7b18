// Package sample makes triples and layouts for the tests of stores. It imports no store, so that the
// tests inside of their packages can use it.
package sample

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// IRI returns an IRI below http://example.org/.
func IRI(format string, args ...any) triple.Term {
	return triple.NewIRI("http://example.org/" + fmt.Sprintf(format, args...))
}

// Student returns the i-th of a sequence of triples like a university's.
func Student(i int) triple.Triple {
	subject := IRI("university%d/department%d/student%d", i/5000, i/500%10, i/5)
	switch i % 5 {
	case 0:
		return triple.Triple{Subject: subject, Predicate: IRI("type"), Object: IRI("Student")}
	case 1:
		return triple.Triple{Subject: subject, Predicate: IRI("name"), Object: triple.NewString(fmt.Sprintf("Student %d", i/5))}
	case 2:
		return triple.Triple{Subject: subject, Predicate: IRI("age"), Object: triple.NewTyped(fmt.Sprint(18+i%60), triple.XSDInteger)}
	case 3:
		return triple.Triple{Subject: subject, Predicate: IRI("takes"), Object: IRI("university%d/course%d", i/5000, i*7919%50)}
	}
	return triple.Triple{Subject: subject, Predicate: IRI("advisor"), Object: IRI("university%d/professor%d", i/5000, i*104729%20)}
}

// Students returns those of the sequence of [Student] from an index to another one.
func Students(from, to int) []triple.Triple {
	var triples []triple.Triple
	for i := from; i < to; i++ {
		triples = append(triples, Student(i))
	}
	return triples
}

// WithGraph returns triples in a graph.
func WithGraph(graph triple.Term, triples []triple.Triple) []triple.Triple {
	triples = slices.Clone(triples)
	for i := range triples {
		triples[i].Graph = graph
	}
	return triples
}

// Small returns one of a few triples, because draws must meet the same ones again. Some are in
// named graphs, some have long terms.
func Small(rng *rand.Rand) triple.Triple {
	t := triple.Triple{
		Subject:   IRI("s%d", rng.IntN(5)),
		Predicate: IRI("p%d", rng.IntN(3)),
		Object:    triple.NewTyped(fmt.Sprint(rng.IntN(6)), triple.XSDInteger),
	}
	switch rng.IntN(6) {
	case 0:
		t.Graph = IRI("g%d", rng.IntN(2))
	case 1:
		t.Object = triple.NewString(fmt.Sprintf("%01200d", rng.IntN(3)))
	case 2:
		t.Object = IRI("s%d", rng.IntN(5))
	}
	return t
}

// Draws returns at most some triples of [Small].
func Draws(rng *rand.Rand, atMost int) []triple.Triple {
	var triples []triple.Triple
	for range rng.IntN(atMost + 1) {
		triples = append(triples, Small(rng))
	}
	return triples
}

// Long returns n triples with terms too long for keys.
func Long(n int) []triple.Triple {
	var triples []triple.Triple
	for i := range n {
		triples = append(triples, triple.Triple{
			Subject:   IRI("s/%s/%d", strings.Repeat("subject", 300), i),
			Predicate: IRI("p"),
			Object:    triple.NewString(strings.Repeat("text ", 400) + fmt.Sprint(i)),
			Graph:     IRI("graph/%s", strings.Repeat("g", 2000)),
		})
	}
	return triples
}

// Layout returns a layout of a store's machine and some others, with segments split at the keys of
// some triples.
func Layout(t testing.TB, s interface{ MachineID() trie.MachineID }, others int, splits ...triple.Triple) recovery.Layout {
	t.Helper()
	// 1. Any IDs will do if they differ, because places follow from hashes of them.
	machines := []trie.MachineID{s.MachineID()}
	for i := range others {
		machines = append(machines, s.MachineID()+trie.MachineID(i+1)<<40+1)
	}
	const partitions = 64
	placement, err := trie.NewPlacement(machines, trie.PlacementOptions{Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	l := recovery.Layout{Trie: trie.New(1, trie.HashPartition(1, partitions)), Placement: placement}
	// 2. Triples may have the same key in an order, and a segment must not begin twice at one.
	id := uint64(1)
	for _, tr := range splits {
		for _, o := range triple.Orders {
			key, _ := triple.AppendKey(nil, o, tr)
			if len(key) == 0 || bytes.Equal(l.Trie.Lookup(key).Lo, key) {
				continue
			}
			id++
			split, err := l.Trie.Split(l.Trie.Lookup(key).ID, key, id)
			if err == nil {
				split, err = split.Assign(id, trie.HashPartition(id, partitions))
			}
			if err != nil {
				t.Fatal(err)
			}
			l.Trie = split
		}
	}
	return l
}
