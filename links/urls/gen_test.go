// URLs for tests and benchmarks: dense hosts, hosts of one page, batches that
// come later, and the URLs of real data.

package urls

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var newRand = seed.Rand

// extent is the URLs of one extent in the order of their ordinals.
type extent struct {
	host string
	urls []string
}

func (e extent) hash() uint64 { return xxhash.Sum64String(e.host) }

func build(t testing.TB, shift uint, extents []extent) []byte {
	t.Helper()
	b := NewBuilder()
	b.shift = shift
	for _, e := range extents {
		b.StartExtent(e.hash())
		for _, url := range e.urls {
			require.NoError(t, b.Add([]byte(url)))
		}
	}
	return b.AppendTo(nil)
}

func mustOpen(t testing.TB, b []byte) *Table {
	t.Helper()
	table, err := Open(b)
	require.NoError(t, err)
	return table
}

// webWords are made-up words of the web, the frequent ones first.
type webWords struct {
	rng   *rand.Rand
	words []string
	zipf  *rand.Zipf
}

func newWebWords(rng *rand.Rand) *webWords {
	syllables := strings.Fields(`an ar at be ca co con da de di do en er es ex fa for ge ha he in ing ion is it
		ka la le li lo ma me men mi mo na ne ni no of on or pa per pla po pro qui ra re ri ro sa se ser si sta su
		ta te ter ti tion to tra u un ur va ve vi wa we wi`)
	w := &webWords{rng: rng, zipf: rand.NewZipf(rng, 1.1, 8, 8000)}
	for range 8001 {
		var word string
		for range 1 + rng.IntN(2) + rng.IntN(3) {
			word += syllables[rng.IntN(len(syllables))]
		}
		w.words = append(w.words, word)
	}
	return w
}

func (w *webWords) word() string { return w.words[w.zipf.Uint64()] }

func (w *webWords) join(n int, by string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = w.word()
	}
	return strings.Join(parts, by)
}

// pages returns the paths of one thing's pages on a large site: an article with
// its comments, goods with reviews, a topic of a forum, an encyclopedia's
// entry, the photos of a user, a search.
func (w *webWords) pages(sections []string) (paths []string) {
	r := w.rng
	add := func(format string, args ...any) { paths = append(paths, fmt.Sprintf(format, args...)) }
	section := sections[r.IntN(len(sections))]
	switch r.IntN(10) {
	case 0, 1, 2:
		article := fmt.Sprintf("%s/%04d/%02d/%02d/%s-%d", section, 2005+r.IntN(12), 1+r.IntN(12), 1+r.IntN(28),
			w.join(3+r.IntN(3), "-"), r.IntN(10_000))
		add("%s.html", article)
		for i := range r.IntN(4) {
			add("%s/comments.html?page=%d", article, i+1)
		}
		if r.IntN(2) == 0 {
			add("%s.html?print", article)
		}
	case 3, 4:
		thing := fmt.Sprintf("shop/%s/%s/%s-p%d", section, sections[r.IntN(len(sections))], w.join(2+r.IntN(2), "-"), r.IntN(1_000_000))
		add("%s", thing)
		for _, tab := range []string{"reviews", "questions", "images"}[:r.IntN(4)] {
			add("%s/%s.html", thing, tab)
		}
	case 5, 6:
		topic := fmt.Sprintf("community/forum/viewtopic.php?forum=%d&topic=%d", r.IntN(40), 100_000+r.IntN(200_000))
		for i := range 1 + r.IntN(4)*r.IntN(4) {
			add("%s&start=%d", topic, 20*i)
		}
	case 7:
		title := w.join(1+r.IntN(3), "_")
		for _, action := range []string{"edit", "history", "info"}[:1+r.IntN(3)] {
			add("wiki/index.php?title=%s&action=%s", title, action)
		}
	case 8:
		user, photo := fmt.Sprintf("%s%d", w.word(), r.IntN(100)), 10_000_000+r.IntN(1_000_000)
		for range 1 + r.IntN(6) {
			add("people/%s/photos/%d/large.html", user, photo)
			photo += 1 + r.IntN(20)
		}
	default:
		add("search?category=%s&q=%s&page=%d", section, w.join(1+r.IntN(3), "+"), 1+r.IntN(9))
	}
	return paths
}

// denseHosts returns about n URLs of the given number of hosts, sorted.
func denseHosts(rng *rand.Rand, hosts, n int) []extent {
	w := newWebWords(rng)
	var out []extent
	for len(out) < hosts {
		host := fmt.Sprintf("www.%s%d-%s.com", w.word(), len(out), w.word())
		sections := make([]string, 20)
		for i := range sections {
			sections[i] = w.join(1+i%2, "-")
		}
		e := extent{host: host}
		for len(e.urls) < n/hosts {
			for _, path := range w.pages(sections) {
				e.urls = append(e.urls, "https://"+host+"/"+path)
			}
		}
		slices.Sort(e.urls)
		e.urls = slices.Compact(e.urls)
		out = append(out, e)
	}
	return out
}

// onePageHosts returns n hosts of one page each, as graphs of hosts have them.
func onePageHosts(rng *rand.Rand, n int) []extent {
	w := newWebWords(rng)
	out := make([]extent, n)
	for i := range out {
		host := fmt.Sprintf("www.%s%s%d.com", w.word(), w.word(), i)
		out[i] = extent{host, []string{"http://" + host + "/"}}
	}
	return out
}

// oddExtents returns extents of every kind: empty ones, a host twice, URLs that
// are empty, long, of any bytes, and batches of every length and order.
func oddExtents(rng *rand.Rand) []extent {
	out := denseHosts(rng, 1+rng.IntN(5), rng.IntN(2000))
	out = append(out, onePageHosts(rng, rng.IntN(200))...)
	long := strings.Repeat("long/", 20_000)
	out = append(out,
		extent{"nothing", nil},
		extent{"empty", []string{""}},
		extent{"long", []string{"http://long/", "http://long/" + long, "http://long/" + long + "2", "http://long/x"}},
		extent{"zeros", []string{"\x00", "\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\xff\x00", "\xff\xff"}},
	)
	chains := extent{host: "chains"}
	for i := range 300 {
		chains.urls = append(chains.urls, strings.Repeat("ab", i))
	}
	falling := extent{host: "falling", urls: slices.Clone(chains.urls)}
	for i := range falling.urls {
		falling.urls[i] = "f" + falling.urls[i]
	}
	slices.Reverse(falling.urls)
	out = append(out, chains, falling)
	for range 3 {
		batches := denseHosts(rng, 1, 1000)[0]
		batches.host = fmt.Sprintf("batches%d", len(out))
		rng.Shuffle(len(batches.urls), func(i, j int) { batches.urls[i], batches.urls[j] = batches.urls[j], batches.urls[i] })
		for at := 0; at < len(batches.urls); {
			n := min(1+rng.IntN(1<<rng.IntN(9)), len(batches.urls)-at)
			slices.Sort(batches.urls[at : at+n])
			at += n
		}
		out = append(out, batches, extent{batches.host, []string{"http://" + batches.host + "/second/extent"}})
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	seen := map[string]bool{}
	for i := range out {
		out[i].urls = slices.DeleteFunc(slices.Clone(out[i].urls), func(url string) bool {
			again := seen[url]
			seen[url] = true
			return again
		})
	}
	return out
}

// linkedData returns the IRIs of subjects and objects of a data set beside the project, sorted,
// by hosts. If all is set, it reads compressed files too. If the data is missing, it skips the
// test.
func linkedData(t testing.TB, all bool) []extent {
	t.Helper()
	extents, err := readLinkedData(all)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("real data is not tested: %v", err)
	}
	require.NoError(t, err)
	return extents
}

func readLinkedData(all bool) ([]extent, error) {
	seen := map[string]bool{}
	root := filepath.Join("..", "..", "..", "shared", "data", "dbpedia-links")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".nt") && !(all && strings.HasSuffix(path, ".nt.bz2")) {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		var r io.Reader = f
		if strings.HasSuffix(path, ".bz2") {
			r = bzip2.NewReader(f)
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			subject, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
			_, object, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
			object, _, _ = bytes.Cut(object, []byte(" "))
			for _, term := range [][]byte{subject, object} {
				if len(term) > 2 && term[0] == '<' && term[len(term)-1] == '>' {
					seen[string(term[1:len(term)-1])] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	byHost := map[string][]string{}
	for url := range seen {
		_, host, _ := strings.Cut(url, "://")
		host, _, _ = strings.Cut(host, "/")
		byHost[host] = append(byHost[host], url)
	}
	var out []extent
	for host, urls := range byHost {
		slices.Sort(urls)
		out = append(out, extent{host, urls})
	}
	slices.SortFunc(out, func(a, b extent) int { return strings.Compare(a.host, b.host) })
	return out, nil
}

// total returns the number of URLs and of their bytes.
func total(extents []extent) (urls, bytes int) {
	for _, e := range extents {
		urls += len(e.urls)
		for _, url := range e.urls {
			bytes += len(url)
		}
	}
	return urls, bytes
}
