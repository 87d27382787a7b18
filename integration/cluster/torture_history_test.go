// The torture's history, and its judgement.

package cluster

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// history is what clients did to triples and saw of them. Each triple is a
// register: it is there, or not, and with a number noted on it, or none. So is each
// bulk load, as a whole.
type history struct {
	now atomic.Int64 // orders calls and returns
	log *events

	mu      sync.Mutex
	events  map[int][]porcupine.Operation // by triple, or register of a load
	unknown map[int]int
	writes  int64
	// acknowledged are those of the writes and notes whose outcome clients were told.
	acknowledged int64
	reads        int64 // of single triples
	answers      int64
	notes        int64
	looks        int64 // at what is noted
}

// access is the input of an operation on a register. of says by whom, for messages.
type access struct {
	write bool
	live  bool // what a write makes it
	notes bool // write or read the number that is noted
	note  uint64
	of    string
}

// state is that of a register; 0 is no number.
type state struct {
	live bool
	note uint64
}

// noting is what came of noting a number.
type noting int

const (
	noted   noting = iota
	noFact         // the triple is not there
	unknown        // it may come to be noted
)

func (h *history) tick() int64 { return h.now.Add(1) }

func (h *history) wrote(i int, live bool, call int64, known bool, of string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := porcupine.Operation{Input: access{write: true, live: live, of: of}, Call: call, Return: h.tick(), Output: known}
	if !known {
		e.Return = math.MaxInt64 // it may be done at any later time, or never
		h.unknown[i]++
	}
	h.events[i] = append(h.events[i], e)
	h.writes++
	if known {
		h.acknowledged++
	}
	h.log.add("wrote %d %t %t %d (%s)", i, live, known, call, of)
}

func (h *history) saw(i int, live bool, call, back int64, of string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[i] = append(h.events[i], porcupine.Operation{Input: access{of: of}, Output: live, Call: call, Return: back})
	h.reads++
	h.log.add("saw %d %t %d-%d (%s)", i, live, call, back, of)
}

// noted notes that a number was noted, or what came of it instead.
func (h *history) noted(i int, note uint64, call int64, out noting, of string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := porcupine.Operation{Input: access{write: true, notes: true, note: note, of: of}, Call: call, Return: h.tick(), Output: out}
	if out == unknown {
		e.Return = math.MaxInt64
		h.unknown[i]++
	}
	h.events[i] = append(h.events[i], e)
	h.notes++
	if out == noted {
		h.acknowledged++
	}
	h.log.add("noted %d %d %v %d (%s)", i, note, out, call, of)
}

func (h *history) sawNote(i int, note uint64, call, back int64, of string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[i] = append(h.events[i], porcupine.Operation{Input: access{notes: true, of: of}, Output: note, Call: call, Return: back})
	h.looks++
	h.log.add("saw note %d %d %d-%d (%s)", i, note, call, back, of)
}

// doubtful reports whether so many operations on a triple are unknown that one more
// would make the history hard to judge.
func (h *history) doubtful(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unknown[i] >= 10
}

var register = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(before, input, output any) (bool, any) {
		a, s := input.(access), before.(state)
		switch {
		case a.write && a.notes && s.live:
			return output != noFact, state{true, a.note}
		case a.write && a.notes:
			return output != noted, s
		case a.write && a.live:
			return true, state{true, s.note}
		case a.write:
			return true, state{}
		case a.notes:
			return s.note == output, s
		}
		return s.live == output, s
	},
}

// judgeTimeout is for how long the history of one triple is judged. With the limit of
// doubtful they take milliseconds.
const judgeTimeout = 5 * time.Minute

// judge fails the test where the history of a triple or load is not that of a register.
func (h *history) judge(t *testing.T, u *universe) {
	t.Helper()
	for i, events := range h.events {
		switch porcupine.CheckOperationsTimeout(register, events, judgeTimeout) {
		case porcupine.Illegal:
			t.Errorf("%s: its history is not that of a register:", u.name(i))
			for _, e := range events {
				a := e.Input.(access)
				switch {
				case a.write && a.notes:
					t.Logf("  %d-%d: note %d, %v (%s)", e.Call, e.Return, a.note, e.Output, a.of)
				case a.write && e.Return == math.MaxInt64:
					t.Logf("  %d-?: write %v, unknown (%s)", e.Call, a.live, a.of)
				case a.write:
					t.Logf("  %d-%d: write %v (%s)", e.Call, e.Return, a.live, a.of)
				default:
					t.Logf("  %d-%d: saw %v (%s)", e.Call, e.Return, e.Output, a.of)
				}
			}
			return
		case porcupine.Unknown:
			t.Errorf("%s: its history of %d operations is not judged in %s", u.name(i), len(events), judgeTimeout)
		}
	}
}
