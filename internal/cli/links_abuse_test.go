// Links commands with hostile arguments and odd URLs.

package cli

// This file gives the links commands what makes no sense: they say so and end, and change
// nothing.

import (
	"math"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/links/linkstest"
)

// Command lines that are wrong are refused before anything is asked; others that are only
// odd are answered.
func TestAbuseLinksCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	g, uids := letters(t)
	const site = "http://www.letters.org/"
	before, err := g.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	long := "http://www.letters.org/" + strings.Repeat("x", 1<<20)
	huge := "99999999999999999999999"
	numbers := []string{"-1", "NaN", "Inf", "1e400", "", "x", huge, "0x", "1.5.2", "--", "1 2"}
	var wrong [][]string
	for _, n := range numbers {
		wrong = append(wrong, []string{"sample", "-n" + n, site}, []string{"sample", "-n", n, site}, []string{"sample", "-n1", "--random", "--seed=" + n, site}, []string{"rank", "-a" + n, site}, []string{"rank", "-b" + n, site}, []string{"rank", "--top=" + n, site},
			[]string{"pages", "--after=" + n}, []string{"pages", "--limit=" + n}, []string{"pagerank", "start", "--damping=" + n}, []string{"pagerank", "start", "--max-rounds=" + n})
		if n != huge {
			wrong = append(wrong, []string{"pagerank", "start", "--tolerance=" + n})
		}
	}
	for _, text := range []string{"", "none", "ALL", "inter host", "7"} {
		wrong = append(wrong, []string{"sample", "-n1", "--class=" + text, site}, []string{"rank", "--class=" + text, site}, []string{"rank", "--algorithm=" + text, site}, []string{"update", "--format=" + strings.ReplaceAll(text, "none", "wat2") + "!", "-"})
	}
	wrong = append(wrong, []string{"sample", site}, []string{"sample", "-n1", "--random", "--consistent", site}, []string{"url", "x"}, []string{"url", "0"}, []string{"url", "-5"}, []string{"url", huge}, []string{"url", ""},
		[]string{"get", "1"}, []string{"get", "18446744073709551615", "7"}, []string{"none"}, []string{}, []string{"get", "--sideways", site}, []string{"update"}, []string{"update", "--max-line=3GiB", "-"}, []string{"update", "--max-line=-1", "-"}, []string{"pagerank"}, []string{"pagerank", "pause"})
	for _, args := range wrong {
		code, stdout, stderr := runLinks(t, g, "", append([]string{"links"}, args...)...)
		if code != exitUsage && code != exitFailed || stdout != "" || len(stderr) < 10 || len(stderr) > 4000 || strings.Contains(stderr, "goroutine") {
			t.Errorf("%q: code %d\n%.300s\n%.500s", args, code, stdout, stderr)
		}
	}
	for _, odd := range []struct {
		stdin string
		args  []string
		want  string
	}{
		{"", []string{"uid", "", long, "no IRI", "\x00\u00ff"}, "\t0\n" + long + "\t0\nno IRI\t0\n\x00\u00ff\t0\n"},
		{"", []string{"get", "--uids", huge, long, "-", ""}, ""},
		{"", []string{"sample", "-n", "2147483647", "--uids", uids[site+"alep"]}, uids[site+"alep"] + "\t" + uids[site] + "\n"},
		{"", []string{"pages", "--after", "18446744073709551615"}, ""},
		{"", []string{"pages", "--after", "18446744073709551614", "--limit", "9000000000G"}, ""},
		{"\r\n\n", []string{"degree"}, ""},
		{"", []string{"rank", "--top", "2147483647", "-a", "1000", "-b", "1000", "http://nowhere.example/"}, ""},
		{strings.Repeat("x:none\n", 30_000), []string{"get"}, ""},
	} {
		if code, stdout, stderr := runLinks(t, g, odd.stdin, append([]string{"links"}, odd.args...)...); code != exitDone || stdout != odd.want {
			t.Errorf("%.100q: code %d\n%.300q, want\n%.300q\n%.500s", odd.args, code, stdout, odd.want, stderr)
		}
	}
	// A line without an end names no page.
	if code, _, stderr := runLinks(t, g, strings.Repeat("x", 16<<20+1), "links", "get"); code != exitFailed || !strings.Contains(stderr, "standard input") {
		t.Errorf("%d %.300s", code, stderr)
	}
	if after, err := g.Stats(t.Context()); err != nil || after.Links != before.Links || after.Pages != before.Pages || after.Epoch != before.Epoch {
		t.Errorf("the graph was %+v and is %+v, %v", before, after, err)
	}
}

// Odd URLs go through the commands as they are: what update takes, get prints.
func TestAbuseOddURLs(t *testing.T) {
	if testing.Short() {
		t.Skip("much work, of one goroutine at a time")
	}
	g := linkstest.New()
	var file, pages strings.Builder
	urls := linkstest.OddURLs()
	for i, url := range urls {
		file.WriteString(url + "\t" + url + "\n" + url + "\t" + urls[(i+1)%len(urls)] + "\n")
		pages.WriteString(url + "\n")
	}
	if code, _, stderr := runLinks(t, g, file.String(), "links", "update", "--format", "edges", "-"); code != exitDone {
		t.Fatal(stderr)
	}
	if _, stdout, stderr := runLinks(t, g, pages.String(), "links", "get"); sortLines(stdout) != sortLines(file.String()) {
		t.Errorf("%d bytes of %d, %.300s", len(stdout), file.Len(), stderr)
	}
	_, stdout, _ := runLinks(t, g, pages.String(), "links", "uid")
	if n := strings.Count(stdout, "\t0\n"); n > 0 || strings.Count(stdout, "\n") != len(urls) {
		t.Errorf("%d of %d pages have no UID", n, len(urls))
	}
	stats, err := g.Stats(t.Context())
	if err != nil || stats.Links != int64(2*len(urls)) || stats.Pages != int64(len(urls)) || stats.MaxOut > math.MaxInt32 {
		t.Errorf("%+v, %v", stats, err)
	}
}
