// The weights of links in a PageRank.

package rank

import (
	"fmt"
	"math"
)

// shares are the parts of its score that a page gives to each of its links, for pages with weights.
type shares struct {
	starts []int // by page: where its shares begin in all, or -1 if its links share alike
	all    []float64
	// A page's links may come in pieces: at is where the next piece of page begins.
	page uint32
	at   int
}

// sharesOf returns the shares of the next n links of a page, or nil if its links share alike.
func (s *shares) sharesOf(page uint32, n int) []float64 {
	if s == nil || s.starts[page] < 0 {
		return nil
	}
	if s.at == 0 || s.page != page {
		s.page, s.at = page, s.starts[page]
	}
	piece := s.all[s.at : s.at+n]
	s.at += n
	return piece
}

// weigh reads the weights of the links of all pages.
func (p *part) weigh() error {
	s := &shares{starts: make([]int, len(p.degrees))}
	for page, degree := range p.degrees {
		s.starts[page] = -1
		start := len(s.all)
		all, err := p.lists.AppendWeights(s.all, uint32(page))
		if err != nil {
			return err
		}
		s.all = all
		switch len(s.all) - start {
		case 0:
			continue
		case int(degree):
		default:
			return fmt.Errorf("page %d has %d weights of %d links: %w", page, len(s.all)-start, degree, ErrGraph)
		}
		s.starts[page] = start
		if !normalize(s.all[start:]) {
			p.degrees[page] = 0 // its score is lost
		}
	}
	if len(s.all) > 0 {
		p.shares = s
	}
	return nil
}

// normalize divides weights by their sum. It returns false if the sum is 0.
func normalize(weights []float64) bool {
	// 1. Only ratios count. Dividing by the greatest weight first keeps the sum finite.
	greatest := 0.0
	for i, w := range weights {
		if !(w > 0 && w <= math.MaxFloat64) {
			weights[i] = 0
		}
		greatest = max(greatest, weights[i])
	}
	if greatest == 0 {
		return false
	}
	total := 0.0
	for i := range weights {
		weights[i] /= greatest
		total += weights[i]
	}
	// 2. The total is at least 1.
	for i := range weights {
		weights[i] /= total
	}
	return true
}
