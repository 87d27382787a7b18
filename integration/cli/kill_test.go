// Kills during loads and while a server writes.

package cli

// This file kills trefoil as a power cut would: in every phase of a load, and
// in the middle of adds and deletes. TREFOIL_KILLS says how often (10, loads 3);
// TREFOIL_SEED repeats a run's random choices.

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

func kills(t *testing.T) int {
	t.Helper()
	text := os.Getenv("TREFOIL_KILLS")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TREFOIL_KILLS: %v", err)
	}
	return n
}

var random = seed.Rand

// killAt kills the process at a moment, or lets it end where it is faster.
func (p *process) killAt(t *testing.T, after time.Duration) (killed bool) {
	t.Helper()
	select {
	case <-p.Ended:
		return false
	case <-time.After(after):
		p.kill(t)
		return p.Cmd.ProcessState.ExitCode() < 0 // it may have ended just before
	}
}

// killedLoad is a load that is killed and resumed until it is done.
type killedLoad struct {
	path    string        // what is loaded
	triples int           // in it
	whole   time.Duration // how long it takes when it is left alone
}

func newKilledLoad(t *testing.T, triples int) *killedLoad {
	t.Helper()
	text := trefoil(t, "generate", "--kind", "texts", "--triples", decimal(triples)).mustCode(t, done).stdout
	l := &killedLoad{path: file(t, "texts.nt", text), triples: triples}
	began := time.Now()
	trefoil(t, l.args(filepath.Join(t.TempDir(), "store"))...).mustCode(t, done)
	l.whole = time.Since(began)
	return l
}

// args are those of a load that needs several runs, if it has a size for it.
func (l *killedLoad) args(data string) []string {
	return []string{"load", "--data", data, "--memory", "64MiB", "--json", "--resume", l.path}
}

// killOnce starts the load and kills it at a random moment, of its whole time or
// after it has said that it is in a phase.
func (l *killedLoad) killOnce(t *testing.T, rnd *rand.Rand, data string) (p *process, killed bool) {
	t.Helper()
	p = start(t, nil, l.args(data)...)
	wait := time.Duration(rnd.Int64N(int64(l.whole)))
	phases := []string{"", "read", "write", "merge", "publish"}
	if phase := phases[rnd.IntN(len(phases))]; phase != "" {
		if _, ok := p.waitFor(t, `trefoil: (`+phase+`)`); ok {
			wait = time.Duration(rnd.Int64N(int64(l.whole / 10)))
		}
	}
	return p, p.killAt(t, wait)
}

// A load that is killed has done all or nothing, the orders agree, and --resume
// completes it.
func TestKillLoad(t *testing.T) {
	rnd := random(t)
	nq := file(t, "p.nq", people)
	const before = 10 // triples of people
	// Most in memory, the others in several runs that are merged.
	small, large := newKilledLoad(t, 10_000), newKilledLoad(t, 100_000)
	met := make(map[string]int)
	wanted := kills(t)
	if os.Getenv("TREFOIL_KILLS") == "" {
		wanted = 3 // each takes seconds
	}
	for kill := 0; kill < wanted; {
		load := small
		if kill == 0 || rnd.IntN(4) == 0 {
			load = large
		}
		data := filepath.Join(t.TempDir(), "store")
		trefoil(t, "load", "--data", data, nq).mustCode(t, done)
		for range 1 + rnd.IntN(4) {
			p, killed := load.killOnce(t, rnd, data)
			if killed {
				kill++
				met[lastPhase(p)]++
			} else {
				p.wait(t).mustCode(t, done)
			}
			n := count(t, data)
			if n != before && n != before+load.triples {
				t.Fatalf("after kill %d: %d triples, want %d or all", kill, n, before)
			}
			if n != before {
				break
			}
		}
		// Without an interrupted load --resume loads anew: then all is there already.
		out := trefoil(t, load.args(data)...).mustCode(t, done)
		if s := out.summary(t); s.Read != int64(load.triples) {
			t.Fatalf("after kill %d: resumed: %+v", kill, s)
		}
		if n := count(t, data); n != before+load.triples {
			t.Fatalf("after kill %d and --resume: %d triples, want %d", kill, n, before+load.triples)
		}
		trefoil(t, "check", "--data", data).mustCode(t, done)
		require.NoError(t, os.RemoveAll(data))
	}
	t.Logf("killed in the phases: %v", met)
}

// lastPhase returns the last phase that a load has said to be in.
func lastPhase(p *process) string {
	phase := "start"
	for line := range strings.Lines(p.Said()) {
		if rest, ok := strings.CutPrefix(line, "trefoil: "); ok {
			phase = strings.TrimRight(strings.Fields(rest)[0], ":")
		}
	}
	return phase
}

// What a server has acknowledged is there after it was killed, and what it has
// acknowledged to be deleted is not.
func TestKillServer(t *testing.T) {
	rnd := random(t)
	data := filepath.Join(t.TempDir(), "store")
	expected := newModel()
	acknowledged := 0
	for kill := range kills(t) {
		s := serve(t, "--data", data)
		first := make(chan struct{}, 1)
		var writers sync.WaitGroup
		for w := range 4 {
			seed := rnd.Uint64()
			writers.Go(func() { write(s.url, w, seed, expected, first) })
		}
		select {
		case <-first:
		case <-s.Ended:
			t.Fatalf("the server ended: %s", s.Said())
		}
		s.killAt(t, time.Duration(rnd.Int64N(int64(200*time.Millisecond))))
		writers.Wait()
		require.NoError(t, expected.failure())
		trefoil(t, "check", "--data", data).mustCode(t, done)
		held := make(map[string]bool)
		for _, line := range trefoil(t, "dump", "--no-annotations", "--data", data).mustCode(t, done).lines() {
			held[line] = true
		}
		acknowledged += expected.compare(t, kill, held)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d acknowledged changes checked", acknowledged)
}

// model is what a store must hold: for each statement whether it is there, or
// that it is not known, because the answer to a change did not come.
type model struct {
	mu      sync.Mutex
	there   map[string]bool
	unknown map[string]bool
	changes int   // acknowledged since the last compare
	err     error // an answer that should not be
}

func newModel() *model { return &model{there: make(map[string]bool), unknown: make(map[string]bool)} }

func (m *model) acknowledge(lines []string, there bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes += len(lines)
	for _, line := range lines {
		m.there[line] = there
	}
}

func (m *model) lost(lines []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range lines {
		m.unknown[line] = true
	}
}

func (m *model) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *model) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// compare fails the test where the store differs from the model, and returns how
// many changes were acknowledged since the last compare.
func (m *model) compare(t *testing.T, kill int, held map[string]bool) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range m.unknown {
		m.there[line] = held[line]
	}
	clear(m.unknown)
	for line, there := range m.there {
		if there != held[line] {
			t.Errorf("after kill %d: there: %t, acknowledged: %t: %s", kill+1, held[line], there, line)
		}
	}
	for line := range held {
		if _, ok := m.there[line]; !ok {
			t.Errorf("after kill %d: never added: %s", kill+1, line)
		}
	}
	n := m.changes
	m.changes = 0
	return n
}

// write adds and deletes statements of its own until the server is gone.
func write(url string, writer int, seed uint64, m *model, first chan<- struct{}) {
	rnd := rand.New(rand.NewPCG(seed, uint64(writer)))
	var mine [][]string
	for batch := 0; ; batch++ {
		method, there := http.MethodPost, true
		var lines []string
		if len(mine) > 3 && rnd.IntN(4) == 0 {
			method, there = http.MethodDelete, false
			i := rnd.IntN(len(mine))
			lines = mine[i]
			mine = append(mine[:i], mine[i+1:]...)
		} else {
			for i := range 1 + rnd.IntN(50) {
				lines = append(lines, fmt.Sprintf(`<http://e.x/%d/%x/%d> <http://e.x/n> "%d" <http://e.x/g%d> .`, writer, seed, batch, i, i%2))
			}
			mine = append(mine, lines)
		}
		request, err := http.NewRequest(method, url+"/triples", strings.NewReader(strings.Join(lines, "\n")+"\n"))
		if err != nil {
			m.fail(err)
			return
		}
		request.Header.Set("Content-Type", "application/n-quads")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			m.lost(lines)
			return
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			// The status line has come, and with it the promise.
			body = []byte(err.Error())
		}
		if response.StatusCode != http.StatusOK {
			m.lost(lines)
			m.fail(fmt.Errorf("%s /triples: %s: %s", method, response.Status, body))
			return
		}
		m.acknowledge(lines, there)
		select {
		case first <- struct{}{}:
		default:
		}
	}
}
