// Tests of the order of pages, of domains and of relations.

package weburl

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestDomain(t *testing.T) {
	for _, test := range []struct{ key, want string }{
		{"org.example.www", "org.example"},
		{"org.example", "org.example"},
		{"org.example.a.b.c", "org.example"},
		{"org.example.www:8080", "org.example"},
		{"org", "org"},
		{"uk.co.example.www", "uk.co.example"},
		{"uk.co", "uk.co"},
		{"uk.ac.ox.comlab", "uk.ac.ox"},
		{"io.github.someone", "io.github.someone"},
		{"io.github.someone.x", "io.github.someone"},
		{"jp.kawasaki.city.x", "jp.kawasaki.city"}, // an exception of the list
		{"ck.x.y.z", "ck.x.y"},                     // a wildcard of the list
		{"localhost", "localhost"},
		{"localhost:80", "localhost"},
		{"nosuchsuffix.a.b", "nosuchsuffix.a"},
		{"xn--fiqs8s.example.www", "xn--fiqs8s.example"},
		{"192.0.2.1", "192.0.2.1"},
		{"192.0.2.1:8080", "192.0.2.1"},
		{"[2001:db8::1]", "[2001:db8::1]"},
		{"[2001:db8::1]:8080", "[2001:db8::1]"},
		{"[fe80::1%25eth0]:80", "[fe80::1%25eth0]"},
		{"urn:", "urn:"},
		{":", ":"},
		{"", ""},
		{":80", ""},
		{"..", ".."},
		{"b..a", "b..a"},
		{".org.example", ".org.example"},
		{"org.example.", "org.example."},
		{"[", "["},
	} {
		if got := Domain(test.key); got != test.want {
			t.Errorf("Domain(%q) = %q, want %q", test.key, got, test.want)
		}
	}
}

func TestClass(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want Relation
	}{
		{"http://www.example.org/a", "https://WWW.example.org:443/b", SameHost},
		{"http://www.example.org/a", "http://example.org/b", SameDomain},
		{"http://www.example.org/a", "http://www.example.org:8080/", SameDomain},
		{"http://www.example.org/a", "http://www.example.com/", OtherDomain},
		{"http://a.co.uk/", "http://b.co.uk/", OtherDomain},
		{"http://192.0.2.1/", "http://192.0.2.1:81/", SameDomain},
		{"http://192.0.2.1/", "http://192.0.2.2/", OtherDomain},
		{"urn:a", "URN:b", SameHost},
		{"urn:a", "tag:b", OtherDomain},
		{"", "http://example.org/", OtherDomain},
		{"", "/", SameHost},
	} {
		if got, back := Class(test.a, test.b), Class(test.b, test.a); got != test.want || back != test.want {
			t.Errorf("Class(%q, %q) = %s, back %s, want %s", test.a, test.b, got, back, test.want)
		}
	}
}

func TestCompare(t *testing.T) {
	inOrder := []string{
		"http://192.0.2.1/",
		"",
		"/",
		"http://[2001:db8::1]/",
		"http://a.com/z",
		"https://a.com/a",
		"http://b.a.com/",
		"http://b.com/",
		"ftp://a.org/",
		"http://a.org/",
		"http://a.org/%7E/",
		"http://a.org/%7e",
		"http://a.org/~",
		"http://b.a.org/",
		"http://a.org:81/",
		"urn:a",
		"urn:b",
	}
	if !slices.IsSortedFunc(inOrder, Compare) {
		sorted := slices.SortedFunc(slices.Values(inOrder), Compare)
		t.Errorf("the order is %q", sorted)
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := Compare(a, b); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
}

// TestCompareIsAnOrder checks on odd IRIs that the pages of a host are neighbours and that only
// equal IRIs compare as equal.
func TestCompareIsAnOrder(t *testing.T) {
	r := random(t)
	for range 200 {
		iris := make([]string, 100)
		for i := range iris {
			iris[i] = oddIRI(r)
		}
		slices.SortFunc(iris, Compare)
		seen := map[string]bool{}
		for i, iri := range iris {
			key := HostKey(iri)
			if i == 0 {
				continue
			}
			before := iris[i-1]
			if c := Compare(before, iri); c > 0 || (c == 0) != (before == iri) || Compare(iri, before) != -c {
				t.Fatalf("%q before %q: %d", before, iri, c)
			}
			if HostKey(before) != key {
				seen[HostKey(before)] = true
				if seen[key] {
					t.Fatalf("%q, of %q, comes after another host", iri, key)
				}
			}
			if j := r.IntN(i); Compare(iris[j], iri) > 0 {
				t.Fatalf("%q after %q", iris[j], iri)
			}
		}
	}
}

// TestKeyClassIsOfDomains compares the shortcut of KeyClass with domains.
func TestKeyClassIsOfDomains(t *testing.T) {
	keys := []string{
		"org", "org.example", "org.example.www", "org.example.www:80", "org.example:81", "org.example.a.b", "org.other", "com.example",
		"de.x", "de.x.www", "uk", "uk.co", "uk.co.example", "uk.co.example.www", "uk.co.other", "io.github", "io.github.a", "io.github.a.b", "io.github.b",
		"192.0.2.1", "192.0.2.1:80", "192.0.2.2", "192.0", "[::1]", "[::1]:80", "[::2]", "urn:", ":", "", ".", "..", "a.", "a..b", "a..c", ":80", "a:b", "a:b:c",
	}
	for _, a := range keys {
		for _, b := range keys {
			want := OtherDomain
			if a == b {
				want = SameHost
			} else if Domain(a) == Domain(b) {
				want = SameDomain
			}
			if got := KeyClass(a, b); got != want {
				t.Errorf("KeyClass(%q, %q) = %s, want %s; domains %q and %q", a, b, got, want, Domain(a), Domain(b))
			}
		}
	}
}

// TestRealHosts takes the host names of a crawl of 1996.
func TestRealHosts(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "weblinks", "1996-uk-web-hosts.tsv.gz")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	fields, hosts, domains := map[string]bool{}, map[string]bool{}, map[string]bool{}
	sc := bufio.NewScanner(z)
	for sc.Scan() {
		for _, field := range strings.FieldsFunc(sc.Text(), func(r rune) bool { return r == '\t' || r == '|' }) {
			if !strings.Contains(field, ".") || fields[field] {
				continue
			}
			fields[field] = true
			key := HostKey("http://" + field + "/")
			domain := Domain(key)
			if !strings.HasPrefix(key, domain) {
				t.Fatalf("host %q, key %q, domain %q", field, key, domain)
			}
			hosts[key], domains[domain] = true, true
		}
	}
	if sc.Err() != nil {
		t.Fatal(sc.Err())
	}
	t.Logf("%d hosts, %d domains", len(hosts), len(domains))
	if len(hosts) == 0 || len(domains) == 0 || len(domains) > len(hosts) {
		t.Errorf("%d hosts, %d domains", len(hosts), len(domains))
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := benchIRIs["usual"], benchIRIs["usual"]+"2"
	b.ReportAllocs()
	for b.Loop() {
		Compare(x, y)
	}
}

func BenchmarkKeyClass(b *testing.B) {
	for name, dst := range map[string]string{
		"same domain":  "uk.ac.example.www",
		"other domain": "com.example.www",
		"other suffix": "uk.ac.other.www",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				KeyClass("uk.ac.example.department.www", dst)
			}
		})
	}
}

func BenchmarkDomain(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Domain("uk.ac.example.department.www")
	}
}
