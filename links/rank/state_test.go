// Tests of lost machines and encoded states.

package rank_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/rank/ranktest"
	"github.com/trefoildb/trefoil/links/uid"
)

func TestExchange(t *testing.T) {
	ranktest.CheckExchange(t, func(machines int, owners []int) (exchanges []rank.Exchange) {
		w := newWire(machines, owners)
		for m := range machines {
			exchanges = append(exchanges, end{w, m})
		}
		return exchanges
	})
}

// A machine is lost during a job: all others must return an error and no scores. When the survivors
// begin again with its partitions, they must reach the same limit.
func TestPageRankSurvivesALostMachine(t *testing.T) {
	r := random(t)
	for range 10 {
		pages := cuts(r, 150, 6)
		lists := aGraph(r, 150)
		o := rank.Options{Tolerance: 1e-13}
		want := powerIteration(lists, nil, 0.85)
		w := newWireOf(pages, 3)
		w.loseAfter = 7 + r.IntN(6)
		rounds := make([]int, 3)
		scores, errs := onMachines(split(lists, pages), w, 3, func(m int, o2 *rank.Options) {
			*o2 = o
			o2.Exchange, o2.Progress = end{w, m}, func(r rank.Round) { rounds[m] = r.Number }
		})
		for m, err := range errs {
			if !errors.Is(err, rank.ErrExchange) || !errors.Is(err, errLost) {
				t.Fatalf("machine %d: %v", m, err)
			}
			if rounds[m] < 2 {
				t.Fatalf("%d rounds", rounds[m])
			}
		}
		if slices.ContainsFunc(scores, func(s []float64) bool { return s != nil }) {
			t.Fatalf("%v are the scores of a job that has failed", scores)
		}
		// Machine 1 is lost. Machine 0 gets its partitions 1 and 4, and has 0, 2 and 4 now.
		again := newWireOf(pages, 2)
		scores, errs = onMachines(split(lists, pages), again, 2, func(m int, o2 *rank.Options) {
			*o2 = o
			o2.Exchange = end{again, m}
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		checkNear(t, [][]float64{slices.Concat(scores...)}, [][]float64{want}, 1e-11)
	}
}

// A machine must end the job if another sends wrong messages.
func TestPageRankWrongMessages(t *testing.T) {
	number := func(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }
	round := func(numbers ...float64) (b []byte) {
		for _, f := range numbers {
			b = append(b, number(f)...)
		}
		return b
	}
	for _, c := range []struct {
		name     string
		messages [][]byte
	}{
		{"no greeting", [][]byte{nil}},
		{"a greeting cut off", [][]byte{{1, 1, 0, 1}}},
		{"a target twice", [][]byte{{1, 1, 0, 2, 2, 0}}},
		{"more targets than bytes", [][]byte{{1, 1, 0, 200, 1}}},
		{"something behind it", [][]byte{{1, 1, 0, 1, 1, 7}}},
		{"a target missing that is none", [][]byte{{1, 1, 0, 1, 2}, {1, 1}}},
		{"a number too large", [][]byte{{1, 1, 0, 1, 2}, {1, 0x80, 0x80, 0x80, 0x80, 0x10}}},
		{"too few values", [][]byte{{1, 1, 0, 1, 2}, {0}, round(0, 0)}},
		{"too many values", [][]byte{{1, 1, 0, 1, 2}, {0}, round(0, 0, 1, 1)}},
		{"no number", [][]byte{{1, 1, 0, 1, 2}, {0}, round(0, 0, math.NaN()), round(0, 0, 1)}},
		{"infinite", [][]byte{{1, 1, 0, 1, 2}, {0}, round(0, 0, math.Inf(1)), round(0, 0, 1)}},
		{"a change that is no number", [][]byte{{1, 1, 0, 1, 2}, {0}, round(0, 0, 1), round(0, math.NaN(), 1)}},
	} {
		own := split([][]uint32{{1}, {0}}, []int{1, 1})[:1]
		_, err := rank.PageRank(ctx, own, rank.Options{Exchange: &liar{messages: c.messages}})
		if !errors.Is(err, rank.ErrExchange) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// liar is an exchange with a wrong other side, which has page 1.
type liar struct{ messages [][]byte }

func (l *liar) Machines() (n, self int)                                { return 2, 0 }
func (l *liar) Owner(uid.UID) int                                      { return 1 }
func (l *liar) Send(_ context.Context, _, _ int, _ []byte) error       { return nil }
func (l *liar) Receive(_ context.Context, step, _ int) ([]byte, error) { return l.messages[step], nil }

func aState() *rank.State {
	return &rank.State{
		Graph: 7, Partition: 1, Partitions: 3, Pages: 1000, Round: 12, Change: 0.25, Damping: 0.85,
		Scores: []float64{0, 0.5, 1e-9},
	}
}

func TestStateGolden(t *testing.T) {
	data := aState().AppendTo(nil)
	path := filepath.Join("testdata", "state.hex")
	goldenfile.Check(t, path, hex.Dump(data))
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
