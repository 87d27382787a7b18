// Tests of the store on small clusters.

package positional

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/weburl"
)

// randomGraph returns pages of some hosts with links, some of which lead to
// pages that have none.
func randomGraph(r *rand.Rand, hosts, pages int) map[string][]string {
	url := func() string {
		scheme := []string{"http", "http", "http", "https"}[r.IntN(4)]
		host := int(float64(hosts) * r.Float64() * r.Float64())
		return fmt.Sprintf("%s://h%d.example.org/%d", scheme, host, r.IntN(1+pages/hosts))
	}
	graph := map[string][]string{}
	for range pages {
		from := url()
		for range r.IntN(8) {
			graph[from] = append(graph[from], url())
		}
		if r.IntN(20) == 0 {
			graph[from] = append(graph[from], from, "urn:x:1", "not an IRI")
		}
	}
	return graph
}

// plain is the oracle: the same graph as maps.
type plain struct {
	urls  []string
	links [2]map[string]map[string]bool
}

func newPlain(graph map[string][]string) *plain {
	p := &plain{links: [2]map[string]map[string]bool{{}, {}}}
	all := map[string]bool{}
	add := func(d Direction, from, to string) {
		if p.links[d][from] == nil {
			p.links[d][from] = map[string]bool{}
		}
		p.links[d][from][to] = true
	}
	for from, targets := range graph {
		all[from] = true
		for _, to := range targets {
			all[to] = true
			add(Forward, from, to)
			add(Backward, to, from)
		}
	}
	p.urls = slices.SortedFunc(maps.Keys(all), weburl.Compare)
	return p
}

func build(t testing.TB, graph map[string][]string, o Options) *Store {
	t.Helper()
	s, err := Build(maps.All(graph), o)
	require.NoError(t, err)
	return s
}

// known is what a client learned of a page.
type known struct {
	uid   UID
	links [2][]UID
}

// learn asks the clerk everything, and compares with the oracle.
func learn(t *testing.T, c *Clerk, p *plain) map[string]known {
	t.Helper()
	answers := map[string]known{}
	names := map[UID]string{}
	for _, url := range p.urls {
		u, err := c.UrlToUid(url)
		require.NoError(t, err)
		if other, twice := names[u]; twice {
			t.Fatalf("UID %d of %s and of %s", u, url, other)
		}
		names[u] = url
		answers[url] = known{uid: u}
	}
	for _, url := range p.urls {
		answer := answers[url]
		if back, err := c.UidToUrl(answer.uid); err != nil || back != url {
			t.Fatalf("UID %d of %s: %s, %v", answer.uid, url, back, err)
		}
		for _, d := range []Direction{Forward, Backward} {
			targets, err := c.GetLinks(d, answer.uid)
			require.NoError(t, err)
			got := map[string]bool{}
			for i, u := range targets {
				got[names[u]] = true
				if i > 0 && targets[i-1] >= u {
					t.Fatalf("links %d of %s: not ascending: %d", d, url, targets)
				}
			}
			if want := p.links[d][url]; len(got) != len(targets) || len(got) != len(want) || len(want) > 0 && !maps.Equal(got, want) {
				t.Fatalf("links %d of %s: %v, want %v", d, url, got, want)
			}
			answer.links[d] = targets
		}
		answers[url] = answer
	}
	return answers
}

// TestClientsNeverNotice builds a graph on every small cluster and compares, for
// every set of machines that may fail, each UID and each list with what they were
// before the failure.
func TestClientsNeverNotice(t *testing.T) {
	r := random(t)
	for _, policy := range clusters() {
		graph := randomGraph(r, 20, 60)
		p := newPlain(graph)
		s := build(t, graph, Options{Policy: policy})
		links := 0
		for _, targets := range p.links[Forward] {
			links += len(targets)
		}
		if s.NumUrls() != len(p.urls) || s.NumLinks() != links {
			t.Fatalf("%d pages and %d links, want %d and %d", s.NumUrls(), s.NumLinks(), len(p.urls), links)
		}
		var before map[string]known
		for _, failed := range failedSets(policy) {
			c, err := s.Clerk(failed)
			require.NoError(t, err)
			if c.Degraded() != (failed.Len() > 0) {
				t.Fatalf("%s failed: degraded %t", failed, c.Degraded())
			}
			answers := learn(t, c, p)
			if before == nil {
				before = answers
			}
			for url, answer := range answers {
				was := before[url]
				if answer.uid != was.uid || !slices.Equal(answer.links[0], was.links[0]) || !slices.Equal(answer.links[1], was.links[1]) {
					t.Fatalf("%v, %s failed: %s: %v, was %v", policy, failed, url, answer, was)
				}
			}
		}
	}
}

// TestMadeUpUIDs asks for all numbers near those of pages: in each mode exactly
// the pages' UIDs have a page.
func TestMadeUpUIDs(t *testing.T) {
	r := random(t)
	for _, layout := range []Layout{{2, 2, 7}, {3, 2, 8}} {
		policy := Policy{4, 2}
		graph := randomGraph(r, 12, 50)
		p := newPlain(graph)
		s := build(t, graph, Options{Policy: policy, Layout: layout})
		for _, failed := range failedSets(policy) {
			c, err := s.Clerk(failed)
			require.NoError(t, err)
			uids := map[UID]string{}
			for _, url := range p.urls {
				u, err := c.UrlToUid(url)
				require.NoError(t, err)
				uids[u] = url
			}
			for u := range UID(1) << 14 {
				url, err := c.UidToUrl(u)
				if want, ok := uids[u]; ok != (err == nil) || url != want || err != nil && !errors.Is(err, ErrNoPage) {
					t.Fatalf("%s failed, UID %#x: %q, %v; want %q", failed, uint64(u), url, err, want)
				}
				if u%97 != 0 {
					continue
				}
				if _, err := c.GetLinks(Forward, u); (err == nil) != (uids[u] != "") {
					t.Fatalf("%s failed, links of UID %#x: %v", failed, uint64(u), err)
				}
			}
			for range 1000 {
				u := UID(r.Uint64())
				if url, err := c.UidToUrl(u); err == nil && uids[u] != url {
					t.Fatalf("%s failed, UID %#x: %q", failed, uint64(u), url)
				}
			}
			for _, url := range []string{"", "http://h1.example.org/none", "http://nowhere.example/", "http://h1.example.org"} {
				if u, err := c.UrlToUid(url); !errors.Is(err, ErrNoPage) {
					t.Fatalf("%s failed, %q: %d, %v", failed, url, u, err)
				}
			}
		}
	}
}

// TestWhatMachinesHave checks that a server has its own rows only, and a machine
// no partition but those of its disk.
func TestWhatMachinesHave(t *testing.T) {
	policy := Policy{5, 2}
	graph := randomGraph(random(t), 60, 200)
	p := newPlain(graph)
	s := build(t, graph, Options{Policy: policy})
	hosts := map[int]map[string]bool{}
	all := map[string]bool{}
	for _, url := range p.urls {
		host := weburl.HostKey(url)
		k := policy.SecondaryOf(host)
		if hosts[k] == nil {
			hosts[k] = map[string]bool{}
		}
		hosts[k][host], all[host] = true, true
	}
	for _, failed := range failedSets(policy) {
		for x := range policy.Machines {
			server, err := s.Machine(x).Load(failed)
			require.NoError(t, err)
			part, ok := policy.Memory(x, failed)
			if ok != (server != nil) || ok && server.Part() != part {
				t.Fatalf("%s failed, machine %d: %v", failed, x, server)
			}
			if server == nil || !part.Secondary {
				continue
			}
			if server.in.Len() != len(hosts[part.Number]) || server.out.Len() != len(all) {
				t.Fatalf("%s: %d and %d rows, want %d and %d", part, server.in.Len(), server.out.Len(), len(hosts[part.Number]), len(all))
			}
			for _, row := range server.in.rows {
				if server.options.Layout.Secondary(row.UID) != uint64(part.Number) {
					t.Fatalf("%s has the row %v", part, row)
				}
			}
		}
	}
	m := s.Machine(1)
	for part := range m.disk {
		if !slices.Contains(policy.Disk(1), part) {
			t.Errorf("machine 1 has %s", part)
		}
	}
	delete(m.disk, Part{true, 0})
	if _, err := m.Load(NewFailed(0)); !errors.Is(err, ErrNoCopy) {
		t.Error(err)
	}
	if _, err := s.Clerk(NewFailed(0)); !errors.Is(err, ErrNoCopy) {
		t.Error(err)
	}
}

func TestBuildErrors(t *testing.T) {
	graph := map[string][]string{"http://a.example/1": {"http://a.example/2", "http://a.example/3"}}
	for name, test := range map[string]struct {
		options Options
		want    error
	}{
		"policy":           {Options{Policy: Policy{2, 2}}, ErrPolicy},
		"layout":           {Options{Policy: Policy{2, 0}, Layout: Layout{0, 1, 8}}, ErrLayout},
		"pages":            {Options{Layout: Layout{0, 0, 1}}, ErrLayout},
		"enough bits":      {Options{Layout: Layout{0, 0, 2}}, nil},
		"primary table":    {Options{PrimaryOf: func(string) int { return 1 }}, ErrPolicy},
		"secondary table":  {Options{SecondaryOf: func(string) int { return -1 }}, ErrPolicy},
		"nothing but zero": {Options{}, nil},
	} {
		if _, err := Build(maps.All(graph), test.options); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	s := build(t, nil, Options{Policy: Policy{3, 1}})
	for _, failed := range []Failed{{}, NewFailed(1)} {
		c, err := s.Clerk(failed)
		require.NoError(t, err)
		if _, err := c.UrlToUid("http://a.example/"); !errors.Is(err, ErrNoPage) {
			t.Error(err)
		}
		if _, err := c.UidToUrl(0); !errors.Is(err, ErrNoPage) {
			t.Error(err)
		}
	}
	if _, err := s.Clerk(NewFailed(0, 1)); !errors.Is(err, ErrTooManyFailed) {
		t.Error(err)
	}
	if _, err := s.Machine(0).Load(NewFailed(7)); !errors.Is(err, ErrPolicy) {
		t.Error(err)
	}
}

func BenchmarkClerk(b *testing.B) {
	graph := randomGraph(random(b), 2000, 20_000)
	p := newPlain(graph)
	s := build(b, graph, Options{Policy: Policy{5, 2}})
	for _, failed := range []Failed{{}, NewFailed(1, 3)} {
		c, err := s.Clerk(failed)
		if err != nil {
			b.Fatal(err)
		}
		uids := make([]UID, len(p.urls))
		for i, url := range p.urls {
			if uids[i], err = c.UrlToUid(url); err != nil {
				b.Fatal(err)
			}
		}
		run := func(name string, f func(i int) error) {
			b.Run(fmt.Sprintf("%s/failed=%d", name, failed.Len()), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if err := f(i * 7919 % len(uids)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("UrlToUid", func(i int) error { _, err := c.UrlToUid(p.urls[i]); return err })
		run("UidToUrl", func(i int) error { _, err := c.UidToUrl(uids[i]); return err })
		run("GetLinks", func(i int) error { _, err := c.GetLinks(Backward, uids[i]); return err })
	}
}
