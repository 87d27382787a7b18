// Tests with real data from a folder beside the project.

package linkfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// sharedData opens a file of the data beside the project.
func sharedData(t *testing.T, name ...string) *os.File {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "data"}, name...)...)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") != "true" {
		t.Skipf("%s is missing: real data is not tested", path)
	}
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestHosts1996 reads the host graph of UK web hosts. It has 58,842 names, or 58,135 in lower
// case. Some are no names of hosts.
func TestHosts1996(t *testing.T) {
	z, err := gzip.NewReader(sharedData(t, "weblinks", "1996-uk-web-hosts.tsv.gz"))
	require.NoError(t, err)
	rd, err := NewReader(z, Options{Source: "1996-uk-web-hosts.tsv.gz"})
	require.NoError(t, err)
	hosts := make(map[string]bool)
	for page, err := range rd.All() {
		if err != nil {
			continue // names with spaces, two dots in a row, '~', ',' or '@'

		}
		checkPage(t, page)
		hosts[string(page.Source)] = true
		for _, l := range page.Links {
			hosts[string(l.Target)] = true
			if len(l.Weight) == 0 {
				t.Fatalf("%s -> %s has no weight", page.Source, l.Target)
			}
		}
	}
	if c := rd.Counts(); rd.Format() != Hosts || c != (Counts{Links: 184_344, Rejected: 89}) || len(hosts) != 58_048 {
		t.Errorf("%v: %+v, %d hosts", rd.Format(), c, len(hosts))
	}
}

// TestDBpedia reads N-Triples as links, with any predicate.
func TestDBpedia(t *testing.T) {
	f := sharedData(t, "dbpedia-links", "links", "dbpedia.org", "lobid.org", "organisation_links.nt")
	rd, err := NewReader(f, Options{Source: f.Name(), Predicate: AnyPredicate})
	require.NoError(t, err)
	for page, err := range rd.All() {
		require.NoError(t, err)
		checkPage(t, page)
	}
	if c := rd.Counts(); rd.Format() != NTriples || c.Links < 1000 || c.Skipped+c.Rejected > 0 {
		t.Errorf("%v: %+v", rd.Format(), c)
	}
}
