// PageRank by all members of a cluster, against the same on plain maps.

package cluster

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/uid"
)

// slow are the options of a job with hundreds of rounds, in the middle of which something
// can happen.
func slow(w *web) links.PageRankOptions {
	return links.PageRankOptions{Damping: 0.95, Tolerance: 1e-10, MaxRounds: 1 << 20, Weighted: w.random.IntN(2) == 0}
}

// rankJob is a job on the links at the moment when its cells were frozen.
type rankJob struct {
	*web
	options links.PageRankOptions
	links   map[string]map[string]cell.Label
}

// startJob starts a job at any machine, and waits until some rounds are done.
func (w *web) startJob(o links.PageRankOptions, rounds int) *rankJob {
	w.t.Helper()
	require.NoError(w.t, w.some().StartPageRank(w.t.Context(), o))
	j := &rankJob{w, o, map[string]map[string]cell.Label{}}
	for src, of := range w.links {
		j.links[src] = maps.Clone(of)
	}
	w.until("rounds are done", func() bool {
		job := j.state(w.some())
		return job.Round >= rounds || job.State == "done"
	})
	return j
}

// state returns the state of the job as a machine has it.
func (j *rankJob) state(g *linkgraph.Graph) links.PageRankJob {
	j.t.Helper()
	job, err := g.PageRank(j.t.Context())
	if err != nil || job.State == "failed" || job.State == "stopped" {
		j.t.Fatalf("%+v, %v", job, err)
	}
	return job
}

// still fails unless the job runs.
func (j *rankJob) still() {
	j.t.Helper()
	if job := j.state(j.some()); job.State != "running" {
		j.t.Fatalf("it has ended already: %+v", job)
	}
}

// ended waits until the job is done on all machines, and checks the scores on each of them.
func (j *rankJob) ended() links.PageRankJob {
	j.t.Helper()
	var done links.PageRankJob
	for _, m := range j.up() {
		j.until("the job is done", func() bool {
			job := j.state(j.graphs[m])
			done = job
			return job.State == "done"
		})
	}
	if !done.Converged {
		j.t.Errorf("%+v", done)
	}
	j.checkScores()
	return done
}

// checkScores checks that all machines have the same scores, those of plain maps.
func (j *rankJob) checkScores() {
	j.t.Helper()
	var first links.Ranking
	for _, m := range j.up() {
		var r links.Ranking
		j.until("a machine has the scores", func() (ok bool) {
			var err error
			r, err = j.graphs[m].Rank(j.t.Context(), links.RankRequest{Algorithm: links.PageRank, All: true})
			if err != nil && !errors.Is(err, links.ErrLoading) {
				j.t.Fatal(err)
			}
			return err == nil
		})
		if first.Authorities == nil {
			first = r
			j.compare(r)
		}
		if !slices.Equal(r.Authorities, first.Authorities) {
			j.t.Fatalf("%s has other scores than %s: %v\n%v", m.name, j.up()[0].name, r.Authorities, first.Authorities)
		}
	}
}

// compare compares scores with the power iteration on the same pages.
func (j *rankJob) compare(r links.Ranking) {
	j.t.Helper()
	damping := cmp.Or(j.options.Damping, 0.85)
	got := map[uid.UID]float64{}
	for _, s := range r.Authorities {
		got[s.UID] = s.Score
	}
	for src, of := range j.links {
		for dst := range of {
			for _, url := range []string{src, dst} {
				if _, ok := got[j.uids[url]]; !ok {
					j.t.Fatalf("%s has no score", url)
				}
			}
		}
	}
	n := float64(len(got))
	scores := map[uid.UID]float64{}
	for u := range got {
		scores[u] = 1 / n
	}
	for range 5000 {
		next, lost := map[uid.UID]float64{}, 0.0
		for u, score := range scores {
			of, total := j.links[j.urls[u]], 0.0
			for _, label := range of {
				total += j.weight(label)
			}
			if total == 0 {
				lost += score
				continue
			}
			for dst, label := range of {
				next[j.uids[dst]] += score * j.weight(label) / total
			}
		}
		change := 0.0
		for u := range got {
			next[u] = (1-damping)/n + damping*(lost/n+next[u])
			change += math.Abs(next[u] - scores[u])
		}
		if scores = next; change < 1e-13 {
			break
		}
	}
	distance := 0.0
	for u, score := range got {
		distance += math.Abs(score - scores[u])
	}
	if most := cmp.Or(j.options.Tolerance, 1e-8) * damping / (1 - damping); !(distance <= most+1e-11) {
		j.t.Fatalf("the distance from plain maps is %g, more than %g, with %+v", distance, most, j.options)
	}
}

func (j *rankJob) weight(label cell.Label) float64 {
	if !j.options.Weighted {
		return 1
	}
	return label.Weight
}

// filled forms a cluster with some links. It tells the UIDs of all pages.
func filled(w *world) *web {
	web := newWeb(w)
	w.form()
	web.open()
	for range 15 {
		web.change()
	}
	// Two pages that link to each other only, and one of them has another link to it: the scores
	// move between both, and lose 5% of their difference in a round of a slow job.
	const a, b, c = "http://slow.example.org/a", "http://slow.example.org/b", "http://slow.example.org/c"
	pair := []links.Change{{Source: a, Targets: []string{b}}, {Source: b, Targets: []string{a}}, {Source: c, Targets: []string{a}}}
	for _, change := range pair {
		web.apply(change)
	}
	if _, err := web.some().Update(w.t.Context(), pair); err != nil {
		w.t.Fatal(err)
	}
	web.check(web.some())
	web.copied()
	w.net.Delay(time.Millisecond, 3*time.Millisecond) // so that something can happen during a job
	return web
}

// coordinator returns the machine with the lowest ID, and another one.
func (w *web) coordinator() (lowest, other *machine) {
	up := slices.SortedFunc(slices.Values(w.up()), func(a, b *machine) int { return cmp.Compare(a.node.MachineID(), b.node.MachineID()) })
	return up[0], up[1+w.random.IntN(len(up)-1)]
}

// TestPageRankOnMembers checks that a job is one of all members: it is shown and stopped at any of them, there is
// only one at a time, and all have its scores at the end, also one that joins later or is restarted.
func TestPageRankOnMembers(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{3, 5}) {
		simulate(t, machines, func(t *testing.T, w *world) {
			web := filled(w)
			defer func() { web.end() }()
			// 1. One job at a time; it is stopped at any machine, and all see that.
			if _, err := web.some().PageRank(t.Context()); !errors.Is(err, links.ErrNoJob) {
				t.Errorf("before there is one: %v", err)
			}
			job := web.startJob(slow(web), 3)
			job.still()
			for _, m := range w.up() {
				if err := web.graphs[m].StartPageRank(t.Context(), links.PageRankOptions{}); !errors.Is(err, links.ErrBusy) {
					t.Errorf("a second job at %s: %v", m.name, err)
				}
				if state := job.state(web.graphs[m]); state.State != "running" || state.Round == 0 || state.Pages == 0 {
					t.Errorf("%s: %+v", m.name, state)
				}
			}
			require.NoError(t, web.some().StopPageRank(t.Context()))
			for _, m := range w.up() {
				if state, err := web.graphs[m].PageRank(t.Context()); err != nil || state.State != "stopped" {
					t.Errorf("%s: %+v, %v", m.name, state, err)
				}
				if _, err := web.graphs[m].Rank(t.Context(), links.RankRequest{Algorithm: links.PageRank, All: true}); !errors.Is(err, links.ErrNoJob) {
					t.Errorf("%s has scores of a job that was stopped: %v", m.name, err)
				}
			}
			if err := web.some().StopPageRank(t.Context()); !errors.Is(err, links.ErrNoJob) {
				t.Errorf("there is none to stop: %v", err)
			}
			// 2. The next one ends, weighted or not.
			for _, weighted := range []bool{false, true} {
				job = web.startJob(links.PageRankOptions{Weighted: weighted}, 0)
				done := job.ended()
				count := int64(0)
				for _, of := range job.links {
					count += int64(len(of))
				}
				if done.Links != count {
					t.Errorf("%+v; there are %d links", done, count)
				}
			}
			// 3. One that joins later has the scores.
			if machines > 1 {
				w.add().run(w.up()[0])
				web.open()
				job.checkScores()
			}
			// 4. All are restarted.
			up := w.up()
			web.end()
			for _, m := range up {
				m.stop()
			}
			for _, m := range up {
				m.run()
			}
			web.open()
			job.checkScores()
			if state := job.state(web.some()); state.State != "done" {
				t.Errorf("%+v", state)
			}
		})
	}
}

// TestPageRankLosses loses machines in the middle of the rounds, the coordinator among them, while links change. The
// job goes on, and its result is that of the links at its start.
func TestPageRankLosses(t *testing.T) {
	for _, which := range seed.Choose(t, []string{"the coordinator", "another", "both"}) {
		simulate(t, 5, func(t *testing.T, w *world) {
			web := filled(w)
			defer func() { web.end() }()
			job := web.startJob(slow(web), 5)
			for range 3 {
				web.change()
			}
			job.still()
			lowest, other := web.coordinator()
			for m, lost := range map[*machine]bool{lowest: which != "another", other: which != "the coordinator"} {
				if lost {
					web.end(m)
					m.kill()
				}
			}
			job.still()
			web.change()
			job.ended()
			w.settle()
			job.checkScores()
		})
	}
}

// TestPageRankWhileGrowing adds machines in the middle of the rounds. One may have a lower ID than the coordinator.
func TestPageRankWhileGrowing(t *testing.T) {
	for _, machines := range seed.Choose(t, []int{2, 3}) {
		simulate(t, machines, func(t *testing.T, w *world) {
			web := filled(w)
			defer func() { web.end() }()
			w.net.Delay(5*time.Millisecond, 20*time.Millisecond) // so that there is time to join
			job := web.startJob(slow(web), 5)
			job.still()
			for range 2 {
				w.add().run(w.up()[0])
			}
			web.open()
			job.still()
			web.change()
			job.ended()
			w.settle()
			job.checkScores()
		})
	}
}

// TestPageRankRestarted restarts one machine in the middle of the rounds, and then all of them. The job goes on or
// begins again by itself.
func TestPageRankRestarted(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := filled(w)
		defer func() { web.end() }()
		job := web.startJob(slow(web), 5)
		job.still()
		for _, up := range [][]*machine{{w.any()}, w.up()} {
			web.end(up...)
			for _, m := range up {
				m.stop()
			}
			for _, m := range up {
				m.run()
			}
			web.open()
			w.until("the job goes on", func() bool {
				state, err := web.some().PageRank(t.Context())
				return err == nil && state.State == "running" && state.Round > 0
			})
		}
		job.ended()
	})
}
