// Tests of lost machines, resumed jobs and encoded states.

package rank_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/rank/ranktest"
)

var rewrite = flag.Bool("rewrite", false, "write what the code gives into the golden files")

// disk keeps the last two checkpoints of a machine.
type disk struct {
	mu    sync.Mutex
	files [][]byte
}

func (d *disk) checkpoint(states []rank.State) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range states {
		d.files = append(d.files, states[i].AppendTo(nil))
	}
	return nil
}

func (d *disk) read(t *testing.T) []*rank.State {
	var states []*rank.State
	for _, file := range d.files {
		s, err := rank.OpenState(file)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, s)
	}
	return states
}

func TestExchange(t *testing.T) {
	ranktest.CheckExchange(t, func(partitions [][]int) []rank.Exchange {
		w := newWire(len(slices.Concat(partitions...)))
		return slices.Repeat([]rank.Exchange{w}, len(partitions))
	})
}

// A machine is lost during a job: all others must return an error. When fewer machines resume
// from the checkpoints, they must reach the same scores.
func TestPageRankSurvivesALostMachine(t *testing.T) {
	r := random(t)
	for range 10 {
		pages := cuts(r, 150, 6)
		lists := aGraph(r, 150)
		o := rank.Options{Tolerance: 1e-12, MaxRounds: 40, Graph: 9}
		whole, err := rank.PageRank(ctx, pages, split(lists, pages), o)
		if err != nil {
			t.Fatal(err)
		}

		w, disk := newWire(len(pages)), &disk{}
		w.loseAfter = 7 + r.IntN(6)
		_, errs := onMachines(lists, pages, w, 3, func(_ map[int]rank.Partition, o2 *rank.Options) {
			*o2 = o
			o2.Exchange, o2.Checkpoint, o2.CheckpointRounds = w, disk.checkpoint, 3
		})
		for m, err := range errs {
			if !errors.Is(err, rank.ErrExchange) || !errors.Is(err, errLost) {
				t.Fatalf("machine %d: %v", m, err)
			}
		}

		states, err := rank.LatestCommon(disk.read(t))
		if err != nil || len(states) != len(pages) || states[0].Round > w.loseAfter || states[0].Round < w.loseAfter-3 {
			t.Fatalf("%v, %v", states, err)
		}
		rounds := 0
		again := newWire(len(pages))
		scores, errs := onMachines(lists, pages, again, 2, func(own map[int]rank.Partition, o2 *rank.Options) {
			*o2 = o
			o2.Exchange, o2.Resume = again, states
			if own[0] != nil {
				o2.Progress = func(rank.Round) { rounds++ }
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		checkSame(t, scores, whole.Scores)
		if rounds != whole.Number-states[0].Round {
			t.Errorf("%d rounds after round %d of %d", rounds, states[0].Round, whole.Number)
		}
	}
}

// A machine must end the job if another sends wrong values.
func TestPageRankWrongValues(t *testing.T) {
	lists, pages := [][]uint32{{1}, {0}}, []int{1, 1}
	for _, c := range []struct {
		name   string
		values []float64
		route  []uint32
		want   error
	}{
		{"too many", []float64{1, 2}, []uint32{0}, rank.ErrExchange},
		{"no number", []float64{math.NaN()}, []uint32{0}, rank.ErrExchange},
		{"infinite", []float64{math.Inf(1)}, []uint32{0}, rank.ErrExchange},
		{"to no page", nil, []uint32{1}, rank.ErrGraph},
	} {
		own := split(lists, pages)
		delete(own, 1)
		_, err := rank.PageRank(ctx, pages, own, rank.Options{Exchange: &liar{newWire(1), c.route, c.values}})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// liar is an exchange with a wrong other side, partition 1.
type liar struct {
	*wire
	route  []uint32
	values []float64
}

func (l *liar) ReceiveRoute(_ context.Context, _, _ int) ([]uint32, error) { return l.route, nil }
func (l *liar) ReceiveValues(_ context.Context, _, _, _ int) ([]float64, error) {
	return l.values, nil
}
func (l *liar) Gather(_ context.Context, _ int, own map[int]float64) ([]float64, error) {
	return []float64{own[0], own[0]}, nil
}

func TestResumeErrors(t *testing.T) {
	lists, pages := [][]uint32{{1}, {2}, {0}, {0}}, []int{2, 2}
	var states [2][]*rank.State
	_, err := rank.PageRank(ctx, pages, split(lists, pages), rank.Options{CheckpointRounds: 1, MaxRounds: 2, Checkpoint: func(s []rank.State) error {
		for i := range s {
			copied := s[i]
			copied.Scores = slices.Clone(copied.Scores)
			states[copied.Round-1] = append(states[copied.Round-1], &copied)
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	resume := func(states ...*rank.State) error {
		_, err := rank.PageRank(ctx, pages, split(lists, pages), rank.Options{Resume: states})
		return err
	}
	if err := resume(states[1]...); err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*rank.State)) *rank.State {
		s := *states[1][1]
		change(&s)
		return &s
	}
	for name, s := range map[string]*rank.State{
		"another round":      states[0][1],
		"another graph":      changed(func(s *rank.State) { s.Graph++ }),
		"other partitions":   changed(func(s *rank.State) { s.Partitions++ }),
		"other pages":        changed(func(s *rank.State) { s.Pages++ }),
		"other scores":       changed(func(s *rank.State) { s.Scores = s.Scores[1:] }),
		"another damping":    changed(func(s *rank.State) { s.Damping = 0.5 }),
		"no state of a part": states[1][0],
	} {
		all := []*rank.State{states[1][0], s}
		if name == "no state of a part" {
			all = all[:1]
		}
		if err := resume(all...); !errors.Is(err, rank.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Machines resume from different rounds.
	w := newWire(2)
	_, errs := onMachines(lists, pages, w, 2, func(own map[int]rank.Partition, o *rank.Options) {
		o.Resume = states[slices.Sorted(maps.Keys(own))[0]]
	})
	if err := errors.Join(errs...); !errors.Is(err, rank.ErrState) {
		t.Errorf("machines of different rounds: %v", err)
	}
}

func TestLatestCommon(t *testing.T) {
	s := func(round int, partition uint32) *rank.State {
		return &rank.State{Partition: partition, Partitions: 2, Round: round}
	}
	other := s(9, 1)
	other.Graph = 1
	for _, c := range []struct {
		states []*rank.State
		want   int
	}{
		{nil, 0},
		{[]*rank.State{s(3, 0)}, 0},
		{[]*rank.State{s(3, 0), s(3, 0)}, 0},
		{[]*rank.State{s(3, 0), s(6, 0), s(3, 1)}, 3},
		{[]*rank.State{s(3, 0), s(6, 0), s(6, 1), s(3, 1), s(9, 1)}, 6},
		{[]*rank.State{s(3, 0), s(3, 1), s(9, 0), other}, 3},
	} {
		got, err := rank.LatestCommon(c.states)
		if c.want == 0 {
			if !errors.Is(err, rank.ErrState) {
				t.Errorf("%v: %v, %v", c.states, got, err)
			}
			continue
		}
		if err != nil || len(got) != 2 || got[0].Round != c.want || got[1].Round != c.want || got[0].Partition != 0 || got[1].Partition != 1 {
			t.Errorf("%v: %v, %v", c.states, got, err)
		}
	}
}

func aState() *rank.State {
	return &rank.State{
		Graph: 7, Partition: 1, Partitions: 3, Pages: 1000, Round: 12, Change: 0.25, Damping: 0.85,
		Scores: []float64{0, 0.5, 1e-9},
	}
}

func TestStateGolden(t *testing.T) {
	data := aState().AppendTo(nil)
	path := filepath.Join("testdata", "state.hex")
	if *rewrite {
		if err := os.WriteFile(path, []byte(hex.Dump(data)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.Dump(data); got != string(want) {
		t.Errorf("the format has changed; go test -run Golden -rewrite shows how:\n%s", got)
	}
	got, err := rank.OpenState(data)
	if err != nil || !reflect.DeepEqual(got, aState()) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestOpenStateDamaged(t *testing.T) {
	data := aState().AppendTo(nil)
	for i := range 8 * len(data) {
		damaged := bytes.Clone(data)
		damaged[i/8] ^= 1 << (i % 8)
		_, err := rank.OpenState(damaged)
		if i/8 == 4 && !errors.Is(err, rank.ErrVersion) || i/8 != 4 && !errors.Is(err, rank.ErrCorrupt) {
			t.Fatalf("bit %d: %v", i, err)
		}
	}
	for i := range data {
		if _, err := rank.OpenState(data[:i]); !errors.Is(err, rank.ErrCorrupt) {
			t.Fatalf("%d bytes: %v", i, err)
		}
	}
	// Damage behind a right checksum.
	for name, forge := range map[string]func(*rank.State){
		"no such partition": func(s *rank.State) { s.Partition = 3 },
		"too few pages":     func(s *rank.State) { s.Pages = 2 },
		"round 0":           func(s *rank.State) { s.Round = 0 },
		"round 2^31":        func(s *rank.State) { s.Round = 1 << 31 },
		"change":            func(s *rank.State) { s.Change = math.NaN() },
		"damping 0":         func(s *rank.State) { s.Damping = 0 },
		"damping":           func(s *rank.State) { s.Damping = 1 },
		"a score below 0":   func(s *rank.State) { s.Scores[0] = -1 },
		"a score above 1":   func(s *rank.State) { s.Scores[0] = 1e9 },
		"a score":           func(s *rank.State) { s.Scores[2] = math.NaN() },
	} {
		s := aState()
		forge(s)
		if _, err := rank.OpenState(s.AppendTo(nil)); !errors.Is(err, rank.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, at := range []int{5, 56} {
		forged := bytes.Clone(data)
		forged[at]++
		if _, err := rank.OpenState(resealed(forged)); !errors.Is(err, rank.ErrCorrupt) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// resealed corrects the checksum.
func resealed(data []byte) []byte {
	if len(data) < 8 {
		return data
	}
	body := bytes.Clone(data[:len(data)-8])
	return binary.LittleEndian.AppendUint64(body, xxhash.Sum64(body))
}

func FuzzOpenState(f *testing.F) {
	f.Add(aState().AppendTo(nil))
	f.Add((&rank.State{Partitions: 1, Round: 1, Damping: 0.5}).AppendTo(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, resealed(data)} {
			s, err := rank.OpenState(data)
			if err != nil {
				if !errors.Is(err, rank.ErrCorrupt) && !errors.Is(err, rank.ErrVersion) {
					t.Fatal(err)
				}
				continue
			}
			if again := s.AppendTo(nil); !bytes.Equal(again, data) {
				t.Fatalf("%x, encoded again %x", data, again)
			}
		}
	})
}
