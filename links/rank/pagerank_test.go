// Tests of PageRank against power iteration.

package rank_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/rank"
)

// powerIteration is the oracle: it multiplies with the dense matrix of a graph
// until nothing changes. If weights is nil, each link weighs 1.
func powerIteration(lists [][]uint32, weights [][]float64, damping float64) []float64 {
	n := len(lists)
	matrix := make([][]float64, n) // [to][from]
	for to := range matrix {
		matrix[to] = make([]float64, n)
	}
	for from, list := range lists {
		for to := range matrix {
			matrix[to][from] = (1 - damping) / float64(n)
		}
		total := float64(len(list))
		if weights != nil {
			total = 0
			for _, w := range weights[from] {
				total += w
			}
		}
		share := 1.0
		for i, to := range list {
			if int(to) < n && total > 0 {
				part := 1 / total
				if weights != nil {
					part = weights[from][i] / total
				}
				matrix[to][from] += damping * part
				share -= part
			}
		}
		for to := range matrix {
			matrix[to][from] += damping * share / float64(n)
		}
	}
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = 1 / float64(n)
	}
	for range 3000 {
		next := make([]float64, n)
		change := 0.0
		for to := range next {
			for from, score := range scores {
				next[to] += matrix[to][from] * score
			}
			change += math.Abs(next[to] - scores[to])
		}
		scores = next
		if change < 1e-15 {
			break
		}
	}
	return scores
}

func TestPageRank(t *testing.T) {
	r := random(t)
	for range 150 {
		n := 1 + r.IntN(40)
		lists := aGraph(r, n)
		pages := cuts(r, n, 1+r.IntN(5))
		parts := split(lists, pages)
		for _, p := range parts {
			p.(*partition).piece = r.IntN(3)
		}
		damping := []float64{0, 0.5, 0.99}[r.IntN(3)]
		result, err := rank.PageRank(ctx, parts, rank.Options{
			Damping: damping, Tolerance: 1e-14, MaxRounds: 5000, CopyBytes: int64(r.IntN(4)) << 18,
		})
		require.NoError(t, err)
		if damping == 0 {
			damping = 0.85
		}
		want := powerIteration(lists, nil, damping)
		got := slices.Concat(result.Scores...)
		if len(got) != n {
			t.Fatalf("%d scores of %d pages", len(got), n)
		}
		distance, sum := 0.0, 0.0
		for i := range got {
			distance += math.Abs(got[i] - want[i])
			sum += got[i]
		}
		if distance > 1e-11 || math.Abs(sum-1) > 1e-11 || !result.Converged || result.Change > 1e-14 {
			t.Fatalf("%d pages in %v: L1 distance %g, sum %g, %+v", n, pages, distance, sum, result.Round)
		}
	}
}

// The distance from the limit must be within the bound of Options.Tolerance, and the defaults
// must converge.
func TestPageRankTolerance(t *testing.T) {
	r := random(t)
	for range 20 {
		lists := aGraph(r, 50)
		want := powerIteration(lists, nil, 0.85)
		for _, tolerance := range []float64{0, 1e-2, 1e-5} {
			result, err := rank.PageRank(ctx, split(lists, []int{50}), rank.Options{Tolerance: tolerance})
			if err != nil || !result.Converged {
				t.Fatalf("%+v, %v", result, err)
			}
			if tolerance == 0 {
				tolerance = rank.DefaultTolerance
			}
			distance := 0.0
			for i, score := range result.Scores[0] {
				distance += math.Abs(score - want[i])
			}
			if distance > tolerance*0.85/0.15+1e-12 || result.Change > tolerance {
				t.Errorf("tolerance %g: distance %g after %+v", tolerance, distance, result.Round)
			}
		}
	}
}

func TestPageRankRounds(t *testing.T) {
	lists := [][]uint32{{1, 2}, {2}, {0}, {0}}
	var rounds []rank.Round
	result, err := rank.PageRank(ctx, split(lists, []int{2, 2}), rank.Options{
		Tolerance: 1e-15, MaxRounds: 7, Progress: func(r rank.Round) { rounds = append(rounds, r) },
	})
	if err != nil || result.Converged || result.Number != 7 || len(rounds) != 7 || rounds[6] != result.Round {
		t.Fatalf("%+v, %v, %v", result, rounds, err)
	}
	for i, round := range rounds {
		if round.Number != i+1 || round.Links != 5 || i > 0 && round.Change >= rounds[i-1].Change {
			t.Errorf("%+v", rounds)
		}
	}
}

func TestPageRankOfNothing(t *testing.T) {
	for _, pages := range [][]int{nil, {0}, {0, 0}} {
		result, err := rank.PageRank(ctx, split(nil, pages), rank.Options{})
		if err != nil || !result.Converged || len(result.Scores) != len(pages) {
			t.Errorf("%v: %+v, %v", pages, result, err)
		}
	}
	// Pages without any link must have equal scores.
	result, err := rank.PageRank(ctx, split(make([][]uint32, 4), []int{4}), rank.Options{})
	if err != nil || !slices.Equal(result.Scores[0], []float64{0.25, 0.25, 0.25, 0.25}) {
		t.Errorf("%+v, %v", result, err)
	}
}

// Scores must be the same bits with any number of workers, and but for rounding with any number of
// machines.
func TestPageRankIsTheSameEverywhere(t *testing.T) {
	r := random(t)
	for range 20 {
		pages := cuts(r, 200, 6)
		lists := aGraph(r, 200)
		var want [][]float64
		for _, workers := range []int{1, 2, 9} {
			result, err := rank.PageRank(ctx, split(lists, pages), rank.Options{Workers: workers, CopyBytes: int64(workers-1) << 20})
			require.NoError(t, err)
			if want == nil {
				want = result.Scores
			}
			checkSame(t, result.Scores, want)
		}
		machines := r.IntN(4) + 1
		scores, errs := onMachines(split(lists, pages), newWireOf(pages, machines), machines, nil)
		for m, err := range errs {
			if err != nil {
				t.Fatalf("machine %d: %v", m, err)
			}
		}
		checkNear(t, scores, want, 1e-12)
	}
}

// checkNear compares scores by their L1 distance.
func checkNear(t *testing.T, got, want [][]float64, most float64) {
	t.Helper()
	distance := 0.0
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("partition %d has %d scores of %d pages", i, len(got[i]), len(want[i]))
		}
		for page := range want[i] {
			distance += math.Abs(got[i][page] - want[i][page])
		}
	}
	if !(distance <= most) {
		t.Fatalf("the distance is %g", distance)
	}
}

func checkSame(t *testing.T, got, want [][]float64) {
	t.Helper()
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Fatalf("partition %d: %v, want %v", i, got[i], want[i])
		}
	}
}

// newWireOf returns the wire of machines that have partitions in turn.
func newWireOf(pages []int, machines int) *wire {
	var owners []int
	for i, n := range pages {
		owners = append(owners, slices.Repeat([]int{i % machines}, n)...)
	}
	return newWire(machines, owners)
}

// onMachines distributes partitions to machines and returns all scores. change may change the
// options of each machine.
func onMachines(parts []rank.Partition, w *wire, machines int, change func(m int, o *rank.Options)) ([][]float64, []error) {
	scores := make([][]float64, len(parts))
	errs := make([]error, machines)
	done := make(chan int)
	for m := range machines {
		var own []rank.Partition
		for i := m; i < len(parts); i += machines {
			own = append(own, parts[i])
		}
		go func() {
			defer func() { done <- m }()
			o := rank.Options{Exchange: end{w, m}}
			if change != nil {
				change(m, &o)
			}
			result, err := rank.PageRank(ctx, own, o)
			if errs[m] = err; err != nil {
				w.lose()
			}
			for i := m; result != nil && i < len(parts); i += machines {
				scores[i] = result.Scores[i/machines]
			}
		}()
	}
	for range machines {
		<-done
	}
	return scores, errs
}

// Long lists are copied in pieces, over the ends of chunks. A partition is read once if its copy
// fits, otherwise in each round.
func TestPageRankCopies(t *testing.T) {
	r := random(t)
	const n, rounds, chunkBytes = 30_000, 3, 1 << 18
	lists := make([][]uint32, n)
	for page := range lists {
		for to := r.IntN(60); r.IntN(30) > 0 && to < n; to += 1 + r.IntN(60) {
			lists[page] = append(lists[page], uint32(to))
		}
	}
	for _, long := range []int{3, n / 2, n - 1} {
		for to := range uint32(n) {
			if to%50 > 0 {
				lists[long] = append(lists[long], to)
			}
		}
		slices.Sort(lists[long])
		lists[long] = slices.Compact(lists[long])
	}
	pages := evenly(n, 4)
	var want [][]float64
	for _, chunks := range []int64{0, 10, 1000} {
		parts := split(lists, pages)
		result, err := rank.PageRank(ctx, parts, rank.Options{Workers: 1, MaxRounds: rounds, CopyBytes: chunks * chunkBytes})
		require.NoError(t, err)
		if want == nil {
			want = result.Scores
		}
		checkSame(t, result.Scores, want)
		scans := 0
		for _, p := range parts {
			scans += p.(*partition).scans
		}
		copied := (len(parts)*(1+rounds) - scans) / rounds
		if chunks == 0 && copied != 0 || chunks == 1000 && copied != len(parts) || chunks == 10 && (copied == 0 || copied == len(parts)) {
			t.Errorf("%d chunks: %d scans of %d partitions", chunks, scans, len(parts))
		}
	}
}

func TestPageRankEnds(t *testing.T) {
	lists := aGraph(random(t), 30)
	ended, cancel := context.WithCancel(ctx)
	_, err := rank.PageRank(ended, split(lists, []int{30}), rank.Options{
		Tolerance: 1e-300, Progress: func(r rank.Round) {
			if r.Number == 3 {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "round 4") {
		t.Errorf("in round 4: %v", err)
	}
	if _, err := rank.PageRank(ended, split(lists, []int{30}), rank.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("before it begins: %v", err)
	}
}

// A cancelled job must end in the middle of a partition.
func TestPageRankGivesUpAScan(t *testing.T) {
	p := split([][]uint32{{1}, {2}, {0}}, []int{3})[0]
	ended, cancel := context.WithCancel(ctx)
	c := &cancelled{Partition: p, cancel: cancel}
	_, err := rank.PageRank(ended, []rank.Partition{0: c}, rank.Options{})
	if !errors.Is(err, context.Canceled) || c.lists != 1 {
		t.Errorf("after %d lists: %v", c.lists, err)
	}
}

// cancelled is a partition that cancels its job in the second scan.
type cancelled struct {
	rank.Partition
	cancel func()
	scans  int
	lists  int // of the second scan
}

func (c *cancelled) Scan(yield func(uint32, []uint32, []uint32) bool) error {
	c.scans++
	if c.scans == 2 {
		c.cancel()
	}
	return c.Partition.Scan(func(page uint32, locals, ghosts []uint32) bool {
		if c.scans == 2 {
			c.lists++
		}
		return yield(page, locals, ghosts)
	})
}

// A partition must end the job if it does not fit, or changes.
func TestPageRankErrors(t *testing.T) {
	lists := [][]uint32{{1, 2}, {2}, {3, 0}, {0}}
	pages := []int{2, 2}
	wrong := errors.New("a damaged list")
	for _, c := range []struct {
		name   string
		change func(p *partition, o *rank.Options)
		want   error
	}{
		{"a scan that fails", func(p *partition, _ *rank.Options) { p.err = wrong }, wrong},
		{"a scan that fails later", func(p *partition, o *rank.Options) { o.Progress = func(rank.Round) { p.err = wrong } }, wrong},
		{"a local that is none", func(p *partition, _ *rank.Options) { p.locals[0] = 2 }, rank.ErrGraph},
		{"a ghost that is none", func(p *partition, _ *rank.Options) { p.ghosts[0] = 9 }, rank.ErrGraph},
		{"a range of another partition", func(p *partition, _ *rank.Options) { p.first = 1 }, rank.ErrGraph},
		{"another number of links", func(p *partition, o *rank.Options) {
			o.Progress = func(rank.Round) { p.ghostEnds[1]--; p.ghosts = p.ghosts[:len(p.ghosts)-1] }
		}, rank.ErrGraph},
		{"damping", func(_ *partition, o *rank.Options) { o.Damping = 1 }, nil},
		{"damping that is no number", func(_ *partition, o *rank.Options) { o.Damping = math.NaN() }, nil},
		{"tolerance", func(_ *partition, o *rank.Options) { o.Tolerance = -1 }, nil},
		{"rounds", func(_ *partition, o *rank.Options) { o.MaxRounds = -1 }, nil},
		{"copies", func(_ *partition, o *rank.Options) { o.CopyBytes = -1 }, nil},
		{"copies of a scan that fails", func(p *partition, o *rank.Options) { p.err, o.CopyBytes = wrong, 1<<20 }, wrong},
	} {
		parts := split(lists, pages)
		o := rank.Options{Workers: 1}
		c.change(parts[1].(*partition), &o)
		_, err := rank.PageRank(ctx, parts, o)
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
