// Tests on real links from the data beside the project.

package cell

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/links/uid"
	"github.com/trefoildb/trefoil/links/weburl"
)

// hostWeb reads the links between hosts of 1996, each with its count as weight. Each host is one
// page.
func hostWeb(t *testing.T) *graph {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "weblinks", "1996-uk-web-hosts.tsv.gz")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("%s is missing: real data is not tested", path)
	}
	require.NoError(t, err)
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	require.NoError(t, err)
	g := newGraph(uid.AllSlots.Range())
	hosts := make(map[string]uid.UID)
	next := make(map[uid.Slot]uint32)
	page := func(host string) uid.UID {
		u, ok := hosts[host]
		if !ok {
			iri := "http://" + host + "/"
			slot := uid.SlotOf(weburl.HostKey(iri))
			next[slot]++
			u = uid.Make(slot, next[slot], 0)
			hosts[host], g.pages[u] = u, iri
		}
		return u
	}
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		link, number, _ := strings.Cut(lines.Text(), "\t")
		parts := strings.Split(link, "|")
		weight, err := strconv.ParseFloat(number, 64)
		if err != nil || len(parts) != 3 {
			t.Fatalf("line %q", lines.Text())
		}
		g.links[Edge{page(parts[1]), page(parts[2])}] = Label{Weight: weight}
	}
	require.NoError(t, lines.Err())
	return g
}

// TestHostsOf1996 checks the size of page numbers if every host is one page.
func TestHostsOf1996(t *testing.T) {
	g := hostWeb(t)
	c := g.build(t, Options{}, nil)
	g.check(t, c)
	links := float64(c.NumLinks(Forward))
	size := c.Sizes()
	t.Logf("%d pages, %.0f links; bytes: %.2f a page number, %.2f a URL, %.2f and %.2f a link, %.2f a label", c.Len(), links,
		float64(size["page numbers"])/float64(c.Len()), float64(size["URLs"])/float64(c.Len()),
		float64(size["forward lists"])/links, float64(size["backward lists"])/links, float64(size["labels"])/links)
	if bytes := float64(size["page numbers"]) / float64(c.Len()); bytes > 6 {
		t.Errorf("%.2f bytes a page number", bytes)
	}
}
