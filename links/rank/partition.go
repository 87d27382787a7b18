// One partition of a graph in a PageRank.

package rank

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/trefoildb/trefoil/links/uid"
)

// Partition is the forward links of the pages of a range of UIDs, such as a cell. Its pages have the
// numbers 0 ... Pages()-1. It must not change during a job. Several goroutines may call it at once.
type Partition interface {
	// Range returns the range. Those of the partitions of all machines must not overlap.
	Range() uid.Range
	// Pages returns the number of pages, at most 2^32.
	Pages() int
	// Find returns the number of a page of the range. It reports false if there is no such page.
	Find(u uid.UID) (page uint32, ok bool)
	// Ghosts returns the number of pages of other partitions that the links lead to.
	Ghosts() int
	// Ghost returns the UID of one of them. No two may be the same.
	Ghost(ghost uint32) uid.UID
	// Scan calls yield with all links, in the order of their pages. Locals are pages of this
	// partition, ghosts must be below Ghosts(). The links of one page may come in several pieces.
	// If a page has no links, it may be left out. The slices must not be changed and are valid
	// during the call. Scan ends when yield returns false. It returns an error if it could not
	// read all links.
	Scan(yield func(page uint32, locals, ghosts []uint32) bool) error
	// AppendWeights appends the weights of all links of a page, in the order of Scan. If each is
	// 1, it may append nothing. Only jobs with Options.Weighted call it.
	AppendWeights(dst []float64, page uint32) ([]float64, error)
}

// A part is the state of one partition in a job.
//
// A round has three steps: push; receive, with the sums that the other partitions have in out;
// settle.
//
// The sums for one destination lie together in out. To deliver them is therefore to read memory
// sequentially and to add to the few pages of one partition. This holds within a machine too. The
// sums themselves have the order of the ghosts. In a cell the order is popularity, so push finds
// most of them in the cache.
type part struct {
	index   int
	lists   Partition
	scan    func(yield func(page uint32, locals, ghosts []uint32) bool) error // of lists, or of their copy
	degrees []uint32
	links   int64
	scores  []float64 // of the last round
	next    []float64 // sums over links, then the scores of this round
	sums    []float64 // by ghost: the sum of this partition's links; 0 between rounds
	slots   []uint32  // by ghost: its index in out
	out     []float64 // sums by destination
	pages   []uint32  // by index in out: the page in its partition, or the index of its remote's sum
	ends    []int     // of each destination in out; ghosts that are no page follow the last one
	lost    float64   // scores of the last round that reach no page, except by way of ghosts
	shares  *shares   // nil unless some links have weights
}

// newPart reads the partition once, checks it, and copies its links if copyBytes allows it.
func newPart(index int, lists Partition, o *Options, copyBytes *atomic.Int64) (*part, error) {
	if lists.Ghosts() > math.MaxUint32 {
		return nil, fmt.Errorf("partition %d has %d ghosts: %w", index, lists.Ghosts(), ErrGraph)
	}
	p := &part{
		index:   index,
		lists:   lists,
		scan:    lists.Scan,
		degrees: make([]uint32, lists.Pages()),
		scores:  make([]float64, lists.Pages()),
		next:    make([]float64, lists.Pages()),
		sums:    make([]float64, lists.Ghosts()),
	}
	// 1. Read the links once. They must be checked here, because push uses them unchecked.
	var wrong error
	links := &linkCopy{budget: copyBytes}
	err := lists.Scan(func(page uint32, locals, ghosts []uint32) bool {
		wrong = p.check(page, locals, ghosts)
		if wrong != nil {
			return false
		}
		p.degrees[page] += uint32(len(locals) + len(ghosts))
		p.links += int64(len(locals) + len(ghosts))
		links.add(page, locals, ghosts)
		return true
	})
	// 2. Use the copy if it is complete.
	if !links.failed {
		p.scan = links.scan
	}
	if wrong == nil {
		wrong = err
	}
	if wrong == nil && o.Weighted {
		wrong = p.weigh()
	}
	if wrong != nil {
		return nil, fmt.Errorf("partition %d: %w", index, wrong)
	}
	return p, nil
}

func (p *part) check(page uint32, locals, ghosts []uint32) error {
	if int(page) >= len(p.scores) {
		return fmt.Errorf("a list of page %d of %d: %w", page, len(p.scores), ErrGraph)
	}
	if uint64(p.degrees[page])+uint64(len(locals))+uint64(len(ghosts)) > math.MaxUint32 {
		return fmt.Errorf("page %d has over %d links: %w", page, uint32(math.MaxUint32), ErrGraph)
	}
	for _, to := range locals {
		if int(to) >= len(p.scores) {
			return fmt.Errorf("a link from page %d to page %d of %d: %w", page, to, len(p.scores), ErrGraph)
		}
	}
	for _, to := range ghosts {
		if int(to) >= len(p.sums) {
			return fmt.Errorf("a link from page %d to ghost %d of %d: %w", page, to, len(p.sums), ErrGraph)
		}
	}
	return nil
}

// route locates the ghosts and assigns their indexes in out. It returns the UIDs of those of each
// remote, in the order of out.
func (p *part) route(j *job) (away [][]uid.UID) {
	// 1. Locate the ghosts. A ghost that is no page has the destination behind the last one.
	nowhere := len(j.parts) + len(j.remotes)
	p.slots = make([]uint32, len(p.sums))
	p.pages = make([]uint32, len(p.sums))
	p.out = make([]float64, len(p.sums))
	p.ends = make([]int, nowhere)
	to := make([]Address, len(p.sums))
	counts := make([]int, nowhere+1)
	for g := range to {
		to[g] = j.locateGhost(p.lists.Ghost(uint32(g)))
		counts[to[g].Partition]++
	}
	// 2. Assign the indexes, so that the sums for each destination lie together in out.
	next := make([]uint32, len(counts))
	end := 0
	for i, count := range counts {
		next[i] = uint32(end)
		end += count
		if i < nowhere {
			p.ends[i] = end
		}
	}
	away = make([][]uid.UID, len(j.remotes))
	for g, where := range to {
		slot := next[where.Partition]
		next[where.Partition]++
		p.slots[g], p.pages[slot] = slot, where.Page
		if i := int(where.Partition) - len(j.parts); i >= 0 && i < len(away) {
			away[i] = append(away[i], p.lists.Ghost(uint32(g)))
		}
	}
	return away
}

// locateGhost returns the destination of a ghost, and its page if that is a local part.
func (j *job) locateGhost(u uid.UID) Address {
	nowhere := Address{Partition: uint32(len(j.parts) + len(j.remotes))}
	if i, ok := j.partOf(u); ok {
		page, ok := j.parts[i].lists.Find(u)
		if !ok || int(page) >= len(j.parts[i].scores) {
			return nowhere
		}
		return Address{uint32(i), page}
	}
	if len(j.remotes) == 0 {
		return nowhere
	}
	machines, self := j.Exchange.Machines()
	owner := j.Exchange.Owner(u)
	switch {
	case owner == self || owner < 0 || owner >= machines:
		return nowhere
	case owner > self:
		owner--
	}
	return Address{Partition: uint32(len(j.parts) + owner)}
}

// way returns the part of out and pages for a destination: indexes start to end-1.
func (p *part) way(to int) (start, end int) {
	if to > 0 {
		start = p.ends[to-1]
	}
	return start, p.ends[to]
}

// push gives each page's score to its destinations, in equal parts or by weights: to next if they
// are pages of the partition, to out if they are ghosts. Partitions can be pushed at the same time, because it
// writes nothing else. It calls stop now and then and ends if stop returns an error.
func (p *part) push(stop func() error) error {
	// 1. Go through the links once. next and sums are written by this goroutine only.
	clear(p.next)
	if p.shares != nil {
		p.shares.at = 0
	}
	scores, degrees, next, sums := p.scores, p.degrees, p.next, p.sums
	links, untilStop := int64(0), int64(0)
	var stopped error
	err := p.scan(func(page uint32, locals, ghosts []uint32) bool {
		if weights := p.shares.sharesOf(page, len(locals)+len(ghosts)); weights != nil {
			score := scores[page]
			for i, to := range locals {
				next[to] += score * weights[i]
			}
			for i, to := range ghosts {
				sums[to] += score * weights[len(locals)+i]
			}
		} else {
			share := scores[page] / float64(degrees[page])
			for _, to := range locals {
				next[to] += share
			}
			for _, to := range ghosts {
				sums[to] += share
			}
		}
		links += int64(len(locals) + len(ghosts))
		if links < untilStop {
			return true
		}
		const linksAStop = 1 << 20 // some milliseconds
		untilStop = links + linksAStop
		stopped = stop()
		return stopped == nil
	})
	// 2. The partition must have the same links as at the start, because degrees divide the
	// scores.
	switch {
	case stopped != nil:
		return stopped
	case err != nil:
		return fmt.Errorf("partition %d: %w", p.index, err)
	case links != p.links:
		return fmt.Errorf("partition %d: it has %d links and had %d: it changed during the job: %w", p.index, links, p.links, ErrGraph)
	}
	// 3. Collect the sums of ghosts in out, and reset sums for the next round.
	for g, sum := range sums {
		p.out[p.slots[g]] = sum
		sums[g] = 0
	}
	return nil
}

// receive adds the sums of another partition for these pages.
func (p *part) receive(pages []uint32, values []float64) {
	values = values[:len(pages)]
	for i, page := range pages {
		p.next[page] += values[i]
	}
}

// receiveMessage adds the sums of another machine for these pages. The message begins with them.
func (p *part) receiveMessage(pages []uint32, message []byte) {
	message = message[:numberLen*len(pages)]
	for i, page := range pages {
		p.next[page] += math.Float64frombits(binary.LittleEndian.Uint64(message[numberLen*i:]))
	}
}

// loseDangling sums up the scores of pages without links.
func (p *part) loseDangling() {
	p.lost = 0
	for page, degree := range p.degrees {
		if degree == 0 {
			p.lost += p.scores[page]
		}
	}
}

// undelivered returns the lost scores of the last round. A score is lost if its page has no
// links, or if its links lead to no partition.
func (p *part) undelivered() float64 {
	nowhere := 0
	if len(p.ends) > 0 {
		nowhere = p.ends[len(p.ends)-1]
	}
	return p.lost + sum(p.out[nowhere:])
}

// computeScores computes this round's scores, base + damping * sum of links. It returns their L1
// distance from the last round's.
func (p *part) computeScores(base, damping float64) float64 {
	change := 0.0
	for page, sum := range p.next {
		score := base + damping*sum
		p.next[page] = score
		change += math.Abs(score - p.scores[page])
	}
	p.scores, p.next = p.next, p.scores
	p.loseDangling()
	return change
}
