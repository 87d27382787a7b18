// A page with very many links, and very many to it.

package cli

// This file links one page to very many pages, and all of them to it: 3,000, and with
// TREFOIL_ABUSE 10 million, or the number in TREFOIL_ABUSE_LINKS.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

const hubURL = "http://hub.example/"

// spokes are the pages around the hub: page i is the ith of one of 1,000 hosts.
type spokes struct {
	t     *testing.T
	n     int
	graph *client.Links
	hub   uid.UID
	uids  []uid.UID // by i
}

func spokeURL(i int) string { return fmt.Sprintf("http://www%d.example.org/%d", i%1000, i) }

// spokeOf returns which page a URL is, -1 for none of them.
func spokeOf(url string) int {
	_, rest, _ := strings.Cut(url, ".example.org/")
	i, err := strconv.Atoi(rest)
	if err != nil || spokeURL(i) != url {
		return -1
	}
	return i
}

// edges writes the links as a file of edges.
func (s *spokes) edges(path string) {
	s.t.Helper()
	f, err := os.Create(path)
	require.NoError(s.t, err)
	out := bufio.NewWriterSize(f, 1<<20)
	for i := range s.n {
		fmt.Fprintf(out, "%s\t%s\n%s\t%s\n", hubURL, spokeURL(i), spokeURL(i), hubURL)
	}
	require.NoError(s.t, errors.Join(out.Flush(), f.Close()))
}

// names reads the UIDs of all pages.
func (s *spokes) names() {
	s.t.Helper()
	hub, err := s.graph.UIDs(s.t.Context(), []string{hubURL})
	if err != nil || hub[0] == 0 {
		s.t.Fatalf("the hub is %v, %v", hub, err)
	}
	s.hub = hub[0]
	for i := 0; i < s.n; i += 50_000 {
		var urls []string
		for k := i; k < min(s.n, i+50_000); k++ {
			urls = append(urls, spokeURL(k))
		}
		uids, err := s.graph.UIDs(s.t.Context(), urls)
		require.NoError(s.t, err)
		s.uids = append(s.uids, uids...)
	}
	sorted := slices.Clone(s.uids)
	slices.Sort(sorted)
	if len(slices.Compact(sorted)) != s.n || sorted[0] == 0 {
		s.t.Fatal("two pages have one UID, or a page has none")
	}
}

// lists compares the lists of the hub with the pages that has says, and those of all
// pages with the hub.
func (s *spokes) lists(has func(d links.Direction, i int) bool) {
	s.t.Helper()
	ctx := s.t.Context()
	for _, d := range []links.Direction{links.Forward, links.Backward} {
		list, err := s.graph.Links(ctx, d, []uid.UID{s.hub})
		require.NoError(s.t, err)
		var want []uid.UID
		for i, u := range s.uids {
			if has(d, i) {
				want = append(want, u)
			}
		}
		slices.Sort(want)
		if !slices.Equal(list.Items, want) {
			s.t.Fatalf("the hub has %d %s links, and should have %d others", len(list.Items), d, len(want))
		}
		degrees, err := s.graph.Degrees(ctx, d, []uid.UID{s.hub})
		if err != nil || degrees[0] != len(want) {
			s.t.Fatalf("the hub has %s degree %v, %v, not %d", d, degrees, err, len(want))
		}
		spec := sample.Spec{N: 1500, Mode: sample.ModeConsistent}
		some, err := s.graph.SampleLinks(ctx, d, []uid.UID{s.hub}, spec)
		if err != nil || !slices.Equal(some.Items, sample.Sample(nil, want, s.hub, spec, nil)) {
			s.t.Fatalf("a sample of %d %s links is another one, %v", len(some.Items), d, err)
		}
		for i := 0; i < s.n; i += 50_000 {
			part := s.uids[i:min(s.n, i+50_000)]
			all, err := s.graph.Links(ctx, d, part)
			require.NoError(s.t, err)
			for k := range part {
				// A page links to the hub where the hub is linked to from it.
				if got, is := all.At(k), has(1-d, i+k); len(got) > 1 || is != (len(got) == 1) || is && got[0] != s.hub {
					s.t.Fatalf("%s links of %s are %v", d, spokeURL(i+k), got)
				}
			}
		}
	}
}

// urls reads the hub's list as URLs, which come as a stream of JSON.
func (s *spokes) urls(address string) {
	s.t.Helper()
	response, err := http.Post(address+"/links/get", "application/json", strings.NewReader(`{"urls":["`+hubURL+`"],"as":"urls"}`))
	require.NoError(s.t, err)
	defer response.Body.Close()
	in := bufio.NewScanner(response.Body)
	in.Split(func(data []byte, end bool) (int, []byte, error) { // by '"'
		if at := bytes.IndexByte(data, '"'); at >= 0 {
			return at + 1, data[:at], nil
		}
		if end && len(data) > 0 {
			return len(data), data, io.EOF
		}
		return 0, nil, nil
	})
	seen, found := make([]bool, s.n), 0
	for in.Scan() {
		if i := spokeOf(in.Text()); i >= 0 && !seen[i] {
			seen[i] = true
			found++
		}
	}
	if found != s.n || in.Err() != nil && in.Err() != io.EOF {
		s.t.Fatalf("%d URLs of %d, %v", found, s.n, in.Err())
	}
}

// ended waits for a process, and logs what it took.
func (s *spokes) ended(what string, p *process, begun time.Time) {
	s.t.Helper()
	<-p.Ended
	if code := testbinary.ExitCode(s.t, p.Result); code != done {
		s.t.Fatalf("%s: code %d\n%s", what, code, p.Said())
	}
	peak, _ := peakMemory(p)
	state := p.Cmd.ProcessState
	s.t.Logf("%s: %s, %s of processor time, peak memory %d MiB", what, time.Since(begun).Round(time.Second/10), (state.UserTime() + state.SystemTime()).Round(time.Second/10), peak>>20)
}

// One page with very many links, and very many to it: loaded, changed, after a restart.
func TestAbuseHubs(t *testing.T) {
	s := &spokes{t: t, n: 3_000}
	waitLimit := time.Minute
	if os.Getenv("TREFOIL_ABUSE") != "" {
		s.n, waitLimit = 10_000_000, 2*time.Hour
		if text := os.Getenv("TREFOIL_ABUSE_LINKS"); text != "" {
			var err error
			if s.n, err = strconv.Atoi(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	data, file := filepath.Join(dir, "store"), filepath.Join(dir, "hubs.edges")
	s.edges(file)
	begun := time.Now()
	s.ended(fmt.Sprintf("load of %d links from a page and %d to it", s.n, s.n), start(t, nil, "load", "--links", "--data", data, file), begun)
	require.NoError(t, os.Remove(file))
	gone, extra, deleted := -1, -1, 0
	has := func(d links.Direction, i int) bool {
		return d == links.Backward && i != gone || d == links.Forward && i != extra
	}
	for _, life := range []string{"with cells that are built", "with cells from files"} {
		begun = time.Now()
		server := serve(t, "--data", data)
		c, err := client.New(server.url, client.Options{})
		require.NoError(t, err)
		s.graph, s.uids = c.Links, nil
		for err = errors.New("not asked yet"); err != nil; err = s.graph.Capabilities().Loader.Request(t.Context(), links.AllStores) {
			if time.Since(begun) > waitLimit {
				t.Fatalf("the graph is not there: %v", err)
			}
		}
		ready := time.Since(begun)
		stats, err := s.graph.Stats(t.Context())
		if want := int64(2*s.n - deleted); err != nil || stats.Pages != int64(s.n)+1 || stats.Links != want || stats.Linked != want || stats.MaxOut < s.n-deleted || stats.MaxIn < s.n-deleted {
			t.Fatalf("%+v, %v", stats, err)
		}
		s.names()
		s.lists(has)
		if gone < 0 {
			s.urls(server.url)
			gone, extra = s.n/3, s.n/2
			change := time.Now()
			r, err := s.graph.Update(t.Context(), []links.Change{
				{Kind: links.DeleteLinks, Source: spokeURL(gone), Targets: []string{hubURL}},
				{Kind: links.DeleteLinks, Source: hubURL, Targets: []string{spokeURL(extra)}},
			})
			if deleted = 2; err != nil || r.Deleted != int64(deleted) {
				t.Fatalf("%+v, %v", r, err)
			}
			t.Logf("two links of the hub are deleted after %s", time.Since(change))
			s.lists(has)
		}
		t.Logf("%s: the graph is there after %s, %d MiB of cells for %d links (%.2f bytes a link in both directions, URLs and all)", life, ready.Round(time.Second/10),
			stats.Bytes>>20, stats.Links, float64(stats.Bytes)/math.Max(float64(stats.Links), 1))
		server.signal(t, syscall.SIGINT)
		s.ended("the server "+life, server.process, begun)
	}
}
