// Loads of link files with dirty lines, broken files and long lines.

package cli

// This file loads link files as nobody should write them: broken, cut off, of other
// encodings, with lines without an end. What is left out is counted, and told with its
// file and line; what is in the store then is what a plain reading of the file gives.

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/trefoildb/trefoil/internal/testing/clitest"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/linkstest"
)

// zipped returns text as a gzip stream.
func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// flipped returns text with a bit flipped in the middle.
func flipped(text string) string {
	b := []byte(text)
	b[len(b)/2] ^= 8
	return string(b)
}

// wide returns text in UTF-16, with its mark, low bytes first.
func wide(text string) string {
	b := []byte{0xff, 0xfe}
	for _, c := range utf16.Encode([]rune(text)) {
		b = append(b, byte(c), byte(c>>8))
	}
	return string(b)
}

// Lines that are dirty: all that can be read of them is, and each reject has its line.
func TestAbuseDirtyLines(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	weight := func(w float64, text string) links.Label { return links.Label{Weight: w, Anchor: text} }
	data := filepath.Join(t.TempDir(), "store") // of all: each has a predicate of its own
	predicates := 0
	for name, test := range map[string]struct {
		file, text string
		want       map[clitest.Edge]links.Label
		rejects    []int // their lines
	}{
		"line ends of all kinds":  {"a.edges", "x:a\tx:b\r\nx:a\tx:c\nx:a\tx:d\r\n\r\n\n\rx:a\tx:e", map[clitest.Edge]links.Label{{"x:a", "x:b"}: cell.NoLabel, {"x:a", "x:c"}: cell.NoLabel, {"x:a", "x:d"}: cell.NoLabel}, []int{6}},
		"a mark before the text":  {"a.edges", "\ufeffx:a\tx:b\n", plain(clitest.Edge{"x:a", "x:b"}), nil},
		"a mark before pages":     {"a.pages", "\ufeffx:a\tx:b\tx:c\r\n", plain(clitest.Edge{"x:a", "x:b"}, clitest.Edge{"x:a", "x:c"}), nil},
		"a mark in the middle":    {"a.edges", "x:a\tx:b\n\ufeffx:c\tx:d\n", plain(clitest.Edge{"x:a", "x:b"}), []int{2}},
		"UTF-16":                  {"a.edges", wide("x:a\tx:b\nx:c\tx:d\n"), nil, []int{1, 2, 3}},
		"NUL bytes":               {"a.edges", "x:a\tx:b\x00c\nx:\x00\tx:d\n\x00\tx:e\nx:a\t\x00\n\x00\x00\x00", plain(clitest.Edge{"x:a", "x:b%00c"}, clitest.Edge{"x:%00", "x:d"}), []int{3, 4, 5}},
		"bytes that are no UTF-8": {"a.edges", "x:a\tx:\xff\xfe\nx:\xc3\x28\tx:b\nx:a\tx:t\t1\ta\xffb\n\xff\tx:a\n", map[clitest.Edge]links.Label{{"x:a", "x:%FF%FE"}: cell.NoLabel, {"x:%C3(", "x:b"}: cell.NoLabel, {"x:a", "x:t"}: weight(1, "a\ufffdb")}, []int{4}},
		"spaces":                  {"a.edges", " http://x/a b \t  http://x/c d  \nhttp://x/\u00a0\thttp://x/\u2028\nx:a x:b\n   x:a\nx:c\t \n", plain(clitest.Edge{"http://x/a%20b", "http://x/c%20d"}, clitest.Edge{"http://x/\u00a0", "http://x/\u2028"}), []int{3, 4, 5}},
		"weights": {"a.edges", "x:a\tx:1\tNaN\nx:a\tx:2\tInf\nx:a\tx:3\t-Infinity\nx:a\tx:4\t--1\nx:a\tx:5\t1,5\nx:a\tx:6\t0x10\nx:a\tx:7\t1e999\nx:a\tx:8\t-1e999\nx:a\tx:9\t 2 \nx:a\tx:10\t1e-999\nx:a\tx:11\t+0\nx:a\tx:12\t.\nx:a\tx:13\t1e\nx:a\tx:14\t\u0661\n",
			map[clitest.Edge]links.Label{{"x:a", "x:7"}: weight(math.MaxFloat64, ""), {"x:a", "x:8"}: weight(-math.MaxFloat64, ""), {"x:a", "x:9"}: weight(2, ""), {"x:a", "x:10"}: weight(0, ""), {"x:a", "x:11"}: weight(0, "")}, []int{1, 2, 3, 4, 5, 6, 12, 13, 14}},
		"no links": {"a.edges", "\n\n#\n\t\n\t\t\n \t \nx:a\n", nil, []int{7}},
		"pages":    {"a.pages", "no page\tx:a\nx:a\tno page\tx:b\t\t \tx:c\t7\nx:b\n\tx:d\n", plain(clitest.Edge{"x:a", "x:b"}, clitest.Edge{"x:a", "x:c"}), []int{1, 2, 2, 4}},
		"triples":  {"a.nt", "<x:a> <urn:trefoil:linksTo> <x:b> .\n<x:a> <urn:trefoil:linksTo> <x b> .\n<x:a> <urn:trefoil:linksTo>\n<x:a> <urn:trefoil:linksTo> \"x\" .\n\x00\n_:b <urn:trefoil:linksTo> <x:c> .\n", plain(clitest.Edge{"x:a", "x:b"}), []int{2, 3, 5}},
		"hosts":    {"a", "# links: hosts\n1996|a.uk|b.uk\t2\n1996|a.uk\t2\n1996|a b|c.uk\t1\n1996|a.uk|c.uk\tmany\n", map[clitest.Edge]links.Label{{"http://a.uk/", "http://b.uk/"}: weight(2, "")}, []int{3, 4, 5}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := newFile(t, dir, test.file, test.text)
			predicates++
			predicate := fmt.Sprintf("x:p%d", predicates)
			if len(test.rejects) > 0 { // the first one stops it, and nothing is loaded
				_, stderr := loadLinks(t, exitFailed, "", data, "--link-predicate", predicate+"/none", "--nt-predicate", links.DefaultPredicate, path)
				if !strings.Contains(stderr, fmt.Sprintf("%s:%d:", path, test.rejects[0])) {
					t.Errorf("it does not say where: %s", stderr)
				}
			}
			code := exitDone
			if len(test.rejects) > 0 {
				code = exitRejected
			}
			rejects := filepath.Join(dir, "rejects")
			stdout, _ := loadLinks(t, code, "", data, "--keep-going", "--rejects", rejects, "--json", "--link-predicate", predicate, "--nt-predicate", links.DefaultPredicate, path)
			clitest.SameLinks(t, clitest.StoredLinks(t, data, predicate), test.want)
			if !strings.Contains(stdout, fmt.Sprintf(`"rejected":%d,`, len(test.rejects))) {
				t.Errorf("%d are wrong: %s", len(test.rejects), stdout)
			}
			text, err := os.ReadFile(rejects)
			if err != nil && len(test.rejects) > 0 {
				t.Fatal(err)
			}
			var lines []int
			for line := range strings.Lines(string(text)) {
				n := 0
				if rest, ok := strings.CutPrefix(line, "# "+path+":"); ok {
					if _, err := fmt.Sscanf(rest, "%d:", &n); err == nil {
						lines = append(lines, n)
					}
				}
			}
			if !slices.Equal(lines, test.rejects) {
				t.Errorf("rejects of lines %v, want %v:\n%s", lines, test.rejects, text)
			}
			if name == "spaces" { // once is enough for what was refused
				clitest.SameLinks(t, clitest.StoredLinks(t, data, predicate+"/none"), nil)
			}
			// The same at the graph's own endpoint.
			g := linkstest.New()
			if code, stdout, stderr := runLinks(t, g, "", "links", "update", "--keep-going", path); code != exitDone && code != exitRejected {
				t.Errorf("update: %d %s%s", code, stdout, stderr)
			}
			if stats, err := g.Stats(t.Context()); err != nil || stats.Links != int64(len(test.want)) {
				t.Errorf("update: %d links, want %d, %v", stats.Links, len(test.want), err)
			}
		})
	}
}

// Files that are no link files, or not whole ones: refused with their name, and nothing of
// them is in the store, whatever they are.
func TestAbuseBrokenFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	lines := strings.Repeat("x:a\tx:b\nx:c\tx:d\n", 2000)
	wat := watRecord("http://a.example/", "/x", "/y")
	var random strings.Builder
	r := newRand(t)
	for range 200_000 {
		random.WriteByte(byte(r.Uint32()))
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "store")
	loadLinks(t, exitDone, "x:own\tx:link\n", data, "--format", "edges", "-")
	many := zipped(t, random.String()) // does not get smaller
	for name, text := range map[string]string{
		"cut.edges.gz":        zipped(t, lines)[:60],
		"tail.edges.gz":       zipped(t, lines)[:len(zipped(t, lines))-3],
		"damaged.edges.gz":    flipped(zipped(t, lines)),
		"damaged.wat.gz":      flipped(zipped(t, strings.Repeat(wat, 50))),
		"followed.edges.gz":   zipped(t, lines) + "x:e\tx:f\n",
		"head.edges.gz":       "\x1f\x8b\x08",
		"second cut.wat.gz":   zipped(t, wat) + zipped(t, wat)[:30],
		"cut.wat":             wat + wat[:len(wat)-30],
		"no record.wat":       "no record at all\n",
		"random":              random.String(),
		"random.edges":        random.String(),
		"random.pages":        random.String(),
		"random.wat":          random.String(),
		"random.nt":           random.String(),
		"random.edges.gz":     many,
		"zeros.edges":         strings.Repeat("\x00", 1<<20),
		"zeros.wat.gz":        zipped(t, strings.Repeat("\x00", 1<<20)),
		"a header's line.wat": "WARC/1.0\r\n" + strings.Repeat("x", 2<<20),
		"lengths.wat":         "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: 18446744073709551617\r\n\r\n{}",
		"length.wat":          "WARC/1.0\r\nWARC-Type: metadata\r\nContent-Length: -5\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, stderr := loadLinks(t, exitFailed, "", data, path)
			if !strings.Contains(stderr, path) || len(stderr) > 4000 || strings.Contains(stderr, "goroutine") {
				t.Errorf("it does not say which file: %.2000q", stderr)
			}
		})
	}
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), plain(clitest.Edge{"x:own", "x:link"}))
}

// A line without an end is left out, in bounded time, and what is around it is loaded.
func TestAbuseLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	size, length, more := 5<<20, 200<<10, []string{"--max-line", "4MiB"}
	if os.Getenv("TREFOIL_ABUSE") != "" {
		size, length, more = 100<<20, 100<<20, nil // the most are 64
	}
	long := strings.Repeat("b", size)
	data := filepath.Join(t.TempDir(), "store")
	want := plain(clitest.Edge{"x:a", "x:b"}, clitest.Edge{"x:c", "x:d"})
	path := newFile(t, t.TempDir(), "a.edges", "x:a\tx:b\nx:a\tx:"+long+"\nx:c\tx:d\n")
	stdout, stderr := loadLinks(t, exitRejected, "", data, append(more, "--keep-going", "--json", path)...)
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	if !strings.Contains(stdout, `"rejected":1,`) || len(stderr) > 4000 {
		t.Errorf("%s%.1000s", stdout, stderr)
	}
	// A list may be as long as it likes.
	var list strings.Builder
	list.WriteString("x:e")
	for i := 0; list.Len() < length; i++ {
		dst := fmt.Sprintf("http://host%d.example/%d", i%100, i)
		list.WriteString("\t" + dst)
		want[clitest.Edge{"x:e", dst}] = cell.NoLabel
	}
	loadLinks(t, exitDone, "", data, append(more, newFile(t, t.TempDir(), "a.lists", list.String()))...)
	clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
}

// All odd URLs through files of each format: what is loaded is what was written.
func TestAbuseOddFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	urls := linkstest.OddURLs()
	want := map[clitest.Edge]links.Label{}
	texts := map[string]*strings.Builder{"a.edges": {}, "a.lists.gz": {}, "a.pages": {}, "a.nt": {}}
	for i, url := range urls {
		next := urls[(i+1)%len(urls)]
		maps.Copy(want, plain(clitest.Edge{url, url}, clitest.Edge{url, next}))
		fmt.Fprintf(texts["a.edges"], "%s\t%s\n%s\t%s\n%s\t%s\n", url, url, url, next, url, url) // one of them twice
		for _, name := range []string{"a.lists.gz", "a.pages"} {
			fmt.Fprintf(texts[name], "%s\t%s\t%s\t%s\n", url, url, next, url)
		}
		fmt.Fprintf(texts["a.nt"], "<%s> <urn:trefoil:linksTo> <%s> .\n<%s> <urn:trefoil:linksTo> <%s> <urn:g> .\n", url, url, url, next)
	}
	for name, text := range texts {
		dir := t.TempDir()
		data := filepath.Join(dir, "store")
		args := []string{newFile(t, dir, name, text.String())}
		if name == "a.nt" {
			args = append(args, "--format", "nq")
		}
		loadLinks(t, exitDone, "", data, args...)
		clitest.SameLinks(t, clitest.StoredLinks(t, data, links.DefaultPredicate), want)
	}
}
