// Jobs of PageRank that are interrupted, and scores after a restart. No job keeps rounds.

package linkgraph

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/trefoildb/trefoil/internal/linkgraph/machine"
	"github.com/trefoildb/trefoil/internal/linkgraph/pagerank"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/triple"
)

// said keeps log messages.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// take returns the messages since the last call.
func (s *said) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

// rankWorld is a world with random links in several cells.
func rankWorld(t testing.TB, rng *rand.Rand) (*world, *said) {
	log := &said{}
	w := newWorld(t, machine.Options{CellPages: 15, Logger: slog.New(slog.NewTextHandler(log, nil))})
	var changes []links.Change
	for host := range 8 {
		for i := range 10 {
			c := links.Change{Kind: links.ReplaceLinks, Source: pageURL(host, i)}
			for dst := range 80 {
				if rng.IntN(20) == 0 {
					c.Targets = append(c.Targets, pageURL(dst%8, dst/8))
				}
			}
			changes = append(changes, c)
		}
	}
	w.update(changes...)
	return w, log
}

func (w *world) startPageRank(o links.PageRankOptions) {
	w.t.Helper()
	require.NoError(w.t, w.graph.StartPageRank(ctx, o))
}

// ended waits until the job has succeeded and its file is removed.
func (w *world) ended() links.PageRankJob {
	w.t.Helper()
	for {
		job, err := w.graph.PageRank(ctx)
		if err != nil || job.State == pagerank.StateFailed || job.State == pagerank.StateStopped {
			w.t.Fatalf("%+v, %v", job, err)
		}
		if _, err := os.Stat(w.rankFile(pagerank.JobFile)); job.State == pagerank.StateDone && errors.Is(err, os.ErrNotExist) {
			return job
		}
		runtime.Gosched()
	}
}

// ranked returns the scores of all pages.
func (w *world) ranked() map[uid.UID]float64 {
	w.t.Helper()
	r, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: links.PageRank, All: true})
	require.NoError(w.t, err)
	scores := map[uid.UID]float64{}
	var pages []uid.UID
	for _, p := range r.Authorities {
		scores[p.UID] = p.Score
		pages = append(pages, p.UID)
	}
	if r, err = w.graph.Rank(ctx, links.RankRequest{Algorithm: links.PageRank, Pages: append(pages, 0, 1, math.MaxUint64)}); err != nil {
		w.t.Fatal(err)
	}
	for _, p := range r.Authorities {
		if p.Score != scores[p.UID] {
			w.t.Fatalf("%s has score %v and, asked for, %v", p.UID, scores[p.UID], p.Score)
		}
	}
	return scores
}

func same(t testing.TB, got, want map[uid.UID]float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%d pages, want %d", len(got), len(want))
	}
	for u, score := range want {
		if got[u] != score { // to the same bits
			t.Fatalf("the score of %s is %v, want %v", u, got[u], score)
		}
	}
}

func (w *world) rankFile(name string) string { return filepath.Join(w.dir, "links", name) }

// interrupt starts a job and closes the graph in the middle, after the given number of rounds.
// The store stays closed.
func (w *world) interrupt(o links.PageRankOptions, rounds int) {
	w.t.Helper()
	reached := make(chan struct{})
	graph := w.graph
	graph.ranker.Ranks.AfterRound = func(r rank.Round) {
		if r.Number == rounds {
			close(reached)
			<-graph.Context.Done()
		}
	}
	w.startPageRank(o)
	<-reached
	w.close()
}

// TestPageRankBeginsAgain checks that a job that was interrupted by a restart begins again, and ends
// like an uninterrupted one.
func TestPageRankBeginsAgain(t *testing.T) {
	rng := random(t)
	w, log := rankWorld(t, rng)
	w.startPageRank(links.PageRankOptions{Damping: 0.8})
	whole := w.ended()
	want := w.ranked()
	w.interrupt(links.PageRankOptions{Damping: 0.8}, 2+rng.IntN(10))
	log.take()
	w.open()
	same(t, w.ranked(), want) // those of the job before, meanwhile
	job := w.ended()
	if text := log.take(); !strings.Contains(text, "begins again") {
		t.Errorf("%s", text)
	}
	same(t, w.ranked(), want)
	if job.Round != whole.Round || job.Change != whole.Change || job.Pages != whole.Pages || job.Links != whole.Links || job.Epoch != whole.Epoch || !job.Converged {
		t.Errorf("%+v, want %+v", job, whole)
	}
	if _, err := os.Stat(w.rankFile(pagerank.JobFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the job's file is there still: %v", err)
	}
}

// TestPageRankAfterAKill does the same with a killed process, without the scores of an earlier job.
func TestPageRankAfterAKill(t *testing.T) {
	w, log := rankWorld(t, random(t))
	killed := map[int][]byte{} // the file during a round
	graph := w.graph
	graph.ranker.Ranks.AfterRound = func(r rank.Round) {
		killed[r.Number], _ = os.ReadFile(w.rankFile(pagerank.JobFile))
	}
	w.startPageRank(links.PageRankOptions{})
	w.ended()
	want := w.ranked()
	w.close()
	for _, round := range []int{1, 2, 7} {
		require.NoError(t, errors.Join(os.Remove(w.rankFile(pagerank.ScoresFile)), os.WriteFile(w.rankFile(pagerank.JobFile), killed[round], 0o644)))
		log.take()
		w.open()
		w.ended()
		same(t, w.ranked(), want)
		if text := log.take(); !strings.Contains(text, "begins again") {
			t.Errorf("killed in round %d: %s", round, text)
		}
		w.close()
	}
	w.open()
}

// TestPageRankDamagedJob checks that a damaged file of a job is logged and the job begins again, with
// its options unless these are damaged.
func TestPageRankDamagedJob(t *testing.T) {
	rng := random(t)
	w, log := rankWorld(t, rng)
	w.startPageRank(links.PageRankOptions{Damping: 0.6})
	w.ended()
	want := w.ranked()
	w.startPageRank(links.PageRankOptions{})
	w.ended()
	byDefault := w.ranked()
	w.interrupt(links.PageRankOptions{Damping: 0.6}, 3)
	data, err := os.ReadFile(w.rankFile(pagerank.JobFile))
	require.NoError(t, err)
	record := bytes.Index(data, []byte(`"options"`))
	for name, c := range map[string]struct {
		damage []byte
		want   map[uid.UID]float64
	}{
		"sum":     {flipped(data, len(data)-1-rng.IntN(8)), byDefault},
		"end":     {data[:len(data)-1], byDefault},
		"more":    {append(bytes.Clone(data), 0), want},
		"cells":   {withCells(t, data, 3), want},
		"options": {flipped(data, record+rng.IntN(20)), byDefault},
		"magic":   {flipped(data, rng.IntN(8)), byDefault},
		"empty":   {nil, byDefault},
	} {
		require.NoError(t, os.WriteFile(w.rankFile(pagerank.JobFile), c.damage, 0o644))
		log.take()
		w.open()
		w.ended()
		t.Log(name)
		same(t, w.ranked(), c.want)
		if text := log.take(); !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "begins again") {
			t.Errorf("%s: %s", name, text)
		}
		w.close()
	}
	w.open()
}

// withCells returns the file of a job that says that some cells follow, and has none.
func withCells(t testing.TB, data []byte, cells int) []byte {
	t.Helper()
	j, _, err := pagerank.OpenSaved(data)
	require.NoError(t, err)
	j.Cells = cells
	text, err := json.Marshal(j)
	var file bytes.Buffer
	w := bufio.NewWriter(&file)
	require.NoError(t, errors.Join(err, pagerank.WritePiece(w, text), w.Flush()))
	return append([]byte(pagerank.SavedMagic), file.Bytes()...)
}

func flipped(data []byte, at int) []byte {
	data = bytes.Clone(data)
	data[at] ^= 1 << (at % 8)
	return data
}

// TestPageRankOfAChangedGraph checks that a job that begins again counts the links of that moment.
func TestPageRankOfAChangedGraph(t *testing.T) {
	w, log := rankWorld(t, random(t))
	w.update(links.Change{Kind: links.ReplaceLinks, Source: pageURL(1, 1), Targets: []string{pageURL(2, 2)}})
	w.interrupt(links.PageRankOptions{}, 4)
	db, err := store.Open(w.dir, store.Options{MinFreeBytes: -1, Watched: []string{links.DefaultPredicate}})
	require.NoError(t, err)
	// It has as many pages and links as before.
	_, err1 := store.Delete(ctx, db, []triple.Triple{links.Link(links.DefaultPredicate, pageURL(1, 1), pageURL(2, 2))})
	_, err2 := store.Add(ctx, db, []triple.Triple{links.Link(links.DefaultPredicate, pageURL(1, 1), pageURL(3, 3))})
	if err = errors.Join(err1, err2, db.Close()); err != nil {
		t.Fatal(err)
	}
	log.take()
	w.open()
	job := w.ended()
	if text := log.take(); !strings.Contains(text, "begins again") {
		t.Errorf("%s", text)
	}
	got := w.ranked()
	w.startPageRank(links.PageRankOptions{})
	if again := w.ended(); again.Epoch != job.Epoch || again.Pages != job.Pages || again.Round != job.Round {
		t.Errorf("%+v, want %+v", job, again)
	}
	same(t, got, w.ranked())
}

// TestPageRankScoresStay checks that the scores of a job that has ended are there after a
// restart, even if the graph has changed since.
func TestPageRankScoresStay(t *testing.T) {
	w, log := rankWorld(t, random(t))
	w.startPageRank(links.PageRankOptions{MaxRounds: 5})
	job := w.ended()
	want := w.ranked()
	w.update(links.Change{Source: "http://a.example.org/", Targets: []string{pageURL(3, 3)}})
	for range 2 {
		w.close()
		w.open()
		again := w.ended()
		again.Seconds = job.Seconds
		if again != job || job.Round != 5 || job.Converged {
			t.Fatalf("%+v, want %+v", again, job)
		}
		same(t, w.ranked(), want)
		require.NoError(t, w.graph.placer.Make(ctx, machine.AllPartitions))
	}
	data, err := os.ReadFile(w.rankFile(pagerank.ScoresFile))
	require.NoError(t, err)
	w.close()
	require.NoError(t, os.WriteFile(w.rankFile(pagerank.ScoresFile), flipped(data, len(data)/2), 0o644))
	log.take()
	w.open()
	if _, err := w.graph.PageRank(ctx); !errors.Is(err, links.ErrNoJob) {
		t.Errorf("a damaged job: %v", err)
	}
	if _, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: links.PageRank}); !errors.Is(err, links.ErrNoJob) {
		t.Errorf("damaged scores: %v", err)
	}
	if text := log.take(); !strings.Contains(text, "start it again") {
		t.Errorf("%s", text)
	}
	other, _ := rankWorld(t, random(t))
	other.close()
	for _, name := range []string{pagerank.ScoresFile, pagerank.JobFile} {
		require.NoError(t, os.WriteFile(other.rankFile(name), data, 0o644))
	}
	other.open()
	if _, err := other.graph.PageRank(ctx); !errors.Is(err, links.ErrNoJob) {
		t.Errorf("a job of another store: %v", err)
	}
}

// TestPageRankStoringGoesOn checks that the storing of scores continues after a restart, but
// not if the job was stopped.
func TestPageRankStoringGoesOn(t *testing.T) {
	w, log := rankWorld(t, random(t))
	w.startPageRank(links.PageRankOptions{Store: true})
	job := w.ended()
	if job.Stored != job.Pages {
		t.Errorf("%+v", job)
	}
	best, err := w.graph.Rank(ctx, links.RankRequest{Algorithm: links.PageRank, All: true, Top: 1})
	require.NoError(t, err)
	urls, err := w.graph.URLs(ctx, []uid.UID{best.Authorities[0].UID})
	require.NoError(t, err)
	page := links.UIDTriple(urls[0], best.Authorities[0].UID)
	require.NoError(t, store.Annotate(ctx, w.store, page, links.PageRankApplication, []byte("old")))
	saved, _, err := w.graph.ranker.RankFiles.ReadSaved(pagerank.ScoresFile)
	if err != nil || saved.Job.Stored != job.Stored {
		t.Fatal(saved, err)
	}
	saved.Job.State, saved.Job.Stored = pagerank.StateStoring, 0
	require.NoError(t, w.graph.ranker.RankFiles.WriteSaved(pagerank.JobFile, *saved, 0, nil))
	w.close()
	w.open()
	if again := w.ended(); again.Stored != job.Pages || again.Round != job.Round {
		t.Errorf("%+v, want %+v", again, job)
	}
	if text := log.take(); !strings.Contains(text, "goes on storing") {
		t.Errorf("%s", text)
	}
	sn, err := w.store.Snapshot()
	require.NoError(t, err)
	noted, err := sn.Annotation(ctx, page, links.PageRankApplication)
	sn.Close()
	if err != nil || string(noted.Bytes()) == "old" {
		t.Errorf("%q is noted, %v", noted.Bytes(), err)
	}

	// A job that was stopped has ended, even if the graph is closed at once.
	graph, stopped := w.graph, make(chan struct{})
	graph.ranker.Ranks.AfterRound = func(r rank.Round) {
		if r.Number == 3 {
			if err := graph.StopPageRank(ctx); err != nil {
				t.Error(err)
			}
			close(stopped)
			<-graph.Context.Done()
		}
	}
	w.startPageRank(links.PageRankOptions{})
	<-stopped
	w.close()
	w.open()
	if again, err := w.graph.PageRank(ctx); err != nil || again.State != pagerank.StateDone || again.Round != job.Round {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestScoresBatches checks that pages have their own scores, whatever the number of pages in a
// cell.
func TestScoresBatches(t *testing.T) {
	s := &pagerank.Scores{}
	next := uid.UID(1)
	for _, n := range []int{1, 10_000, 4096, 8192} {
		var pages []uid.UID
		var of []float64
		for range n {
			pages, of = append(pages, next), append(of, float64(next))
			next += 3
		}
		require.NoError(t, s.Add(pages, of))
	}
	want := uid.UID(1)
	for pages, scores := range s.Batches() {
		if len(pages) != len(scores) || len(pages) > 1<<12 {
			t.Fatalf("%d scores of %d pages", len(scores), len(pages))
		}
		for i, u := range pages {
			if u != want || scores[i] != float64(u) {
				t.Fatalf("%d has score %v, want %d", u, scores[i], want)
			}
			want += 3
		}
	}
	if want != next {
		t.Errorf("they end at %d of %d", want, next)
	}
}

// TestPageRankOfNothing runs a job on a graph without pages.
func TestPageRankOfNothing(t *testing.T) {
	w := newWorld(t, machine.Options{})
	w.startPageRank(links.PageRankOptions{Store: true})
	w.ended()
	w.close()
	w.open()
	if job := w.ended(); job.Pages != 0 || job.Change != 0 || !job.Converged {
		t.Errorf("%+v", job)
	}
}

// TestSavedPageRankFlippedBits checks that every flipped bit of a file is found.
func TestSavedPageRankFlippedBits(t *testing.T) {
	w, _ := rankWorld(t, random(t))
	w.startPageRank(links.PageRankOptions{})
	w.ended()
	data, err := os.ReadFile(w.rankFile(pagerank.ScoresFile))
	require.NoError(t, err)
	for at := range data {
		if _, _, err := pagerank.OpenSaved(flipped(data, at)); !errors.Is(err, pagerank.ErrDamaged) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	for end := range data {
		if _, _, err := pagerank.OpenSaved(data[:end]); !errors.Is(err, pagerank.ErrDamaged) {
			t.Fatalf("%d bytes: %v", end, err)
		}
	}
}

func FuzzOpenSavedPageRank(f *testing.F) {
	f.Add([]byte(pagerank.SavedMagic))
	f.Add(append([]byte(pagerank.SavedMagic), "\x02\x00\x00\x00\x00\x00\x00\x00{}"+"\x00\x00\x00\x00\x00\x00\x00\x00"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, cells, err := pagerank.OpenSaved(data)
		if err != nil {
			if !errors.Is(err, pagerank.ErrDamaged) {
				t.Error(err)
			}
			return
		}
		if _, err := pagerank.OpenScores(j, cells); err != nil && !errors.Is(err, pagerank.ErrDamaged) {
			t.Error(err)
		}
	})
}
