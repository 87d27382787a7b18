// The other machines of a PageRank, as one machine sees them.

package rank

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/trefoildb/trefoil/links/uid"
)

// A remote is another machine. Before the first round both sides agree on the pages of each side
// that the other one links to (greet). So the message of a round has no page in it:
//
//	float64 lost     scores of the last round that reach no page, as far as this machine knows
//	float64 change   of this machine's scores in the last round, L1
//	n times float64  for each target: the sum of what this machine's links give to it
//
// All numbers are little-endian.
type remote struct {
	number int
	// targets are the pages that this machine links to, ascending. They are dropped when the other
	// machine has them.
	targets []uid.UID
	// sums are by target. The last one is for targets that the other machine lacks.
	sums []float64
	// incoming are the pages of each local part that the other machine links to, in the order of
	// its targets.
	incoming [][]uint32
	message  []byte // the last one from it
	lost     float64
	change   float64
}

const (
	numberLen   = 8
	roundHeader = 2 * numberLen
)

// greeting is the first message of a machine. In bytes its numbers are uvarints, and each target is
// the difference to the one before.
type greeting struct {
	pages, links uint64 // of its partitions
	round        uint64 // 0; in earlier releases a job could go on after a round
	targets      []uid.UID
}

func (g *greeting) encode() []byte {
	b := make([]byte, 0, 4*binary.MaxVarintLen64+4*len(g.targets))
	b = binary.AppendUvarint(b, g.pages)
	b = binary.AppendUvarint(b, g.links)
	b = binary.AppendUvarint(b, g.round)
	return appendAscending(b, g.targets)
}

func openGreeting(b []byte) (*greeting, error) {
	g := &greeting{}
	for _, number := range []*uint64{&g.pages, &g.links, &g.round} {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, fmt.Errorf("a greeting is cut off: %w", ErrExchange)
		}
		*number, b = n, b[size:]
	}
	var err error
	g.targets, err = openAscending[uid.UID](b)
	return g, err
}

// appendAscending appends ascending numbers: their count, then the differences.
func appendAscending[T ~uint32 | ~uint64](b []byte, numbers []T) []byte {
	b = binary.AppendUvarint(b, uint64(len(numbers)))
	before := T(0)
	for _, n := range numbers {
		b = binary.AppendUvarint(b, uint64(n-before))
		before = n
	}
	return b
}

// openAscending decodes all of b. A number takes a byte at least, so the count is bounded.
func openAscending[T ~uint32 | ~uint64](b []byte) ([]T, error) {
	count, size := binary.Uvarint(b)
	if size <= 0 || count > uint64(len(b)-size) {
		return nil, fmt.Errorf("a list of numbers is cut off: %w", ErrExchange)
	}
	b = b[size:]
	numbers := make([]T, count)
	before := T(0)
	for i := range numbers {
		difference, size := binary.Uvarint(b)
		next := before + T(difference)
		if size <= 0 || uint64(T(difference)) != difference || next < before || i > 0 && next == before {
			return nil, fmt.Errorf("number %d of %d does not ascend: %w", i, count, ErrExchange)
		}
		numbers[i], before, b = next, next, b[size:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes follow %d numbers: %w", len(b), count, ErrExchange)
	}
	return numbers, nil
}

// swap sends a message to every other machine and takes theirs, all at the same time.
func (j *job) swap(message func(r *remote) []byte, take func(r *remote, message []byte) error) error {
	// Send does not wait for the receiver, so no two machines wait for each other. errs needs no
	// lock, because each index has one writer.
	errs := make([]error, len(j.remotes))
	var group sync.WaitGroup
	for i, r := range j.remotes {
		group.Go(func() {
			err := j.Exchange.Send(j.ctx, j.step, r.number, message(r))
			var got []byte
			if err == nil {
				got, err = j.Exchange.Receive(j.ctx, j.step, r.number)
			}
			if err != nil {
				errs[i] = j.lost(err)
				return
			}
			if err := take(r, got); err != nil {
				errs[i] = fmt.Errorf("machine %d: %w", r.number, err)
			}
		})
	}
	group.Wait()
	j.step++
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// lost wraps an error of the exchange. If the context has ended, it returns the error as it is.
func (j *job) lost(err error) error {
	if j.ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrExchange, err)
}

// greet agrees with the other machines on the pages of the messages, and returns the sums of all
// machines.
func (j *job) greet(pages, links int64) (_, _ int64, err error) {
	// 1. Send the targets. Find the pages that others link to.
	greetings := make([]*greeting, len(j.remotes))
	unknown := make([][]uint32, len(j.remotes))
	index := func(r *remote) int { return slices.Index(j.remotes, r) }
	err = j.swap(func(r *remote) []byte {
		g := greeting{pages: uint64(pages), links: uint64(links), targets: r.targets}
		b := g.encode()
		r.targets = nil
		return b
	}, func(r *remote, message []byte) (err error) {
		i := index(r)
		if greetings[i], err = openGreeting(message); err == nil {
			unknown[i] = j.locate(r, greetings[i].targets)
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	// 2. Both sides drop the targets that are no pages.
	err = j.swap(func(r *remote) []byte { return appendAscending(nil, unknown[index(r)]) }, func(r *remote, message []byte) error {
		missing, err := openAscending[uint32](message)
		if err == nil && len(missing) > 0 && int(missing[len(missing)-1]) >= len(r.sums)-1 {
			err = fmt.Errorf("target %d of %d is missing: %w", missing[len(missing)-1], len(r.sums)-1, ErrExchange)
		}
		if err == nil {
			j.drop(r, missing)
		}
		return err
	})
	for _, g := range greetings {
		if g != nil {
			pages, links = pages+int64(g.pages), links+int64(g.links)
		}
	}
	return pages, links, err
}

// locate finds the pages of this machine that another one links to, and returns the indexes of
// those that are in no part.
func (j *job) locate(r *remote, targets []uid.UID) (unknown []uint32) {
	r.incoming = make([][]uint32, len(j.parts))
	for i, u := range targets {
		at, ok := j.partOf(u)
		page := uint32(0)
		if ok {
			page, ok = j.parts[at].lists.Find(u)
		}
		if !ok {
			unknown = append(unknown, uint32(i))
			continue
		}
		r.incoming[at] = append(r.incoming[at], page)
	}
	return unknown
}

// drop gives targets that the other machine lacks the last sum, which is not sent.
func (j *job) drop(r *remote, missing []uint32) {
	if len(missing) == 0 {
		return
	}
	kept := uint32(len(r.sums) - 1 - len(missing))
	renumbered := make([]uint32, len(r.sums)-1)
	next := uint32(0)
	for i := range renumbered {
		if len(missing) > 0 && missing[0] == uint32(i) {
			renumbered[i], missing = kept, missing[1:]
			continue
		}
		renumbered[i] = next
		next++
	}
	r.sums = r.sums[:kept+1]
	for _, p := range j.parts {
		start, end := p.way(j.destination(r))
		for slot := start; slot < end; slot++ {
			p.pages[slot] = renumbered[p.pages[slot]]
		}
	}
}

// setTargets makes the list of a remote's pages that the local parts link to, and gives each the
// index of its sum. found has the UIDs of each part's ghosts there, in the order of its out.
func (j *job) setTargets(r *remote, found [][]uid.UID) {
	// 1. Each target is listed once.
	total := 0
	for _, uids := range found {
		total += len(uids)
	}
	all := make([]uid.UID, 0, total)
	for _, uids := range found {
		all = append(all, uids...)
	}
	slices.Sort(all)
	r.targets = slices.Clone(slices.Compact(all))
	r.sums = make([]float64, len(r.targets)+1)
	// 2. Find the indexes. Ghosts ascend as a rule, so the next one is near.
	for i, p := range j.parts {
		start, _ := p.way(j.destination(r))
		at := 0
		for k, u := range found[i] {
			if k == 0 || u < found[i][k-1] {
				at = sort.Search(len(r.targets), func(at int) bool { return r.targets[at] >= u })
			}
			for r.targets[at] != u {
				at++
			}
			p.pages[start+k] = uint32(at)
		}
	}
}

// exchange sends the sums of the local parts to the other machines, and waits for theirs. It
// returns the lost scores and the last round's change, of all machines.
func (j *job) exchange() (lost, change float64, err error) {
	// 1. Sum up what the local parts send, in their order.
	own := 0.0
	for _, p := range j.parts {
		own += p.undelivered()
	}
	for _, r := range j.remotes {
		clear(r.sums)
		for _, p := range j.parts {
			start, end := p.way(j.destination(r))
			for i, at := range p.pages[start:end] {
				r.sums[at] += p.out[start+i]
			}
		}
		own += r.sums[len(r.sums)-1]
	}
	// 2. Exchange the messages.
	err = j.swap(func(r *remote) []byte {
		message := make([]byte, 0, roundHeader+numberLen*len(r.sums))
		message = appendFloat(appendFloat(message, own), j.change)
		for _, sum := range r.sums[:len(r.sums)-1] {
			message = appendFloat(message, sum)
		}
		return message
	}, func(r *remote, message []byte) error {
		n := 0
		for _, pages := range r.incoming {
			n += len(pages)
		}
		if len(message) != roundHeader+numberLen*n {
			return fmt.Errorf("%d bytes of values for %d pages: %w", len(message), n, ErrExchange)
		}
		r.lost, r.change, r.message = floatAt(message, 0), floatAt(message, 1), message[roundHeader:]
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	// 3. Sum up in the order of the machines, so that all machines get the same bits.
	_, self := j.Exchange.Machines()
	counted := false
	for _, r := range j.remotes {
		if r.number > self && !counted {
			lost, change, counted = lost+own, change+j.change, true
		}
		lost, change = lost+r.lost, change+r.change
	}
	if !counted {
		lost, change = lost+own, change+j.change
	}
	return lost, change, nil
}

func appendFloat(b []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
}

func floatAt(b []byte, i int) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(b[numberLen*i:]))
}
