// Kills of a process in moments that must be atomic: a build of all cells, a cell that is built
// again, a merge of rows, the writing of files, UIDs assigned by a commit and by a bulk load.
// The process is this test's own program, started again. It watches the stacks of its
// goroutines until one is in the right function, and then kills itself, so each kill is
// certainly in such a moment. Its parent compares what is left with what was acknowledged.

package linkgraph

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// killMoments are the functions in which a process is killed. Some are reached when a graph is
// opened without its files, the others while links change.
var killMoments = []struct {
	name, function string
	opening        bool
}{
	{"cell", "internal/linkgraph/keep.(*Keeper).Rebuild.func", false},
	{"assign", "internal/linkgraph/assign.(*allocators).assign(", false},
	{"build", "internal/linkgraph/build.(*Maker).tryBuild(", true},
	{"merge", "links/delta.mergeRows(", false},
	{"load", "internal/linkgraph/assign.(*allocators).Load(", true},
	{"files", "internal/linkgraph/keep.(*Keeper).Save(", true},
}

// The environment of a process that is to be killed.
const (
	killedDir    = "TREFOIL_KILLED_DIR"
	killedMoment = "TREFOIL_KILLED_MOMENT" // its number
	killedSeed   = "TREFOIL_KILLED_SEED"
)

// killedOptions are the options of the graph, before and after.
var killedOptions = machine.Options{CellPages: 1500, Limits: machine.Limits{LoadedPages: 50, HeldBytes: machine.HeldBytes}}

// A step is one action of one of two writers, chosen by the seed.
type killedStep struct {
	writer  string // "update" replaces the lists of its own pages, "add" adds triples
	changes []links.Change
}

const killedWriters = 2

func newKilledStep(seed uint64, writer, number int) killedStep {
	rng := rand.New(rand.NewPCG(seed, uint64(number*killedWriters+writer)))
	s := killedStep{writer: []string{"update", "add"}[writer]}
	for n := range 1 + rng.IntN(40) {
		c := links.Change{Kind: links.ReplaceLinks, Source: fmt.Sprintf("http://%s%d.example.org/%d", s.writer, rng.IntN(5), 40*rng.IntN(10)+n)}
		for range rng.IntN(8) {
			if to := pageURL(rng.IntN(20), rng.IntN(600)); !slices.Contains(c.Targets, to) {
				c.Targets = append(c.Targets, to)
			}
		}
		s.changes = append(s.changes, c)
	}
	return s
}

// TestKilledProcess is the process that is killed.
func TestKilledProcess(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		t.Skip("it is started by TestAbuseKill")
	}
	moment, err := strconv.Atoi(os.Getenv(killedMoment))
	require.NoError(t, err)
	seed, err := strconv.ParseUint(os.Getenv(killedSeed), 10, 64)
	require.NoError(t, err)
	file, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	p := &killedProcess{t: t, seed: seed, log: file}
	begun := time.Now()
	go p.watch(killMoments[moment].function, 1+int(seed%4))
	w := &world{t: t, dir: filepath.Join(dir, "store"), o: killedOptions}
	for step := 0; time.Since(begun) < time.Minute; step++ {
		if step%10 == 0 {
			if step > 0 {
				w.close()
			}
			if killMoments[moment].opening {
				require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "links")))
				p.beside(w, step)
			}
			w.open()
		}
		var both sync.WaitGroup
		both.Go(func() { p.update(w, step) })
		both.Go(func() { p.add(w, step) })
		both.Wait()
	}
	t.Fatalf("no goroutine was in %s", killMoments[moment].function)
}

type killedProcess struct {
	t    *testing.T
	seed uint64
	mu   sync.Mutex
	log  *os.File
}

// note writes a line: the page cache keeps it even if the process is killed.
func (p *killedProcess) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := fmt.Fprintf(p.log, format+"\n", args...); err != nil {
		p.t.Error(err)
	}
}

// watch kills the process when a goroutine is in a function for the nth time.
func (p *killedProcess) watch(function string, nth int) {
	stacks := make([]byte, 1<<20)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		p.t.Error(err)
		return
	}
	for seen := 0; ; runtime.Gosched() {
		if bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte(function)) {
			if seen++; seen == nth {
				break
			}
		}
	}
	_ = self.Kill() // later notes may come too late
	select {}
}

func (p *killedProcess) update(w *world, step int) {
	s := newKilledStep(p.seed, 0, step)
	p.note("begin 0 %d", step)
	if _, err := w.graph.Update(ctx, s.changes); err != nil {
		p.t.Error(err)
		return
	}
	p.note("end 0 %d", step)
	var urls []string
	for _, c := range s.changes {
		urls = append(urls, c.Targets...)
	}
	uids, err := w.graph.UIDs(ctx, urls)
	if err != nil {
		p.t.Error(err)
		return
	}
	for i, u := range uids {
		p.note("uid %s %s", urls[i], u)
	}
}

func (p *killedProcess) add(w *world, step int) {
	s := newKilledStep(p.seed, 1, step)
	var all []triple.Triple
	for _, c := range s.changes {
		for _, dst := range c.Targets {
			all = append(all, links.Link(links.DefaultPredicate, c.Source, dst))
		}
	}
	p.note("begin 1 %d", step)
	if _, err := store.Add(ctx, w.store, all); err != nil {
		p.t.Error(err)
		return
	}
	p.note("end 1 %d", step)
}

// beside adds links of new pages while the graph is closed. They get their UIDs by a bulk load
// when it is built.
func (p *killedProcess) beside(w *world, step int) {
	w.open()
	if err := w.graph.Close(); err != nil { // the store alone
		p.t.Error(err)
	}
	var all []triple.Triple
	for i := range 100 {
		all = append(all, links.Link(links.DefaultPredicate, killedBeside(p.seed, step, i), killedBeside(p.seed, step, i+1)))
	}
	p.note("begin beside %d", step)
	if _, err := store.Add(ctx, w.store, all); err != nil {
		p.t.Error(err)
	}
	p.note("end beside %d", step)
	if err := w.store.Close(); err != nil {
		p.t.Error(err)
	}
	if err := os.RemoveAll(filepath.Join(w.dir, "links")); err != nil {
		p.t.Error(err)
	}
}

func killedBeside(seed uint64, step, page int) string {
	return fmt.Sprintf("http://beside%d.example.org/%d/%d/%d", page%7, seed, step, page)
}

// killed is the parent's knowledge.
type killed struct {
	*world
	doubt []killedStep // begun and not ended
}

// learn reads the log of a process: what was acknowledged, and what it had begun.
func (k *killed) learn(log string, seed uint64) {
	k.t.Helper()
	k.doubt = nil
	begun := map[[2]int]bool{}
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if fields[0] == "uid" {
			u, err := uid.Parse(fields[2])
			require.NoError(k.t, err)
			if before, ok := k.uids[fields[1]]; ok && before != u {
				k.t.Fatalf("%s had UID %s, and was said to have %s", fields[1], before, u)
			}
			k.uids[fields[1]] = u
			continue
		}
		writer := 2
		if fields[1] != "beside" {
			writer = int(fields[1][0] - '0')
		}
		number, err := strconv.Atoi(fields[2])
		require.NoError(k.t, err)
		at := [2]int{writer, number}
		if begun[at] = fields[0] == "begin"; !begun[at] {
			k.apply(stepOf(seed, at))
		}
	}
	for at, open := range begun {
		if open {
			k.doubt = append(k.doubt, stepOf(seed, at))
		}
	}
}

func stepOf(seed uint64, at [2]int) killedStep {
	if at[0] < killedWriters {
		return newKilledStep(seed, at[0], at[1])
	}
	s := killedStep{writer: "beside"}
	for i := range 100 {
		s.changes = append(s.changes, links.Change{Source: killedBeside(seed, at[1], i), Targets: []string{killedBeside(seed, at[1], i+1)}})
	}
	return s
}

// apply makes a step in the map.
func (k *killed) apply(s killedStep) {
	for _, c := range s.changes {
		if s.writer == "update" {
			delete(k.links, c.Source)
		}
		for _, dst := range c.Targets {
			k.set(c.Source, dst, cell.NoLabel)
		}
	}
}

// settleDoubts finds out whether the steps in doubt were made. Each was one commit, so it was
// made as a whole or not at all.
func (k *killed) settleDoubts() (made int) {
	k.t.Helper()
	for _, s := range k.doubt {
		before := map[string]map[string]links.Label{}
		for _, c := range s.changes {
			before[c.Source] = maps.Clone(k.links[c.Source])
		}
		k.apply(s)
		differ := func(links map[string]map[string]links.Label) string {
			for _, c := range s.changes {
				if got := k.targets(c.Source); !slices.Equal(got, slices.Sorted(maps.Keys(links[c.Source]))) {
					return c.Source
				}
			}
			return ""
		}
		after := differ(k.links)
		if after == "" {
			made++
			continue
		}
		if not := differ(before); not != "" {
			k.t.Fatalf("a step of %s was made in parts: %s is not as before it, and %s not as after", s.writer, not, after)
		}
		maps.Copy(k.links, before)
	}
	return made
}

// targets returns the targets of a page's links in the graph.
func (k *killed) targets(url string) []string {
	k.t.Helper()
	pages, err := k.graph.UIDs(ctx, []string{url})
	require.NoError(k.t, err)
	if pages[0] == 0 {
		return nil
	}
	list, err := k.graph.Links(ctx, links.Forward, pages)
	require.NoError(k.t, err)
	names, err := k.graph.URLs(ctx, list.Items)
	require.NoError(k.t, err)
	slices.Sort(names)
	return names
}

// TestAbuseKill kills a process in each of the moments. It must not lose anything acknowledged,
// nor a UID, and must not assign a UID twice: from its files, and built from the store.
func TestAbuseKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; the race detector sees the same code elsewhere")
	}
	rng := random(t)
	dir := t.TempDir()
	k := &killed{world: &world{t: t, dir: filepath.Join(dir, "store"), o: killedOptions, links: map[string]map[string]links.Label{}, uids: map[string]uid.UID{}}}
	rounds, moments := 12, []int{0, 1, 2, 3, 4, 5}
	if !fullAbuse() {
		rounds, moments = 1, seed.Choose(t, moments[:3]) // because the others take longer to reach
	}
	for range rounds {
		for _, moment := range moments {
			number := rng.Uint64()
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledProcess$", "-test.timeout=2m")
			cmd.Env = append(os.Environ(), killedDir+"="+dir, fmt.Sprintf("%s=%d", killedMoment, moment), fmt.Sprintf("%s=%d", killedSeed, number))
			said, err := cmd.CombinedOutput()
			if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() >= 0 {
				t.Fatalf("%s, seed %d: it was not killed: %v\n%s", killMoments[moment].name, number, err, said)
			}
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			require.NoError(t, err)
			require.NoError(t, os.Remove(filepath.Join(dir, "log")))
			k.learn(string(log), number)
			k.open()
			made := k.settleDoubts()
			t.Logf("killed in %s, seed %d: %d lines were noted, %d steps in doubt, %d of them made", killMoments[moment].name, number, bytes.Count(log, []byte("\n")), len(k.doubt), made)
			k.compare()
			k.close()
			require.NoError(t, os.RemoveAll(filepath.Join(k.dir, "links")))
			k.open()
			k.compare()
			k.close()
		}
	}
}
