// Random walks through the model.

package model

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// large is five machines, three triples, two placements for every ring of two or
// three and more, by consistent hashing and by chance, and some of everything.
func large(r *rand.Rand, rules Rules) *setting {
	w := &world{machines: 5, triples: 3}
	members := setOf(0, 1, 2, 3, 4)
	if r.IntN(2) == 0 {
		members = setOf(0, 1, 3, 4) // M3 may join
	}
	some := func(n int) uint8 { return uint8(r.IntN(n + 1)) }
	left := budget{
		crashes: some(3), restarts: some(3), diskFaults: some(1), cuts: some(2), stalls: some(1), ackLosses: some(2),
		excludes: some(3), moves: some(2), joins: some(2), rejoins: some(2), purges: some(2), scrubs: some(2), loads: some(1),
	}
	// More than two losses at once may lose data, a rolled-back disk counts.
	left.excludes = min(left.excludes, 2-left.diskFaults)
	least := 2
	if left.diskFaults > 0 {
		least = 3 // with two copies it would be one loss too many
	}
	w.hashed(members, rules)
	for ring := set(1); ring < 1<<5; ring++ {
		if ring.len() >= least {
			w.hashed(ring, rules)
			w.shuffled(ring, r, rules)
		}
	}
	for x := range left.writes {
		left.writes[x] = writeBudget{adds: some(2), deletes: some(2)}
	}
	s := newSetting(w, rules, members, set(r.IntN(8)), left)
	s.joinInFill, s.heartbeats = r.IntN(2) == 0, true
	return s
}

// shuffled adds a placement in which chance owns.
func (w *world) shuffled(ring set, r *rand.Rand, rules Rules) {
	var members []int
	for m := range w.machines {
		if ring.has(m) {
			members = append(members, m)
		}
	}
	p := placement{ring: ring}
	pick := func() int { return members[r.IntN(len(members))] }
	for range w.triples {
		p.owners = append(p.owners, owners{pick(), pick(), pick()})
	}
	w.layouts = append(w.layouts, newWorld(w.machines, w.triples, rules, p).layouts[0])
}

// weights make a run get somewhere: what goes wrong is rarer than what goes on.
func weights(r *rand.Rand) func(action) int {
	writes, faults := 1+r.IntN(6), 1+r.IntN(6)
	return func(a action) int {
		switch {
		case slices.Contains(quiet, a.kind):
			return 20
		case a.kind == begin:
			return writes
		case a.kind == read || a.kind == readmit || a.kind == exclude || a.kind == apply || a.kind == rejoin || a.kind == heal:
			return 10
		}
		return faults
	}
}

// TestRandom makes random runs of larger clusters for a second and a half, or
// for TREFOIL_MODEL_SECONDS. TREFOIL_SEED repeats one.
func TestRandom(t *testing.T) {
	wait := 1500 * time.Millisecond
	if s := os.Getenv("TREFOIL_MODEL_SECONDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		wait = time.Duration(n) * time.Second
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("TREFOIL_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
		wait = 0
	}
	t.Logf("seed %d", seed)
	runs := 0
	var seen tally
	for start := time.Now(); ; seed++ {
		randomRun(t, seed, &seen)
		runs++
		if time.Since(start) >= wait {
			break
		}
	}
	t.Logf("%d runs: %d steps, %d epochs, %d operations settled, %d reads; %d runs ended at rest, %d times it answered again", runs, seen.steps, seen.epochs, seen.settled, seen.reads, seen.rested, seen.answered)
	for k := kind(0); k < actionKinds; k++ {
		if k != check && k != apply && k != resend && k != snapshot && k != checkRead && k != lateRead && seen.happened[k] == 0 && runs > 5000 {
			t.Errorf("action %d never happened", k)
		}
	}
}

// tally is what happened in random runs.
type tally struct {
	happened                                        [actionKinds]int
	steps, epochs, settled, reads, rested, answered int
}

func randomRun(t *testing.T, seed uint64, seen *tally) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := large(r, Rules{}).model()
	h := newHistory(s, r)
	// A check amid the run, too, because the bound of views may be reached at its end.
	mid, steps := h.c, r.IntN(200)
	trace := Wander[cluster, action](s, r, 400, weights(r), func(before cluster, a action, after cluster) {
		if h.step(before, a, after); steps == 0 {
			mid = after
		}
		steps--
	})
	for _, a := range trace.Steps {
		seen.happened[a.kind]++
	}
	if trace.Err != nil {
		short := Shrink[cluster, action](s, trace)
		t.Fatalf("seed %d:\n%s", seed, Print[cluster, action](s, short))
	}
	if x, ok := h.linearizable(); !ok {
		t.Fatalf("seed %d: what clients saw of t%d is not linearizable:\n%s", seed, x, Print[cluster, action](s, trace))
	}
	seen.steps += len(trace.Steps)
	seen.epochs += int(h.c.last)
	for i := range h.c.ops {
		if h.c.ops[i].ever {
			seen.settled++
		}
	}
	for x := range h.triples {
		for _, e := range h.events[x] {
			if !e.Input.(input).write {
				seen.reads++
			}
		}
	}
	for _, c := range []cluster{mid, h.c} {
		checkLiveness(t, model{s.setting, c}, seed, seen, func() string { return Print[cluster, action](s, trace) })
	}
	end := model{s.setting, h.c}
	if h.c.latest().phase == idle && end.allMembers(func(n *machine) bool { return n.swept }) {
		seen.rested++
	}
}

// A history is what clients did and saw, for porcupine: an opinion on the runs
// that knows nothing of stamps being in order.
type history struct {
	model
	r      *rand.Rand
	now    int64
	events [maxTriples][]porcupine.Operation
	open   map[int]int64 // operation -> when it began
	loadAt int64
}

// input is a write of a value, or a read. A value is an operation's number, 0
// for what was there at first, loadValue for a load's.
type input struct {
	write, present bool
	value          int
}

const loadValue = -1

// output is what a read saw: a row, or no row at all.
type output struct {
	none  bool
	value int
}

type register struct {
	value   int
	present bool
}

func newHistory(s model, r *rand.Rand) *history {
	return &history{model: s, r: r, open: map[int]int64{}}
}

func (h *history) step(before cluster, a action, after cluster) {
	h.now += 10
	for i := range after.ops {
		o, was := &after.ops[i], &before.ops[i]
		if o.used && !was.used {
			h.open[i] = h.now
		}
		if o.ever && !was.ever {
			h.write(int(o.triple), !o.del, i+1, h.open[i], h.now+1)
			delete(h.open, i)
		}
	}
	if a.kind == load {
		h.loadAt = h.now
	}
	if after.latest().loaded && !before.latest().loaded {
		for x := range h.triples {
			h.write(x, true, loadValue, h.loadAt, h.now+1)
		}
		h.loadAt = 0
	}
	h.c = after
	h.reads()
}

func (h *history) write(x int, present bool, value int, from, to int64) {
	h.events[x] = append(h.events[x], porcupine.Operation{Input: input{write: true, present: present, value: value}, Call: from, Return: to})
}

// reads asks a machine at random for everything that it answers now.
func (h *history) reads() {
	m := h.r.IntN(h.machines)
	for x := range h.triples {
		for k := spo; k <= osp; k++ {
			r, ok := h.answer(&h.c, m, x, k)
			if !ok {
				continue
			}
			saw := output{none: r == 0}
			if i := find(&h.c, x, r.stamp()); i >= 0 {
				saw.value = i + 1
			} else if r != 0 && r.stamp() == h.c.loadStamp {
				saw.value = loadValue
			}
			h.events[x] = append(h.events[x], porcupine.Operation{Input: input{}, Output: saw, Call: h.now + 2, Return: h.now + 3})
		}
	}
}

func (h *history) linearizable() (x int, ok bool) {
	for i, from := range h.open {
		o := &h.c.ops[i]
		h.write(int(o.triple), !o.del, i+1, from, h.now+100)
	}
	if h.loadAt != 0 {
		for x := range h.triples {
			h.write(x, true, loadValue, h.loadAt, h.now+100)
		}
	}
	for x := range h.triples {
		m := porcupine.Model{
			Init: func() any { return register{present: h.start.floor[x].live()} },
			Step: func(state, in, out any) (bool, any) {
				now, i := state.(register), in.(input)
				if i.write {
					return true, register{i.value, i.present}
				}
				saw := out.(output)
				return saw.none && !now.present || !saw.none && saw.value == now.value, now
			},
		}
		if !porcupine.CheckOperations(m, h.events[x]) {
			return x, false
		}
	}
	return 0, true
}

// Without a rule that clients notice, random runs end in a violation too, and a
// run shrinks to one that still does.
func TestRandomBites(t *testing.T) {
	found := false
	for seed := uint64(1); seed < 2000 && !found; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		s := large(r, Rules{FillsOverwrite: true}).model()
		trace := Wander[cluster, action](s, r, 400, weights(r), nil)
		if trace.Err == nil {
			continue
		}
		found = true
		short := Shrink[cluster, action](s, trace)
		t.Logf("seed %d: %d steps, %d when shrunk:\n%s", seed, len(trace.Steps), len(short.Steps), Print[cluster, action](s, short))
		if short.Err == nil || len(short.Steps) >= len(trace.Steps) {
			t.Errorf("shrinking went wrong")
		}
	}
	if !found {
		t.Error("nothing breaks")
	}
}

// Porcupine finds by itself, from what clients saw, what the invariants find.
func TestPorcupineBites(t *testing.T) {
	for name, rules := range map[string]Rules{
		"fills overwrite":  {FillsOverwrite: true},
		"unsettled reads":  {ReadInFlight: true},
		"write one side":   {WriteTargetOnly: true},
		"exclude at once":  {ExcludeAtOnce: true},
		"serve before":     {ServeBeforeDone: true},
		"ingest on top":    {IngestOnTop: true},
		"no new epoch":     {RestartInEpoch: true},
		"disks unproven":   {AnyDiskReturns: true},
		"settled by fills": {DropInFlight: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := uint64(1); seed < 3000; seed++ {
				r := rand.New(rand.NewPCG(seed, 0))
				set := large(r, rules)
				set.blind = true
				s := set.model()
				h := newHistory(s, r)
				Wander[cluster, action](s, r, 400, weights(r), h.step)
				if x, ok := h.linearizable(); !ok {
					t.Logf("seed %d: t%d is not linearizable", seed, x)
					return
				}
			}
			t.Error("nothing is seen")
		})
	}
}
