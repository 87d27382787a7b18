// The places of data on machines: the hashes, the copies on disks, and
// who serves what when machines have failed.

package positional

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/uid"
)

var (
	// ErrPolicy says that there is no such cluster.
	ErrPolicy = errors.New("not a cluster that tolerates so many failures")
	// ErrTooManyFailed says that more machines have failed than are tolerated.
	ErrTooManyFailed = errors.New("more machines have failed than the cluster tolerates")
)

// Policy is the size of a cluster. The zero value is one machine.
type Policy struct {
	// Machines is n, how many machines there are; 0 means 1. They are numbered
	// from 0.
	Machines int
	// Failures is f, how many of them may fail at once. Invariant: 0 <= f < n.
	Failures int
}

// Validate returns an error that wraps [ErrPolicy] if the policy's fields are
// not as documented.
func (p Policy) Validate() error {
	if p.Machines < 0 || p.Failures < 0 || p.Failures >= p.Primaries() {
		return fmt.Errorf("positional: %d machines of which %d may fail: %w", p.Primaries(), p.Failures, ErrPolicy)
	}
	return nil
}

// Primaries returns n: how many machines, and so primary partitions, there are.
func (p Policy) Primaries() int {
	if p.Machines == 0 {
		return 1
	}
	return p.Machines
}

// Secondaries returns n - f: how many secondary partitions there are.
func (p Policy) Secondaries() int { return p.Primaries() - p.Failures }

// PrimaryOf is H(n): the primary partition of the host with this key.
func (p Policy) PrimaryOf(hostKey string) int {
	return reduce(xxhash.Sum64String(hostKey), p.Primaries())
}

// SecondaryOf is H(n-f): the secondary partition of the host with this key. It
// is independent of H(n).
func (p Policy) SecondaryOf(hostKey string) int {
	return reduce(uid.Mix(xxhash.Sum64String(hostKey)), p.Secondaries())
}

// reduce maps a hash to one of n numbers, each as often as any other.
func reduce(hash uint64, n int) int {
	hi, _ := bits.Mul64(hash, uint64(n))
	return int(hi)
}

// Failed is a set of machines that have failed. The zero value is none.
type Failed struct {
	machines []int // ascending, each once
}

// NewFailed returns the set of these machines. It keeps nothing of the slice.
func NewFailed(machines ...int) Failed {
	machines = slices.Clone(machines)
	slices.Sort(machines)
	return Failed{slices.Compact(machines)}
}

// Len returns how many machines have failed.
func (f Failed) Len() int { return len(f.machines) }

// Contains reports whether machine x has failed.
func (f Failed) Contains(x int) bool {
	_, found := slices.BinarySearch(f.machines, x)
	return found
}

// Below is f(x): how many machines with a number less than x have failed.
func (f Failed) Below(x int) int {
	below, _ := slices.BinarySearch(f.machines, x)
	return below
}

// String returns the machines' numbers.
func (f Failed) String() string { return fmt.Sprint(f.machines) }

// Check returns an error if the policy cannot serve with these machines failed:
// one that wraps [ErrTooManyFailed], or [ErrPolicy] if one of them is none.
func (p Policy) Check(failed Failed) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if n := failed.Len(); n > 0 && (failed.machines[0] < 0 || failed.machines[n-1] >= p.Primaries()) {
		return fmt.Errorf("positional: failed machines %s of 0 to %d: %w", failed, p.Primaries()-1, ErrPolicy)
	}
	if failed.Len() > p.Failures {
		return fmt.Errorf("positional: machines %s of %d have failed, %d may: %w", failed, p.Primaries(), p.Failures, ErrTooManyFailed)
	}
	return nil
}

// Partition is P(x): the secondary partition that machine x serves when these
// machines have failed. There is none for a machine that has failed, and for
// live ones beyond the first n-f.
func (p Policy) Partition(x int, failed Failed) (k int, ok bool) {
	if x < 0 || x >= p.Primaries() || failed.Contains(x) {
		return 0, false
	}
	k = x - failed.Below(x)
	return k, k < p.Secondaries()
}

// Machine is M(k), the inverse of [Policy.Partition]: the machine that serves
// secondary partition k when these machines, f at most, have failed.
func (p Policy) Machine(k int, failed Failed) (x int, ok bool) {
	if k < 0 || k >= p.Secondaries() || failed.Len() > p.Failures {
		return 0, false
	}
	x = k
	for _, y := range failed.machines {
		if y > x {
			break
		}
		x++
	}
	return x, true
}

// Part is one partition of a graph that is stored twice.
type Part struct {
	// Secondary says which placement it is of.
	Secondary bool
	// Number is the partition's number in its placement.
	Number int
}

// String returns the partition as "primary 3".
func (p Part) String() string {
	if p.Secondary {
		return fmt.Sprint("secondary ", p.Number)
	}
	return fmt.Sprint("primary ", p.Number)
}

// Copies returns the machines that have a partition on their disks: f+1 of
// them, from its own on.
func (p Policy) Copies(part Part) []int {
	machines := make([]int, 0, p.Failures+1)
	for i := range p.Failures + 1 {
		machines = append(machines, (part.Number+i)%p.Primaries())
	}
	return machines
}

// Disk returns the partitions that machine x has on its disk: primary ones,
// then secondary ones, ascending.
func (p Policy) Disk(x int) []Part {
	if x < 0 || x >= p.Primaries() {
		return nil
	}
	var parts []Part
	for k := range p.Primaries() {
		if part := (Part{Number: k}); p.hasCopy(part, x) {
			parts = append(parts, part)
		}
	}
	for k := range p.Secondaries() {
		if part := (Part{Secondary: true, Number: k}); p.hasCopy(part, x) {
			parts = append(parts, part)
		}
	}
	return parts
}

// hasCopy reports whether x is one of the machines of [Policy.Copies].
func (p Policy) hasCopy(part Part, x int) bool {
	n := p.Primaries()
	return (x-part.Number+n)%n <= p.Failures
}

// Memory returns the partition that machine x has in memory when these machines
// have failed: its primary one if none has, else the secondary one that it
// serves, if it serves any.
func (p Policy) Memory(x int, failed Failed) (part Part, ok bool) {
	if failed.Len() == 0 {
		return Part{Number: x}, 0 <= x && x < p.Primaries()
	}
	k, ok := p.Partition(x, failed)
	return Part{Secondary: true, Number: k}, ok
}

// Copy is a partition to be copied to the disk of a machine that takes the place
// of a failed one, and a live machine that has it.
type Copy struct {
	Part Part
	From int
}

// Replace returns what a new machine x needs on its disk, in the order of
// [Policy.Disk], when these machines, x among them and f at most, have failed:
// each from the first live machine that has it. The error is that of
// [Policy.Check].
func (p Policy) Replace(x int, failed Failed) ([]Copy, error) {
	if err := p.Check(failed); err != nil {
		return nil, err
	}
	var copies []Copy
	for _, part := range p.Disk(x) {
		for _, from := range p.Copies(part) {
			if from != x && !failed.Contains(from) {
				copies = append(copies, Copy{part, from})
				break
			}
		}
	}
	return copies, nil
}
