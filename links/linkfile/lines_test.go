// Tests of edges, hosts, lists and pages.

package linkfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/race"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

const (
	noIRI    = "this is no absolute IRI: it has no scheme such as http: (host names without one are an option)"
	noName   = "this is neither an absolute IRI nor the name of a host"
	noTarget = "the link's target is missing"
)

func TestLines(t *testing.T) {
	long := "http://x/" + strings.Repeat("y", 91) // 100 bytes
	for _, test := range []struct {
		name string
		opts Options
		doc  string
		want []string
	}{
		{"edges", Options{Format: Edges}, "a:s\ta:o\na:s\ta:p\t2\na:t\ta:o\t-1.5e3\tthe text\na:t\ta:o\t\ttext only\n",
			[]string{"a:s = a:o a:p*2", `a:t = a:o*-1.5e3"the text" a:o"text only"`}},
		{"edges, comments and blanks", Options{Format: Edges}, "\xEF\xBB\xBF# links\n\n \t \na:s\ta:o\r\n#a:s\ta:p\na:s\ta:q\t\t\t\t\r\n a:s \t a:r \t 1 \t x y \n",
			[]string{"a:s = a:o", "a:s = a:q", `a:s = a:r*1"x y"`}},
		{"edges, no line end", Options{Format: Edges}, "a:s\ta:o\na:s\ta:p", []string{"a:s = a:o a:p"}},
		{"edges, one source twice", Options{Format: Edges}, "a:s\ta:o\na:t\ta:o\na:s\ta:o\n", []string{"a:s = a:o", "a:t = a:o", "a:s = a:o"}},
		{"edges, a source that begins like another", Options{Format: Edges}, "a:s\ta:o\na:ss\ta:o\n", []string{"a:s = a:o", "a:ss = a:o"}},
		{"edges, dirty", Options{Format: Edges, Source: "f"}, "a:s\ta:o\na:s\tb\na:s\na:s\t\t3\nx\ta:o\na:s\ta:o\tmany\na:s\ta:o\t1\tt\té\tmore\n\ta:o\na:é\t:\na:s\ta:p\n",
			[]string{"a:s = a:o", "? 2:5@12 " + noIRI + " | a:s\tb", "? 3:4@17 " + noTarget + " | a:s",
				"? 4:5@22 " + noTarget + " | a:s\t\t3", "? 5:1@25 " + noIRI + " | x\ta:o",
				"? 6:9@39 expected a weight... | a:s\ta:o\tmany", "? 7:13@56 expected the line's end... | a:s\ta:o\t1\tt\té\tmore",
				"? 8:1@64 the IRI is missing | \ta:o", "? 9:5@74 " + noIRI + " | a:é\t:", "a:s = a:p"}},
		{"edges, encoded", Options{Format: Edges}, "http://x/a b|c\thttp://é.x/\uFFFD\xff\"<>\\^`{}%zz\x01\n", []string{"http://x/a%20b%7Cc = http://é.x/\uFFFD%FF%22%3C%3E%5C%5E%60%7B%7D%zz%01"}},
		{"edges, text that is no UTF-8", Options{Format: Edges}, "a:s\ta:o\t\ta\xffé\n", []string{"a:s = a:o\"a\uFFFDé\""}},
		{"edges, long", Options{Format: Edges, MaxLine: 103}, long + "\ta:o\n" + long + "\ta:\n" + long + "\ta:o\r\na:s\ta:o",
			[]string{"? 1:1@0 this line is longer than 103 bytes (raise the limit with --max-line) | " + long + "\ta:", long + " = a:", "? 3:1@209 this line is longer... | " + long + "\ta:", "a:s = a:o"}},
		{"edges, hosts are schemes", Options{Format: Edges}, "x.org:80\tx.org\n", []string{"? 1:10@9 " + noIRI + " | x.org:80\tx.org"}},
		{"edges, bare hosts", Options{Format: Edges, BareHosts: true}, "WWW.x.org:80\tx.org./a b\nx\tlocalhost:8080/a\n[::1]:80\thttp://Y/\n",
			[]string{"http://www.x.org:80/ = http://x.org/a%20b", "http://x/ = http://localhost:8080/a", "http://[::1]:80/ = http://Y/"}},
		{"edges, no bare hosts", Options{Format: Edges, BareHosts: true}, "12\ta:o\na..b\ta:o\n.\ta:o\nx:y\ta:o\nx.y:z\ta:o\n\"\ta:o\n",
			[]string{"? 1:1@0 " + noName + " | 12\ta:o", "? 2:1@7 " + noName + " | a..b\ta:o", "? 3:1@16 " + noName + " | .\ta:o", "x:y = a:o", "x.y:z = a:o", "? 6:1@40 " + noName + " | \"\ta:o"}},
		{"edges, normalised", Options{Format: Edges, Normalize: true}, "HTTP://X:80\thttps://x:443/a/../b#c\n", []string{"http://x/ = https://x/b"}},
		{"edges, empty", Options{Format: Edges}, "", nil},
		{"hosts", Options{Format: Hosts}, "1996|a.ac.uk|b.ac.uk\t2\n1996|a.ac.uk|a.ac.uk\t11\n1997|a.ac.uk|c\t1\n1996|a\n1996\n",
			[]string{"http://a.ac.uk/ = http://b.ac.uk/*2 http://a.ac.uk/*11", "http://a.ac.uk/ = http://c/*1", "? 4:1@64 expected year|host|host, a tab and a count | 1996|a", "? 5:1@71 expected year... | 1996"}},
		{"lists", Options{Format: Lists}, "a:s\ta:o\ta:p\na:t\n\n#c\ta:x\n a:u\ta:o \t\t a:p\t\t\r\na:v\ta:o",
			[]string{"a:s = a:o a:p", "a:t =", "a:u = a:o a:p", "a:v = a:o"}},
		{"pages", Options{Format: Pages}, "a:s\ta:o\ta:p\na:t\na:s\ta:o\na:s\t\n", []string{"!a:s = a:o a:p", "!a:t =", "!a:s = a:o", "!a:s ="}},
		{"pages, dirty", Options{Format: Pages}, "a:s\tx\ta:o\tÿ y\ta:p\nno\ta:o\n\ta:o\n \t \na:t\tx\na:t\ta:o\tx\n",
			[]string{"!a:s = +", "? 1:5@4 " + noIRI + " | a:s\tx", "a:s = a:o +", "? 1:11@10 " + noIRI + " | a:s\tÿ y", "a:s = a:p",
				"? 2:1@19 " + noIRI + " | no\ta:o", "? 3:2@27 the page that links is missing | a:o",
				"!a:t = +", "? 5:5@39 " + noIRI + " | a:t\tx", "a:t =", "!a:t = a:o +", "? 6:9@49 " + noIRI + " | a:t\tx", "a:t ="}},
		{"lists, dirty", Options{Format: Lists}, "a:s\tx\ta:o\na:t\tx\n", []string{"? 1:5@4 " + noIRI + " | a:s\tx", "a:s = a:o", "? 2:5@14 " + noIRI + " | a:t\tx", "a:t ="}},
		{"lists, long", Options{Format: Lists, MaxLine: 99}, "a:s\t" + long + "\ta:o\na:t\t" + long + "\n" + long + "\ta:o\n#" + long + "\n" + long[:99] + "\ta:o\r\na:v\t" + long[:99] + "\r\n",
			[]string{"? 1:5@4 this field is longer than 99 bytes (raise the limit with --max-line) | a:s\t" + long[:99], "a:s = a:o", "? 2:5@113 this field... | a:t\t" + long[:99], "a:t =",
				"? 3:1@214 this field is longer... | " + long[:99], long[:99] + " = a:o", "a:v = " + long[:99]}},
		{"lists, encoded", Options{Format: Lists}, "http://x/a b\thttp://x/|\n", []string{"http://x/a%20b = http://x/%7C"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := readEvents(t, strings.NewReader(test.doc), test.opts)
			compare(t, e.lines, test.want)
			for name, r := range map[string]func() (events, error){
				"bytes":  func() (events, error) { return tryEvents(iotest.OneByteReader(strings.NewReader(test.doc)), test.opts) },
				"halves": func() (events, error) { return tryEvents(iotest.HalfReader(strings.NewReader(test.doc)), test.opts) },
			} {
				if again, err := r(); err != nil || strings.Join(again.lines, "\n") != strings.Join(e.lines, "\n") {
					t.Errorf("%s: %q, %v; want %q", name, again.lines, err, e.lines)
				}
			}
			checkPlaces(t, []byte(test.doc), test.opts, e, 100)
		})
	}
}

// randomLines returns a document of edges, lists or pages.
func randomLines(r *rand.Rand, f Format, lines int) []byte {
	var b bytes.Buffer
	field := func() string {
		switch r.IntN(12) {
		case 0:
			return ""
		case 1:
			return "no scheme"
		case 2:
			return fmt.Sprintf(" http://x/%d y", r.IntN(5))
		case 3:
			return "a:" + strings.Repeat("l", r.IntN(300))
		default:
			return fmt.Sprintf("http://h%d.example/%d", r.IntN(4), r.IntN(4))
		}
	}
	for range lines {
		switch r.IntN(12) {
		case 0:
			b.WriteString("# " + field())
		case 1:
		default:
			b.WriteString(field())
			n := 1
			if f != Edges {
				n = r.IntN(5)
				if r.IntN(20) == 0 {
					n = 3000
				}
			}
			for range n {
				b.WriteString("\t" + field())
			}
			if f == Edges && r.IntN(3) == 0 {
				b.WriteString([]string{"\t7", "\tx", "\t\ttext", "\t1\ttext\t", "\t1\tt\tu"}[r.IntN(5)])
			}
		}
		b.WriteString([]string{"\n", "\r\n"}[r.IntN(2)])
	}
	return b.Bytes()
}

// plainLinks reads a document by strings.Split. It returns links as "source target", an 'R' and
// the source if a list is replaced, and the number of rejects.
func plainLinks(doc []byte, f Format) (links []string, rejects int) {
	name := func(field string) (string, bool) {
		field = strings.Trim(field, " ")
		return strings.ReplaceAll(field, " ", "%20"), strings.Contains(field, ":")
	}
	for _, line := range strings.Split(string(doc), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") || strings.Trim(line, " \t") == "" {
			continue
		}
		fields := strings.Split(line, "\t")
		source, ok := name(fields[0])
		if !ok {
			rejects++
			continue
		}
		if f == Pages {
			links = append(links, "R "+source)
		}
		for i, field := range fields[1:] {
			if f == Edges && i > 0 {
				break
			}
			if f != Edges && strings.Trim(field, " ") == "" {
				continue
			}
			target, ok := name(field)
			if f == Edges && (len(fields) > 2 && fields[2] == "x" || len(fields) > 4 && fields[4] != "") {
				ok = false
			}
			if !ok {
				rejects++
				continue
			}
			links = append(links, source+" "+target)
		}
		if f == Edges && len(fields) == 1 {
			rejects++
		}
	}
	return links, rejects
}

// TestAgainstSplit compares random documents with the results of strings.Split, whole and from
// positions in the middle.
func TestAgainstSplit(t *testing.T) {
	r := newRand(t)
	for range 6 {
		for _, f := range []Format{Edges, Lists, Pages} {
			doc := randomLines(r, f, 1+r.IntN(300))
			rd, err := NewReader(bytes.NewReader(doc), Options{Format: f})
			require.NoError(t, err)
			var links []string
			rejects := 0
			more := ""
			for page, err := range rd.All() {
				if err != nil {
					rejects++
					continue
				}
				checkPage(t, page)
				if more != "" && (more != string(page.Source) || page.Replace) {
					t.Fatalf("%v: a part of %s is followed by %s", f, more, page.Source)
				}
				if more = ""; page.More {
					more = string(page.Source)
				}
				if page.Replace {
					links = append(links, "R "+string(page.Source))
				}
				for _, l := range page.Links {
					links = append(links, string(page.Source)+" "+string(l.Target))
				}
			}
			want, wantRejects := plainLinks(doc, f)
			if more != "" || rejects != wantRejects || strings.Join(links, "\n") != strings.Join(want, "\n") {
				t.Fatalf("%v: %d links, %d rejects, want %d, %d, of\n%s", f, len(links), rejects, len(want), wantRejects, doc)
			}
			if c := rd.Counts(); c.Rejected != int64(rejects) || c.Links != int64(len(links)-strings.Count(strings.Join(want, "\n"), "R ")) {
				t.Fatalf("%v: counts %+v", f, c)
			}
			checkPlaces(t, doc, Options{}, readEvents(t, bytes.NewReader(doc), Options{Format: f}), 12)
		}
	}
}

// TestLongLists: a list of 10 million links comes in parts, in little memory.
func TestLongLists(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("much data")
	}
	const n = 10_000_000
	rd, err := NewReader(&endless{text: "http://x/12\t", left: n, rest: "http://x/\t"}, Options{Format: Pages})
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parts, links := 0, 0
	for rd.Scan() {
		p := rd.Page()
		if p.Replace != (parts == 0) || string(p.Source) != "http://x/" {
			t.Fatalf("part %d: %s, %v", parts, p.Source, p.Replace)
		}
		parts++
		links += len(p.Links)
		if p.More == (links == n && len(p.Links) < partLinks) {
			t.Fatalf("part %d with %d links: more is %v", parts, len(p.Links), p.More)
		}
	}
	runtime.ReadMemStats(&after)
	if rd.Err() != nil || links != n {
		t.Errorf("%d links, %v", links, rd.Err())
	}
	if grown := after.HeapSys - before.HeapSys; int64(grown) > 16<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// TestLongURLs: URLs of 100 KB are read. A longer field is skipped without being held if it is
// over the limit.
func TestLongURLs(t *testing.T) {
	long := "http://x/" + strings.Repeat("y", 100_000)
	for _, f := range []Format{Edges, Lists, Pages} {
		e := readEvents(t, strings.NewReader(strings.Repeat(long+"\t"+long+"z\n", 20)), Options{Format: f})
		if e.counts.Links != 20 || e.counts.Rejected != 0 || !strings.HasSuffix(e.lines[0], long+"z") && f != Edges {
			t.Errorf("%v: %+v", f, e.counts)
		}
		if race.Enabled {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rd, err := NewReader(&endless{text: strings.Repeat("y", 1<<20), left: 100, rest: "a:s\ta:o\na:s\ta:"}, Options{Format: f, MaxLine: 1 << 20})
		require.NoError(t, err)
		links, rejects := 0, 0
		for page, err := range rd.All() {
			if err != nil {
				rejects++
				if !strings.Contains(err.Error(), "longer than 1048576 bytes") {
					t.Error(err)
				}
				continue
			}
			links += len(page.Links)
		}
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapSys - before.HeapSys); links != 1 || rejects != 1 || grown > 16<<20 {
			t.Errorf("%v: %d links, %d rejects, the heap grew by %d MiB", f, links, rejects, grown>>20)
		}
	}
	over := "a:" + strings.Repeat("x", triple.MaxTermBytes)
	for _, f := range []Format{Edges, Lists} {
		e := readEvents(t, strings.NewReader("a:s\t"+over+"\na:s\t"+over[:triple.MaxTermBytes]+"\n"), Options{Format: f})
		if e.counts.Links != 1 || e.counts.Rejected != 1 || !strings.Contains(e.lines[0], triple.ErrTermTooLong.Error()) {
			t.Errorf("%v: %+v, %.80s", f, e.counts, e.lines[0])
		}
	}
}

// TestHostileLines: documents that restart searches must take linear time.
func TestHostileLines(t *testing.T) {
	const size = 512 << 10
	for _, unit := range []string{"\n", "\t", "\t\n", "a\n", "a\t", "a:\n", "a:\t", "\r", "\r\n", "#", "#\n", "a:s\ta:o\n", "a:s\ta\n", " ", "WARC/1.0\n"} {
		for _, f := range []Format{Edges, Lists, Pages, Hosts, WAT} {
			start := time.Now()
			rd, err := NewReader(&endless{text: unit, left: int64(size / len(unit))}, Options{Format: f, MaxLine: 1 << 20})
			require.NoError(t, err)
			for rd.Scan() || rd.recovered() {
			}
			if rd.Err() != nil {
				t.Errorf("%q as %v: %v", unit, f, rd.Err())
			}
			if links := rd.Counts().Links; unit == "a:s\ta:o\n" && f != Hosts && f != WAT && links != int64(size/len(unit)) {
				t.Errorf("%q as %v: %d links", unit, f, links)
			}
			// Linear work takes some milliseconds, and quadratic work minutes.
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%q as %v: %v", unit, f, took)
			}
		}
	}
}

// TestReaderErrors: an error of the file's reader must come after all whole lines. It is no end.
func TestReaderErrors(t *testing.T) {
	for _, f := range []Format{Edges, Lists, NTriples} {
		doc := "a:s\ta:o\na:s\ta:p"
		if f == NTriples {
			doc = "<a:s> <urn:trefoil:linksTo> <a:o> .\n<a:s> <urn:tre"
		}
		failing := fmt.Errorf("disk on fire: %w", iotest.ErrTimeout)
		e, err := tryEvents(&failingReader{strings.NewReader(doc), failing}, Options{Format: f})
		if err != failing || len(e.lines) != 1 || e.lines[0] != "a:s = a:o" {
			t.Errorf("%v: %q, %v", f, e.lines, err)
		}
		if _, err := tryEvents(stuck{}, Options{Format: f}); err == nil {
			t.Errorf("%v: a reader that gives nothing is no error", f)
		}
	}
}

type failingReader struct {
	r   *strings.Reader
	err error
}

func (f *failingReader) Read(p []byte) (int, error) {
	if f.r.Len() == 0 {
		return 0, f.err
	}
	return f.r.Read(p)
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
