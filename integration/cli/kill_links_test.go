// Kills during changes of links.

package cli

// This file kills a server in the middle of changes of links, of giving UIDs and of
// building cells: what was acknowledged is there, in both directions, and no UID is
// lost, given twice or changed. TREFOIL_KILLS and TREFOIL_SEED are those of
// kill_test.go.

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// killedLinks is what writers know of the links of a server.
type killedLinks struct {
	mu   sync.Mutex
	is   map[string]bool // by source; true where the last change was acknowledged
	want map[string][]string
	uids map[string]uid.UID
	of   map[uid.UID]string
}

func linkedPage(n int) string {
	return fmt.Sprintf("http://www.host%d.example.org/page/%d", n%97, n)
}

// write replaces whole lists until the server is gone. Each writer has sources of its
// own; targets are anybody's, and most are new.
func (k *killedLinks) write(ctx context.Context, graph *client.Links, rnd *rand.Rand, writer int) {
	for ctx.Err() == nil {
		var changes []links.Change
		for range 1 + rnd.IntN(200) {
			c := links.Change{Kind: links.ReplaceLinks, Source: linkedPage(10*rnd.IntN(300) + writer)}
			if slices.ContainsFunc(changes, func(other links.Change) bool { return other.Source == c.Source }) {
				continue
			}
			for range rnd.IntN(12) {
				if to := linkedPage(rnd.IntN(200_000)); !slices.Contains(c.Targets, to) {
					c.Targets = append(c.Targets, to)
				}
			}
			changes = append(changes, c)
		}
		k.mu.Lock()
		for _, c := range changes {
			k.is[c.Source] = false
		}
		k.mu.Unlock()
		_, err := graph.Update(ctx, changes)
		k.mu.Lock()
		if err == nil {
			for _, c := range changes {
				k.is[c.Source], k.want[c.Source] = true, slices.Sorted(slices.Values(c.Targets))
			}
		}
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// check compares the graph with what is known, and learns the rest.
func (k *killedLinks) check(t *testing.T, graph *client.Links) {
	t.Helper()
	ctx := t.Context()
	var pages []uid.UID
	for u, err := range graph.AllPages(ctx) {
		require.NoError(t, err)
		pages = append(pages, u)
	}
	names, err := graph.URLs(ctx, pages)
	require.NoError(t, err)
	for i, u := range pages {
		k.learn(t, names[i], u)
	}
	known := slices.Sorted(maps.Keys(k.uids)) // those too that have no links now
	found, err := graph.UIDs(ctx, known)
	require.NoError(t, err)
	for i, name := range known {
		if found[i] != k.uids[name] {
			t.Fatalf("%s had UID %s and has %s", name, k.uids[name], found[i])
		}
	}
	forward, err := graph.Links(ctx, links.Forward, pages)
	require.NoError(t, err)
	backward, err := graph.Links(ctx, links.Backward, pages)
	require.NoError(t, err)
	edges := map[[2]uid.UID]int{}
	for i, u := range pages {
		var targets []string
		for _, to := range forward.At(i) {
			edges[[2]uid.UID{u, to}]++
			targets = append(targets, k.of[to])
		}
		for _, from := range backward.At(i) {
			edges[[2]uid.UID{from, u}] += 2
		}
		slices.Sort(targets)
		if k.is[names[i]] && !slices.Equal(targets, k.want[names[i]]) {
			t.Fatalf("%s links to\n%q, acknowledged was\n%q", names[i], targets, k.want[names[i]])
		}
	}
	for edge, n := range edges {
		if n != 3 {
			t.Fatalf("a link from %s to %s in one direction only", k.of[edge[0]], k.of[edge[1]])
		}
	}
	for name, is := range k.is {
		if is && len(k.want[name]) > 0 && k.uids[name] == 0 {
			t.Fatalf("%s is gone", name)
		}
	}
}

func (k *killedLinks) learn(t *testing.T, name string, u uid.UID) {
	t.Helper()
	if other, ok := k.of[u]; ok && other != name {
		t.Fatalf("UID %s was that of %s and is that of %s", u, other, name)
	}
	if other, ok := k.uids[name]; ok && other != u {
		t.Fatalf("%s had UID %s and has %s", name, other, u)
	}
	k.uids[name], k.of[u] = u, name
}

func TestKillLinks(t *testing.T) {
	rnd := random(t)
	data := filepath.Join(t.TempDir(), "store")
	k := &killedLinks{is: map[string]bool{}, want: map[string][]string{}, uids: map[string]uid.UID{}, of: map[uid.UID]string{}}
	for range max(kills(t)/4, 1) {
		s := serve(t, "--data", data)
		c, err := client.New(s.url, client.Options{Retries: -1})
		require.NoError(t, err)
		graph := c.Links
		require.NoError(t, graph.Capabilities().Loader.Request(t.Context(), links.AllStores))
		k.check(t, graph)
		writing, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for writer := range 3 {
			mine := rand.New(rand.NewPCG(rnd.Uint64(), 0))
			running.Go(func() { k.write(writing, graph, mine, writer) })
		}
		s.killAt(t, time.Duration(200+rnd.IntN(1500))*time.Millisecond)
		cancel()
		running.Wait()
	}
	s := serve(t, "--data", data)
	c, err := client.New(s.url, client.Options{})
	require.NoError(t, err)
	graph := c.Links
	require.NoError(t, graph.Capabilities().Loader.Request(t.Context(), links.AllStores))
	k.check(t, graph)
	if len(k.uids) == 0 {
		t.Fatal("nothing was written")
	}
	t.Logf("%d pages, %d sources", len(k.uids), len(k.is))
}
