// Loads of link files: rejects, directories and truncated input.

package cli

// This file gives load --links input as crawlers leave it: directories, files that are cut
// off, and lines that are wrong at odd places.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/links"
)

// What is left out is counted and told wherever it is: in whole files of it too, and
// behind what is right.
func TestLoadLinksCountsRejects(t *testing.T) {
	dir := t.TempDir()
	bad := newFile(t, dir, "bad.pages", "nothing good\n\thttp://x.example/\nx:a\tbad\n")
	good := newFile(t, dir, "good.pages", "x:q\tx:r\n")
	skipped := newFile(t, dir, "none.wat", "WARC/1.0\r\nWARC-Type: warcinfo\r\nContent-Length: 1\r\n\r\nx\r\n\r\n")
	for _, test := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"only bad", []string{bad}, []string{"rejected   3\n", "read       0\n"}},
		{"behind what is good", []string{good, bad}, []string{"rejected   3\n", "read       1\n"}},
		{"before it", []string{bad, good}, []string{"rejected   3\n", "read       1\n"}},
		{"nothing behind it", []string{good, bad, skipped}, []string{"rejected   3\n", "no links   1\n"}},
	} {
		for _, place := range []string{"an empty store", "a store with links"} {
			t.Run(test.name+" into "+place, func(t *testing.T) {
				data := filepath.Join(t.TempDir(), "store")
				if place != "an empty store" {
					loadLinks(t, exitDone, "", data, newFile(t, t.TempDir(), "a.edges", "x:s\tx:t\n"))
				}
				stdout, stderr := loadLinks(t, exitRejected, "", data, append([]string{"--keep-going"}, test.files...)...)
				for _, want := range test.want {
					if !strings.Contains(stdout, want) {
						t.Errorf("%q is missing:\n%s", want, stdout)
					}
				}
				if !strings.Contains(stderr, "3 malformed statements left out") {
					t.Error(stderr)
				}
			})
		}
	}
}

// Of a directory the link files are loaded, by their names or, where a flag says the
// format, all.
func TestLoadLinksDirectory(t *testing.T) {
	dir := t.TempDir()
	crawl := filepath.Join(dir, "crawl")
	if err := os.MkdirAll(filepath.Join(crawl, "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	newFile(t, crawl, "1.edges.gz", "x:a\tx:b\n")
	newFile(t, filepath.Join(crawl, "deep"), "2.edges", "x:b\tx:c\n")
	newFile(t, crawl, "notes", "x:c\tx:d\n")
	newFile(t, crawl, ".hidden.edges", "x:d\tx:e\n")
	data := filepath.Join(dir, "store")
	if _, stderr := loadLinks(t, exitDone, "", data, crawl); !strings.Contains(stderr, "notes is left out, because its name is not of a link format; --format takes all files") {
		t.Error(stderr)
	}
	want := plain(clitest.Edge{"x:a", "x:b"}, clitest.Edge{"x:b", "x:c"})
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	if _, stderr := loadLinks(t, exitDone, "", data, "--format", "edges", crawl); strings.Contains(stderr, "left out") {
		t.Error(stderr)
	}
	want = plain(clitest.Edge{"x:a", "x:b"}, clitest.Edge{"x:b", "x:c"}, clitest.Edge{"x:c", "x:d"})
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	other := filepath.Join(dir, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	newFile(t, other, "a.ttl", "")
	if _, stderr := loadLinks(t, exitFailed, "", data, other); !strings.Contains(stderr, "the name of a link format") {
		t.Error(stderr)
	}
}

// If a compressed file is cut off, the error is one line and says what to do.
func TestLoadLinksTruncated(t *testing.T) {
	dir := t.TempDir()
	whole := newFile(t, dir, "a.edges.gz", strings.Repeat("x:a\tx:b\nx:c\tx:d\n", 1000))
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.edges.gz")
	if err := os.WriteFile(cut, data[:len(data)-10], 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr := loadLinks(t, exitFailed, "", filepath.Join(dir, "store"), cut)
	if strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "ends too soon") || !strings.Contains(stderr, "Nothing of this load is in the store. Get the file whole") {
		t.Errorf("%q", stderr)
	}
}
