// The examples of the patent and the paper.

package positional

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// exampleGraph is the example of US 7,340,467 B2: pages named by the host, A to
// E, and a number.
var exampleGraph = map[string][]string{
	"A1": {"A2", "A3", "B1"},
	"A2": {},
	"A3": {"A1", "A2"},
	"B1": {"B2", "B3", "C1"},
	"B2": {"B3"},
	"B3": {"B1"},
	"C1": {"A1", "C2", "D1"},
	"C2": {"C1"},
	"D1": {"D2", "D3", "E1"},
	"D2": {"D1"},
	"D3": {"D1"},
	"E1": {"C1", "E2"},
	"E2": {},
}

// exampleURL returns the IRI of a page of the example.
func exampleURL(name string) string {
	return "http://www." + strings.ToLower(name[:1]) + ".com/" + name
}

// exampleStore returns the store of the example: hosts A, B and C on the first
// processor, D and E on the second; 16 numbers for each.
func exampleStore(t *testing.T) *Store {
	graph := map[string][]string{}
	for name, targets := range exampleGraph {
		urls := []string{}
		for _, target := range targets {
			urls = append(urls, exampleURL(target))
		}
		graph[exampleURL(name)] = urls
	}
	return build(t, graph, Options{
		Policy: Policy{Machines: 2, Failures: 1},
		Layout: Layout{PrimaryBits: 1, RelativeBits: 4},
		PrimaryOf: func(hostKey string) int {
			if hostKey == "com.d.www" || hostKey == "com.e.www" {
				return 1
			}
			return 0
		},
	})
}

// exampleTables returns the tables of the example as a clerk gives them.
func exampleTables(t *testing.T, c *Clerk) string {
	name := func(u UID) string {
		url, err := c.UidToUrl(u)
		require.NoError(t, err)
		return url[strings.LastIndexByte(url, '/')+1:]
	}
	uids := map[int][]UID{}
	for page := range exampleGraph {
		u, err := c.UrlToUid(exampleURL(page))
		require.NoError(t, err)
		processor := int(c.options.Layout.Primary(u))
		uids[processor] = append(uids[processor], u)
	}
	var b strings.Builder
	table := func(title string, d Direction, row func(u UID, targets []UID) string) {
		for processor := range 2 {
			fmt.Fprintf(&b, "# %s, processor %d\n", title, processor+1)
			slices.Sort(uids[processor])
			for _, u := range uids[processor] {
				targets, err := c.GetLinks(d, u)
				require.NoError(t, err)
				b.WriteString(row(u, targets) + "\n")
			}
		}
	}
	table("identifiers", Forward, func(u UID, _ []UID) string { return fmt.Sprintf("%s=%d", name(u), u) })
	table("forward links", Forward, func(u UID, targets []UID) string { return fmt.Sprintf("%d->%s", u, joined(targets)) })
	table("differences", Forward, func(u UID, targets []UID) string {
		return fmt.Sprintf("%d->%s", u, joined(Differences(u, targets)))
	})
	table("backlinks", Backward, func(u UID, targets []UID) string {
		var names []string
		for _, target := range targets {
			names = append(names, name(target))
		}
		return name(u) + "->" + joined(names)
	})
	return b.String()
}

// joined returns values with commas between them.
func joined[T any](values []T) string {
	var texts []string
	for _, value := range values {
		texts = append(texts, fmt.Sprint(value))
	}
	return strings.Join(texts, ",")
}

// TestPatentExample compares the tables with those of the patent, in normal and
// in degraded mode.
func TestPatentExample(t *testing.T) {
	path := filepath.Join("testdata", "us7340467.txt")
	s := exampleStore(t)
	for _, failed := range failedSets(Policy{2, 1}) {
		c, err := s.Clerk(failed)
		require.NoError(t, err)
		got := exampleTables(t, c)
		goldenfile.Check(t, path, got)
	}
}

// TestStoredDifferences checks that the lists in a partition are coded as the
// patent's differences, one byte for each of the example.
func TestStoredDifferences(t *testing.T) {
	s := exampleStore(t)
	for x, want := range map[int]string{
		0: "[[2 1 1] [] [3 1] [2 1 1] [2] [3] [11 7 9] [1]]",
		1: "[[2 1 1] [1] [3] [25 14] []]",
	} {
		server, err := s.Machine(x).Load(Failed{})
		require.NoError(t, err)
		var coded [][]byte
		for place := range server.data.urls {
			coded = append(coded, server.data.lists[Forward].at(uint64(place)))
		}
		if got := fmt.Sprint(coded); got != want {
			t.Errorf("processor %d: %s, want %s", x+1, got, want)
		}
	}
}

// TestPaperExample is the cell that the paper draws (HT 2009, Figure 3): five pages from
// the UID 3072 on, the first one of partition 3 of four. It is the same whichever machines
// have failed.
func TestPaperExample(t *testing.T) {
	const site = "http://www.letters.org/"
	urls := []string{site, site + "alep", site + "aleph", site + "alif", site + "alpha"}
	want := [][]UID{{3073}, {3072}, {3072, 3073}, {3072, 3073}, {3072, 3074}}
	graph := map[string][]string{}
	for i, targets := range want {
		for _, u := range targets {
			graph[urls[i]] = append(graph[urls[i]], urls[u-3072])
		}
	}
	policy := Policy{Machines: 4, Failures: 3}
	s := build(t, graph, Options{Policy: policy, Layout: Layout{PrimaryBits: 2, RelativeBits: 10}, PrimaryOf: func(string) int { return 3 }})
	for _, failed := range failedSets(policy) {
		c, err := s.Clerk(failed)
		require.NoError(t, err)
		for i, url := range urls {
			u, err := c.UrlToUid(url)
			if err != nil || u != UID(3072+i) {
				t.Errorf("%s failed: %s is %d, %v", failed, url, u, err)
			}
			if back, err := c.UidToUrl(u); err != nil || back != url {
				t.Errorf("%s failed: %d is %s, %v", failed, u, back, err)
			}
			if targets, err := c.GetLinks(Forward, u); err != nil || !slices.Equal(targets, want[i]) {
				t.Errorf("%s failed: %d links to %d, %v; want %d", failed, u, targets, err, want[i])
			}
		}
	}
}
