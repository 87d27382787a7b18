// Lists of links right after machines are lost, answered from copies.

package processes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// This file tests that lists of links are answered right after machines are lost, from
// the copies that others keep.

// copiesFailure is the failure timeout of these tests: lists are to be answered long
// before anybody is excluded.
const copiesFailure = "--failure-timeout=5s"

// excluded is the time in which lost machines are excluded, with an election before it. Lists wait
// for it if the lost ones have stamped changes in the last moment.
const excluded = 30 * time.Second

// load loads a made-up web through a machine, and remembers it.
func (w *web) load(m *machine, pages int, seed uint64) {
	w.t.Helper()
	edges := trefoil(w.t, "generate", "--links", "--pages", strconv.Itoa(pages), "--seed", strconv.FormatUint(seed, 10)).must(w.t, 0).stdout
	for line := range strings.Lines(edges) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") || len(fields) < 2 {
			continue
		}
		w.link(fields[0], fields[1])
	}
	file := filepath.Join(w.t.TempDir(), "web.edges")
	require.NoError(w.t, os.WriteFile(file, []byte(edges), 0o600))
	trefoil(w.t, "load", "--links", "--to", m.url(), file).must(w.t, 0)
}

func (w *web) link(src, dst string) {
	if w.links[src] == nil {
		w.links[src] = map[string]bool{}
	}
	w.links[src][dst] = true
}

// backward returns the links by their targets; a page without any has none.
func (w *web) backward() map[string]map[string]bool {
	back := map[string]map[string]bool{}
	for src, of := range w.links {
		for dst := range of {
			for _, url := range []string{src, dst} {
				if back[url] == nil {
					back[url] = map[string]bool{}
				}
			}
			back[dst][src] = true
		}
	}
	return back
}

// asker asks a machine again and again, as clients do.
type asker struct {
	w        *web
	m        *machine
	client   *client.Client
	degraded atomic.Int64 // answers of which something came from elsewhere
}

func (w *web) asker(m *machine) *asker {
	w.t.Helper()
	a := &asker{w: w, m: m}
	var err error
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	w.t.Cleanup(transport.CloseIdleConnections)
	a.client, err = client.New(m.url(), client.Options{
		HTTPClient: &http.Client{Transport: transport}, Retries: 1000, MinBackoff: 20 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
		Degraded: func(string) { a.degraded.Add(1) },
	})
	require.NoError(w.t, err)
	return a
}

// check asks for all that there is to know of some pages, nil for all, within a time. The
// error is why it is not answered; a wrong answer ends the test.
func (a *asker) check(within time.Duration, urls []string) error {
	w := a.w
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	back := w.backward()
	if urls == nil {
		urls = slices.Sorted(maps.Keys(back))
	}
	g := a.client.Links
	if err := a.names(ctx, g, urls); err != nil {
		return err
	}
	uids := make([]uid.UID, len(urls))
	for i, url := range urls {
		uids[i] = w.uids[url]
	}
	for d, of := range map[links.Direction]map[string]map[string]bool{links.Forward: w.links, links.Backward: back} {
		if err := a.checkLists(ctx, g, d, of, urls, uids); err != nil {
			return err
		}
	}
	return nil
}

// names compares UIDs and URLs, and notes UIDs that were not told before, of links' ends
// too.
func (a *asker) names(ctx context.Context, g *client.Links, urls []string) error {
	w := a.w
	w.t.Helper()
	asked := slices.Clone(urls)
	for _, url := range slices.Sorted(maps.Keys(w.backward())) {
		if _, ok := w.uids[url]; !ok {
			asked = append(asked, url)
		}
	}
	uids, err := g.UIDs(ctx, asked)
	if err != nil {
		return fmt.Errorf("UIDs: %w", err)
	}
	for i, url := range asked {
		if before, ok := w.uids[url]; uids[i] == 0 || ok && before != uids[i] {
			w.t.Fatalf("machine %d: the UID of %s is %s and was %s", a.m.number, url, uids[i], before)
		}
		w.uids[url] = uids[i]
	}
	again, err := g.URLs(ctx, uids)
	if err != nil {
		return fmt.Errorf("URLs: %w", err)
	}
	for i, url := range again {
		if url != asked[i] {
			w.t.Fatalf("machine %d: the URL of %s is %q, not %q", a.m.number, uids[i], url, asked[i])
		}
	}
	return nil
}

// sampled is how many links samples have.
const sampled = 3

// checkLists compares lists, degrees and samples of one direction.
func (a *asker) checkLists(ctx context.Context, g *client.Links, d links.Direction, of map[string]map[string]bool, urls []string, uids []uid.UID) error {
	w := a.w
	w.t.Helper()
	lists, err := g.Links(ctx, d, uids)
	if err != nil {
		return fmt.Errorf("%v links: %w", d, err)
	}
	degrees, err := g.Degrees(ctx, d, uids)
	if err != nil {
		return fmt.Errorf("%v degrees: %w", d, err)
	}
	samples, err := g.SampleLinks(ctx, d, uids, sample.Spec{N: sampled, Mode: sample.ModeConsistent})
	if err != nil {
		return fmt.Errorf("%v samples: %w", d, err)
	}
	byURL, err := a.byURL(ctx, d, urls)
	if err != nil {
		return fmt.Errorf("%v links by URL: %w", d, err)
	}
	for i, url := range urls {
		var want []uid.UID
		for end := range of[url] {
			want = append(want, w.uids[end])
		}
		slices.Sort(want)
		some := slices.Clone(want)
		slices.SortFunc(some, func(a, b uid.UID) int { return cmp.Compare(uid.Mix(uint64(a)), uid.Mix(uint64(b))) })
		some = slices.Sorted(slices.Values(some[:min(len(some), sampled)]))
		if got := lists.At(i); !slices.Equal(got, want) || degrees[i] != len(want) {
			w.t.Fatalf("machine %d: %v links of %s: %d, degree %d, and not %d: %v are missing and %v too many", a.m.number, d, url, len(got), degrees[i], len(want),
				without(want, got), without(got, want))
		}
		if got := slices.Sorted(slices.Values(samples.At(i))); !slices.Equal(got, some) {
			w.t.Fatalf("machine %d: a sample of %v links of %s: %v; it is %v", a.m.number, d, url, got, some)
		}
		if got := byURL[i]; len(got) != len(want) || slices.ContainsFunc(got, func(end string) bool { return !of[url][end] }) {
			w.t.Fatalf("machine %d: %v links of %s by URL: %q; they are %q", a.m.number, d, url, got, slices.Sorted(maps.Keys(of[url])))
		}
	}
	return nil
}

// without returns those of some pages that are not among others.
func without(pages, others []uid.UID) []uid.UID {
	return slices.DeleteFunc(slices.Clone(pages), func(u uid.UID) bool { return slices.Contains(others, u) })
}

// byURL asks for lists by URLs, as URLs.
func (a *asker) byURL(ctx context.Context, d links.Direction, urls []string) ([][]string, error) {
	body, err := json.Marshal(map[string]any{"urls": urls, "direction": d.String(), "as": "urls"})
	if err != nil {
		return nil, err
	}
	for {
		status, text, err := a.post(ctx, "/links/get", body)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			var answer struct{ Lists [][]string }
			if err := json.Unmarshal(text, &answer); err != nil || len(answer.Lists) != len(urls) {
				return nil, fmt.Errorf("%d lists for %d pages: %w", len(answer.Lists), len(urls), err)
			}
			return answer.Lists, nil
		case status != http.StatusServiceUnavailable:
			return nil, fmt.Errorf("%d: %s", status, text)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d: %s", status, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (a *asker) post(ctx context.Context, path string, body []byte) (status int, text []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.m.url()+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}

// update changes links of some of the pages that have UIDs, and adds pages of a site,
// until that is done: each change may be done twice.
func (a *asker) update(random *rand.Rand, site string) error {
	w := a.w
	pages := slices.Sorted(maps.Keys(w.uids))
	page := func() string {
		if len(pages) == 0 || random.IntN(8) == 0 {
			return fmt.Sprintf("https://%s%d.example.net/%d", site, random.IntN(9), random.IntN(1000))
		}
		return pages[random.IntN(len(pages))]
	}
	var changes []links.Change
	changed := map[string]bool{}
	for range 20 {
		c := links.Change{Kind: links.ChangeKind(random.IntN(3)), Source: page()}
		if changed[c.Source] {
			continue
		}
		changed[c.Source] = true
		for range random.IntN(8) {
			c.Targets = append(c.Targets, page())
		}
		for _, dst := range slices.Sorted(maps.Keys(w.links[c.Source])) {
			if c.Kind == links.DeleteLinks && random.IntN(2) == 0 {
				c.Targets = append(c.Targets, dst)
			}
		}
		changes = append(changes, c)
		if c.Kind == links.ReplaceLinks {
			clear(w.links[c.Source])
		}
		for _, dst := range c.Targets {
			if c.Kind == links.DeleteLinks {
				delete(w.links[c.Source], dst)
			} else {
				w.link(c.Source, dst)
			}
		}
	}
	for deadline := time.Now().Add(waitLimit); ; pass(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		_, err := a.client.Links.Update(ctx, changes)
		cancel()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// metric returns one of a machine that has no labels.
func (m *machine) metric(name string) (string, error) {
	answer, err := http.Get(m.url() + "/metrics")
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("machine %d has no metric %s", m.number, name)
}

// copied waits until all machines have the cells that they must hold.
func (c *cluster) copied() {
	c.t.Helper()
	until(c.t, "links are copied", func() error {
		s, err := c.up()[0].status()
		if err != nil {
			return err
		}
		if err := isWhole(s, len(c.up())); err != nil {
			return err
		}
		for _, m := range c.up() {
			missing, err := m.metric("trefoil_links_partitions_missing")
			if err != nil || missing != "0" {
				return fmt.Errorf("machine %d lacks %s partitions: %w", m.number, missing, err)
			}
		}
		return nil
	})
}

// steady waits until the view has stayed the same for some time: segments are split and moved up to 3 s after rows
// are written, and who is asked during a move asks again.
func (c *cluster) steady(long time.Duration) {
	c.t.Helper()
	epoch, since := uint64(0), time.Now()
	until(c.t, "the view stays", func() error {
		s, err := c.up()[0].status()
		if err != nil {
			return err
		}
		if s.Epoch != epoch {
			epoch, since = s.Epoch, time.Now()
		}
		if stayed := time.Since(since); stayed < long {
			return fmt.Errorf("epoch %d for %s", epoch, stayed)
		}
		return nil
	})
}

// newCopiesTest forms a cluster that has a web, with all UIDs given.
func newCopiesTest(t *testing.T, random *rand.Rand, machines, pages int, args ...string) (*cluster, *web) {
	t.Helper()
	c := form(t, machines, append([]string{copiesFailure}, args...)...)
	w := &web{t, map[string]map[string]bool{}, map[string]uid.UID{}}
	w.load(c.machines[random.IntN(machines)], pages, random.Uint64())
	require.NoError(t, w.asker(c.machines[0]).check(waitLimit, nil))
	return c, w
}

// choose chooses n machines to be lost, the leader first or not at all, and those that read
// links before others. It returns them and the others.
func (c *cluster) choose(random *rand.Rand, n int, leader bool) (lost, left []*machine) {
	c.t.Helper()
	status := c.whole(len(c.machines))
	stats, err := c.machines[0].client.Links.Stats(c.t.Context())
	require.NoError(c.t, err)
	reads := map[string]int64{}
	for _, s := range stats.Servers {
		reads[s.Address] = s.Pages + s.Links
	}
	order := slices.Clone(c.machines)
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b *machine) int { return cmp.Compare(min(reads[b.address], 1), min(reads[a.address], 1)) })
	for _, m := range order {
		switch leads := idOf(status, m.address) == status.Leader; {
		case leads && leader:
			lost = slices.Insert(lost, 0, m)
		case leads:
			left = append(left, m)
		default:
			lost = append(lost, m)
		}
	}
	for _, m := range lost[:n] {
		c.t.Logf("machine %d is to be lost, which reads %d", m.number, reads[m.address])
	}
	return lost[:n], append(left, lost[n:]...)
}

const (
	// copiesPages is how many pages the webs of these tests have, of some 18 links each.
	copiesPages = 1000
	// soon bounds for how long all of them are waited for where the leader is lost, or
	// links have changed a moment ago, beside what they take at other times; right bounds
	// it otherwise.
	soon, right = 10 * time.Second, time.Second
	// written is how long it takes at most until the others write triples again.
	written = 10 * time.Second
)

// TestLinksRightAfter loses one or two of five machines at once, in several ways: all
// lists are answered at once, and stay right while the others regenerate what was lost
// and links change, and when machines come back. TREFOIL_TORTURE has more ways.
func TestLinksRightAfter(t *testing.T) {
	t.Parallel()
	const kill, stop = syscall.SIGKILL, syscall.SIGSTOP
	for _, test := range []struct {
		name    string
		signals []syscall.Signal
		leader  bool
		quiet   bool // neither links nor the view change for four seconds before
		byLost  bool // they change through the first one that is lost
		torture bool
	}{
		{"two killed", []syscall.Signal{kill, kill}, false, true, false, false},
		{"the leader killed and another one stopped", []syscall.Signal{kill, stop}, true, false, true, false},
		{"the leader and another one killed", []syscall.Signal{kill, kill}, true, true, true, true},
		{"the leader and another one killed after changes", []syscall.Signal{kill, kill}, true, false, false, true},
		{"two killed after changes", []syscall.Signal{kill, kill}, false, false, false, true},
		{"two killed after changes through one", []syscall.Signal{kill, kill}, false, false, true, true},
		{"one killed", []syscall.Signal{kill}, false, true, false, true},
		{"one stopped", []syscall.Signal{stop}, false, true, false, true},
		{"the leader stopped", []syscall.Signal{stop}, true, true, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.torture && torture(t, 0) == 0 {
				t.Skip("for TREFOIL_TORTURE")
			}
			t.Parallel()
			random := newRandom(t)
			c, w := newCopiesTest(t, random, 5, copiesPages)
			c.copied()
			lost, left := c.choose(random, len(test.signals), test.leader)
			asked := w.asker(left[0])
			if test.byLost {
				asked = w.asker(lost[0])
			}
			require.NoError(t, asked.update(random, "later"))
			require.NoError(t, asked.check(waitLimit, nil))
			c.copied()
			begun := time.Now()
			require.NoError(t, asked.check(waitLimit, nil))
			healthy, within := time.Since(begun), soon
			if test.quiet {
				c.steady(4 * time.Second)
				if !test.leader {
					within = right
				}
			} else if within = excluded; asked.update(random, "later") != nil {
				t.Fatal("the last update failed")
			}
			for i, m := range lost {
				m.process.signal(t, test.signals[i])
			}
			survivor := w.asker(left[random.IntN(len(left))])
			begun = time.Now()
			if err := survivor.check(within+5*healthy, nil); err != nil {
				t.Fatalf("%s after it: %v", time.Since(begun), err)
			}
			t.Logf("all lists are answered after %s; before it took %s", time.Since(begun), healthy)
			w.goOn(random, left)
			t.Logf("all is regenerated after %s", time.Since(begun))
			if test.leader { // coming back is for the others
				return
			}
			for i, m := range lost {
				if test.signals[i] == stop {
					m.process.signal(t, syscall.SIGCONT)
				} else {
					m.process.wait(t)
					m.start()
				}
			}
			c.whole(len(c.machines))
			for _, m := range c.machines {
				require.NoError(t, w.asker(m).check(waitLimit, w.some(random, 100)))
			}
		})
	}
}

// goOn asks for lists through some machines by turns, while links of other pages change,
// until these machines are a whole cluster, and for all then.
func (w *web) goOn(random *rand.Rand, left []*machine) {
	t := w.t
	t.Helper()
	beside := &web{t, map[string]map[string]bool{}, map[string]uid.UID{}}
	askers, updaters := make([]*asker, len(left)), make([]*asker, len(left))
	for i, m := range left {
		askers[i], updaters[i] = w.asker(m), beside.asker(m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	updated := make(chan error, 1)
	other := rand.New(rand.NewPCG(random.Uint64(), 0))
	go func() {
		var err error
		var slowest time.Duration
		n := 0
		for ; err == nil && ctx.Err() == nil; n++ {
			begun := time.Now()
			err = updaters[other.IntN(len(updaters))].update(other, "beside")
			slowest = max(slowest, time.Since(begun))
			pass(50 * time.Millisecond)
		}
		t.Logf("%d updates meanwhile, the slowest took %s", n, slowest)
		if slowest > written+soon {
			t.Errorf("an update of new pages took %s", slowest)
		}
		updated <- err
	}()
	defer func() {
		if cancel(); t.Failed() {
			<-updated
		}
	}()
	var slowest time.Duration
	rounds := 0
	for deadline := time.Now().Add(waitLimit); ; rounds++ {
		begun := time.Now()
		if err := askers[rounds%len(askers)].check(soon, w.some(random, 100)); err != nil {
			t.Fatalf("in round %d, after %s: %v", rounds, time.Since(begun), err)
		}
		slowest = max(slowest, time.Since(begun))
		if err := askers[rounds%len(askers)].checkAll(soon); err != nil {
			t.Fatalf("in round %d, after %s: %v", rounds, time.Since(begun), err)
		}
		s, err := left[0].status()
		if err == nil && len(s.Members) == len(left) && s.Phase == "idle" && s.Rebuilding == 0 && s.Waiting == "" { // four may vote
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %+v, %v", waitLimit, s, err)
		}
		pass(200 * time.Millisecond)
	}
	t.Logf("%d rounds, the slowest took %s", rounds, slowest)
	cancel()
	require.NoError(t, <-updated)
	for _, of := range []*web{w, beside} {
		require.NoError(t, of.asker(left[random.IntN(len(left))]).check(soon, nil))
	}
}

// checkAll asks for all pages and for counts, within a time.
func (a *asker) checkAll(within time.Duration) error {
	w := a.w
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	met := map[uid.UID]bool{}
	last := uid.UID(0)
	for u, err := range a.client.Links.AllPages(ctx) {
		if err != nil {
			return fmt.Errorf("all pages: %w", err)
		}
		if u <= last {
			w.t.Fatalf("machine %d: the page %s after %s", a.m.number, u, last)
		}
		met[u], last = true, u
	}
	links, linked := int64(0), map[string]bool{}
	for src, of := range w.links {
		links += int64(len(of))
		for dst := range of {
			linked[src], linked[dst] = true, true
		}
	}
	for url := range linked {
		if u, told := w.uids[url]; told && !met[u] {
			w.t.Fatalf("machine %d: %s (%s) is not among %d pages", a.m.number, u, url, len(met))
		}
	}
	stats, err := a.client.Links.Stats(ctx)
	if err != nil {
		return fmt.Errorf("stats: %w", err)
	}
	if stats.Pages < int64(len(linked)) || stats.Links < links { // others add some
		w.t.Fatalf("machine %d: %d pages and %d links; there are %d and %d", a.m.number, stats.Pages, stats.Links, len(linked), links)
	}
	return nil
}

// some returns some of the pages.
func (w *web) some(random *rand.Rand, n int) []string {
	urls := slices.Sorted(maps.Keys(w.uids))
	random.Shuffle(len(urls), func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
	return urls[:min(n, len(urls))]
}

// TestLinksWithoutCopies: where no copies are kept, lists of machines that were lost are
// not answered for a while, and then they are, but never wrong.
func TestLinksWithoutCopies(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	c, w := newCopiesTest(t, random, 3, 500, "--link-copies=0")
	until(t, "no machine has all partitions", func() error { // a view that moves some has them twice
		held, err := c.machines[0].metric("trefoil_links_partitions")
		if err == nil && held == "64" {
			err = errors.New("one of three machines has all 64")
		}
		return err
	})
	lost, left := c.choose(random, 1, random.IntN(2) == 0)
	lost[0].kill()
	a, begun := w.asker(left[0]), time.Now()
	until(t, "lists are answered", func() error { return a.check(requestTimeout, nil) })
	t.Logf("all lists are answered after %s", time.Since(begun))
}
