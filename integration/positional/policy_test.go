// Tests of the policies that choose servers.

package positional

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var random = seed.Rand

// clusters are the policies that are gone through completely.
func clusters() []Policy {
	var policies []Policy
	for n := 1; n <= 7; n++ {
		for f := 0; f <= min(3, n-1); f++ {
			policies = append(policies, Policy{n, f})
		}
	}
	return policies
}

// failedSets returns all sets of failed machines that a policy tolerates, none
// first.
func failedSets(p Policy) []Failed {
	sets := []Failed{{}}
	for subset := 1; subset < 1<<p.Primaries(); subset++ {
		var machines []int
		for x := range p.Primaries() {
			if subset>>x&1 == 1 {
				machines = append(machines, x)
			}
		}
		if len(machines) <= p.Failures {
			sets = append(sets, NewFailed(machines...))
		}
	}
	return sets
}

func TestFailed(t *testing.T) {
	f := NewFailed(5, 2, 5)
	if f.Len() != 2 || f.String() != "[2 5]" {
		t.Errorf("%d failed: %s", f.Len(), f)
	}
	for x, want := range []int{0, 0, 0, 1, 1, 1, 2, 2} {
		if f.Below(x) != want || f.Contains(x) != (x == 2 || x == 5) {
			t.Errorf("machine %d: %d below, failed %t", x, f.Below(x), f.Contains(x))
		}
	}
}

// TestPaperFigure is eight machines of which two may fail, and 2 and 5 have:
// the case that the paper draws.
func TestPaperFigure(t *testing.T) {
	p, failed := Policy{8, 2}, NewFailed(2, 5)
	for x, want := range []int{0, 1, -1, 2, 3, -1, 4, 5} {
		k, ok := p.Partition(x, failed)
		if ok != (want >= 0) || ok && k != want {
			t.Errorf("machine %d serves %d, %t; want %d", x, k, ok, want)
		}
	}
	// With one failure, the last machine is idle.
	if k, ok := p.Partition(7, NewFailed(2)); ok {
		t.Errorf("machine 7 serves %d", k)
	}
	want := []Part{{false, 0}, {false, 6}, {false, 7}, {true, 0}}
	if got := p.Disk(0); !slices.Equal(got, want) {
		t.Errorf("disk of machine 0: %v, want %v", got, want)
	}
	want = []Part{{false, 5}, {false, 6}, {false, 7}, {true, 5}}
	if got := p.Disk(7); !slices.Equal(got, want) {
		t.Errorf("disk of machine 7: %v, want %v", got, want)
	}
}

// oracle is P computed one live machine after the other.
func oracle(p Policy, failed Failed) map[int]int {
	serves := map[int]int{}
	for x, k := 0, 0; x < p.Primaries() && k < p.Primaries()-p.Failures; x++ {
		if !failed.Contains(x) {
			serves[x] = k
			k++
		}
	}
	return serves
}

// TestEveryPartitionHasOneServer goes through all failed sets of all small
// clusters: each partition is in the memory of exactly one live machine, which
// has it on its disk.
func TestEveryPartitionHasOneServer(t *testing.T) {
	for _, p := range clusters() {
		served := map[int]map[int]bool{} // by secondary partition: by whom, ever
		for _, failed := range failedSets(p) {
			want := oracle(p, failed)
			memory := map[Part][]int{}
			for x := range p.Primaries() {
				k, ok := p.Partition(x, failed)
				if wantK, serves := want[x]; ok != serves || ok && k != wantK {
					t.Fatalf("%v, %s failed: P(%d) = %d, %t; want %d, %t", p, failed, x, k, ok, wantK, serves)
				}
				if back, okBack := p.Machine(k, failed); ok && (!okBack || back != x) {
					t.Fatalf("%v, %s failed: P(%d) = %d, M(%d) = %d", p, failed, x, k, k, back)
				}
				part, ok := p.Memory(x, failed)
				if !ok {
					continue
				}
				if failed.Contains(x) || !slices.Contains(p.Disk(x), part) {
					t.Fatalf("%v, %s failed: machine %d serves %s", p, failed, x, part)
				}
				memory[part] = append(memory[part], x)
			}
			parts := p.Primaries()
			if failed.Len() > 0 {
				parts = p.Secondaries()
			}
			for k := range parts {
				part := Part{failed.Len() > 0, k}
				if len(memory[part]) != 1 {
					t.Fatalf("%v, %s failed: %s is served by %v", p, failed, part, memory[part])
				}
				if served[k] == nil {
					served[k] = map[int]bool{}
				}
				served[k][memory[part][0]] = true
			}
			if len(memory) != parts {
				t.Fatalf("%v, %s failed: %v", p, failed, memory)
			}
		}
		// Every copy of a secondary partition is useful.
		for k := range p.Secondaries() {
			for _, x := range p.Copies(Part{true, k}) {
				if !served[k][x] && p.Failures > 0 {
					t.Errorf("%v: machine %d never serves secondary partition %d", p, x, k)
				}
			}
		}
	}
}

// TestReplace checks that whatever failed can be copied from what is live, and
// that the disks are those of the policy.
func TestReplace(t *testing.T) {
	for _, p := range clusters() {
		for _, failed := range failedSets(p) {
			for x := range p.Primaries() {
				copies, err := p.Replace(x, failed)
				if err != nil {
					t.Fatal(err)
				}
				var parts []Part
				for _, c := range copies {
					parts = append(parts, c.Part)
					if failed.Contains(c.From) || c.From == x || !slices.Contains(p.Disk(c.From), c.Part) {
						t.Fatalf("%v, %s failed: machine %d gets %s from %d", p, failed, x, c.Part, c.From)
					}
				}
				if failed.Contains(x) && !slices.Equal(parts, p.Disk(x)) {
					t.Fatalf("%v, %s failed: machine %d gets %v, has %v", p, failed, x, parts, p.Disk(x))
				}
			}
		}
	}
}

func TestDiskAndCopiesAgree(t *testing.T) {
	for _, p := range clusters() {
		held := 0
		for x := range p.Primaries() {
			held += len(p.Disk(x))
			for _, part := range p.Disk(x) {
				if !slices.Contains(p.Copies(part), x) {
					t.Errorf("%v: %s on machine %d, copies on %v", p, part, x, p.Copies(part))
				}
			}
		}
		if want := (p.Failures + 1) * (p.Primaries() + p.Secondaries()); held != want {
			t.Errorf("%v: %d partitions on disks, want %d", p, held, want)
		}
		if p.Disk(-1) != nil || p.Disk(p.Primaries()) != nil {
			t.Errorf("%v: machines that there are not have disks", p)
		}
	}
}

func TestPolicyErrors(t *testing.T) {
	for _, p := range []Policy{{-1, 0}, {0, 1}, {3, 3}, {3, -1}, {1, 1}} {
		if err := p.Validate(); !errors.Is(err, ErrPolicy) {
			t.Errorf("%v: %v", p, err)
		}
		if err := p.Check(Failed{}); !errors.Is(err, ErrPolicy) {
			t.Errorf("%v: %v", p, err)
		}
	}
	for _, p := range []Policy{{}, {1, 0}, {3, 2}} {
		if err := p.Validate(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	p := Policy{5, 2}
	for _, test := range []struct {
		failed Failed
		want   error
	}{
		{NewFailed(0, 4), nil},
		{NewFailed(0, 1, 4), ErrTooManyFailed},
		{NewFailed(5), ErrPolicy},
		{NewFailed(-1, 3), ErrPolicy},
	} {
		if err := p.Check(test.failed); !errors.Is(err, test.want) {
			t.Errorf("%s failed: %v, want %v", test.failed, err, test.want)
		}
		if _, err := p.Replace(0, test.failed); !errors.Is(err, test.want) {
			t.Errorf("%s failed: %v, want %v", test.failed, err, test.want)
		}
	}
	for _, k := range []int{-1, 3} {
		if x, ok := p.Machine(k, NewFailed(1)); ok {
			t.Errorf("M(%d) = %d", k, x)
		}
	}
	if x, ok := p.Machine(0, NewFailed(0, 1, 2)); ok {
		t.Errorf("too many failed: M(0) = %d", x)
	}
	for _, x := range []int{-1, 5} {
		if k, ok := p.Partition(x, Failed{}); ok {
			t.Errorf("P(%d) = %d", x, k)
		}
		if part, ok := p.Memory(x, Failed{}); ok {
			t.Errorf("memory of %d: %s", x, part)
		}
	}
}

// TestHashes checks that hosts are spread evenly, and that the secondary
// partition does not follow from the primary one.
func TestHashes(t *testing.T) {
	p := Policy{7, 2}
	const hosts = 70_000
	var counts [7][5]int
	for i := range hosts {
		key := fmt.Sprint("org.example.h", i)
		counts[p.PrimaryOf(key)][p.SecondaryOf(key)]++
	}
	for k := range counts {
		for s, count := range counts[k] {
			if count < hosts/35*8/10 || count > hosts/35*12/10 {
				t.Errorf("primary %d, secondary %d: %d hosts of %d", k, s, count, hosts/35)
			}
		}
	}
	// The hashes are part of every UID: they never change.
	if k, s := p.PrimaryOf("org.example.www"), p.SecondaryOf("org.example.www"); k != 3 || s != 4 {
		t.Errorf("org.example.www: primary %d, secondary %d", k, s)
	}
}
