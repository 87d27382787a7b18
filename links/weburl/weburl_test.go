// Tests of host keys.

package weburl

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var random = seed.Rand

func TestHostKey(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	tests := []struct{ iri, want string }{
		// Usual ones.
		{"http://www.example.org/", "org.example.www"},
		{"http://www.example.org", "org.example.www"},
		{"https://www.example.org/a/b?c=d#e", "org.example.www"},
		{"HTTP://WWW.EXAMPLE.ORG/A", "org.example.www"},
		{"http://www.example.org?q", "org.example.www"},
		{"http://www.example.org#f", "org.example.www"},
		{"http://localhost/", "localhost"},
		{"http://a.b.c.d.e.f/", "f.e.d.c.b.a"},
		{"http://a-b_c.example/", "example.a-b_c"},
		// Schemes.
		{"ftp://example.org/", "org.example"},
		{"x-y+z.1://example.org/", "org.example"},
		{"urn:isbn:0451450523", "urn:"},
		{"URN:isbn:0451450523", "urn:"},
		{"mailto:a@example.org", "mailto:"},
		{"data:text/plain,http://example.org/", "data:"},
		{"http:", "http:"},
		{"http:/example.org/", "http:"},
		{"http:example.org", "http:"},
		{"http:///a", "http:"},
		{"http://", "http:"},
		{"http://?a", "http:"},
		{"file:///etc/hosts", "file:"},
		{"", ":"},
		{":", ":"},
		{"://example.org/", ":"},
		{"example.org", ":"},
		{"/a/b", ":"},
		{"//example.org/", ":"},
		{"1http://example.org/", ":"},
		{"ht tp://example.org/", ":"},
		{"h\u00e9://example.org/", ":"},
		{"_:b0", ":"},
		// Ports.
		{"http://example.org:80/", "org.example"},
		{"http://example.org:0080/", "org.example"},
		{"http://example.org:8080/", "org.example:8080"},
		{"http://example.org:08080/", "org.example:8080"},
		{"http://example.org:443/", "org.example:443"},
		{"https://example.org:443/", "org.example"},
		{"https://example.org:80/", "org.example:80"},
		{"WSS://example.org:443/", "org.example"},
		{"ws://example.org:80/", "org.example"},
		{"ftp://example.org:21/", "org.example"},
		{"gopher://example.org:70/", "org.example:70"},
		{"http://example.org:/", "org.example"},
		{"http://example.org:0/", "org.example:0"},
		{"http://example.org:000/", "org.example:0"},
		{"http://example.org:Abc/", "org.example:abc"},
		{"http://example.org:80:90/", "org:80.example:90"},
		{"http://:80/", "http:"},
		// User info.
		{"http://user@example.org/", "org.example"},
		{"http://user:pw@example.org:81/", "org.example:81"},
		{"http://a:b@c:d@example.org/", "org.example"},
		{"http://user:80@example.org/", "org.example"},
		{"http://user@192.0.2.1:81/", "192.0.2.1:81"},
		{"http://%41@1.a/", "a.1"},
		{"http://user@/", "http:"},
		{"http://@example.org/", "org.example"},
		{"http://example.org/a@b.com:90", "org.example"},
		{"http://example.org?a@b.com", "org.example"},
		// Backslashes.
		{`http://example.org\a@b.com/`, "org.example"},
		{`http:\\example.org\a`, "http:"},
		{`http:/\example.org/`, "http:"},
		// Dots.
		{"http://example.org./", "org.example"},
		{"http://example.org.:8080/", "org.example:8080"},
		{"http://example.org../", ".org.example"},
		{"http://a..b/", "b..a"},
		{"http://.a/", "a."},
		{"http://./", "http:"},
		{"http://../", "."},
		// Addresses.
		{"http://192.0.2.1/", "192.0.2.1"},
		{"http://192.0.2.1:8080/", "192.0.2.1:8080"},
		{"http://192.0.2.1./", "192.0.2.1"},
		{"http://3221225985/", "3221225985"},
		{"http://1.2.3.a/", "a.3.2.1"},
		{"http://[2001:db8::1]/", "[2001:db8::1]"},
		{"http://[2001:DB8:0:0::0001]/", "[2001:db8::1]"},
		{"http://[2001:db8::1]:80/", "[2001:db8::1]"},
		{"http://[2001:db8::1]:8080/a", "[2001:db8::1]:8080"},
		{"http://u:p@[::1]:8080/a", "[::1]:8080"},
		{"http://[::ffff:192.0.2.1]/", "[::ffff:192.0.2.1]"},
		{"http://[fe80::1%25eth0]/", "[fe80::1%25eth0]"},
		{"http://[FE80::1%25En0]/", "[fe80::1%25En0]"},
		{"http://[v1.FE]/", "[v1.fe]"},
		{"http://[]/", "[]"},
		{"http://[/", "["},
		{"http://]/", "]"},
		{"http://[::1/", "[::1"},
		{"http://[::G]/", "[::g]"},
		{"http://[192.0.2.1]/", "[192.0.2.1]"},
		// Names that are not ASCII.
		{"http://b\u00fccher.example/", "example.xn--bcher-kva"},
		{"http://B\u00dcCHER.Example/", "example.xn--bcher-kva"},
		{"http://XN--BCHER-KVA.example/", "example.xn--bcher-kva"},
		{"http://\u4f8b\u3048.\u30c6\u30b9\u30c8/", "xn--zckzah.xn--r8jz45g"},
		{"http://\u03c0\u03b1\u03c1\u03ac\u03b4\u03b5\u03b9\u03b3\u03bc\u03b1.\u03b4\u03bf\u03ba\u03b9\u03bc\u03ae/", "xn--jxalpdlp.xn--hxajbheg2az3al"},
		{"http://\u041f\u0420\u0418\u041c\u0415\u0420.example:81/", "example.xn--e1afmkfd:81"},
		{"http://\u00df.example/", "example.xn--zca"},
		{"http://\xff\xfe.EXAMPLE/", "example.\xff\xfe"},
		{"http://\uff21.example/", "example.xn--ph7c"},
		// Percent-encoding.
		{"http://ex%61mple.org/", "org.example"},
		{"http://EX%41MPLE%2Eorg/", "org.example"},
		{"http://b%C3%BCcher.example/", "example.xn--bcher-kva"},
		{"http://b%c3%9ccher.example/", "example.xn--bcher-kva"},
		{"http://a%2Fb.example/", "example.a%2fb"},
		{"http://a%40b.example/", "example.a%40b"},
		{"http://a%2561.example/", "example.a%2561"},
		{"http://a%.example/", "example.a%"},
		{"http://a%4.example/", "example.a%4"},
		{"http://a%4g.example/", "example.a%4g"},
		{"http://example.a%", "a%.example"},
		{"http://%31%32.1/", "12.1"},
		{"http://%2E/", "http:"},
		// Long ones.
		{"http://example.org/" + long, "org.example"},
		{"http://" + long + "@example.org/", "org.example"},
		{"http://" + long + ".example/", "example." + long},
		{long + "://example.org/", "org.example"},
		{long + ":", long + ":"},
		{"http://\u00fc" + long + ".example/", "example.\u00fc" + long},
		{"http://example:" + strings.Repeat("0", 100_000) + "80/", "example"},
	}
	for _, test := range tests {
		got := HostKey(test.iri)
		if got != test.want {
			t.Errorf("HostKey(%.60q) = %.60q, want %.60q", test.iri, got, test.want)
		}
		iri := []byte(test.iri)
		if appended := AppendHostKey([]byte("x"), iri); string(appended) != "x"+test.want {
			t.Errorf("AppendHostKey(x, %.60q) = %.60q", test.iri, appended)
		}
		if string(iri) != test.iri {
			t.Errorf("AppendHostKey changed %.60q", test.iri)
		}
	}
}

// TestHostKeyLikeNetURL compares keys of usual URLs with the results of net/url.
func TestHostKeyLikeNetURL(t *testing.T) {
	r := random(t)
	pick := func(choices ...string) string { return choices[r.IntN(len(choices))] }
	for range 20_000 {
		iri := pick("http", "https", "HTTPS", "ftp", "x") + "://" + pick("", "", "u@", "u:p@") +
			pick("", "www.", "WWW2.", "a.b.c.") + pick("example", "Example", "e-x", "127") + pick(".org", ".co.UK", ".com") +
			pick("", "", ":80", ":443", ":21", ":8080") + pick("", "/", "/a?b:c@d#e", "?x@y", "#x:1")
		u, err := url.Parse(iri)
		if err != nil {
			t.Fatal(err)
		}
		labels := strings.Split(strings.ToLower(u.Hostname()), ".")
		slices.Reverse(labels)
		want := strings.Join(labels, ".")
		own := map[string]string{"http": "80", "https": "443", "ftp": "21"}
		if port := u.Port(); port != "" && port != own[u.Scheme] {
			want += ":" + port
		}
		if got := HostKey(iri); got != want {
			t.Fatalf("HostKey(%q) = %q, want %q", iri, got, want)
		}
	}
}

func TestAppendHostKeyAllocates(t *testing.T) {
	buf := make([]byte, 0, 256)
	for _, iri := range []string{
		"http://user:pw@www.Example.org:8080/a/b", "https://192.0.2.1/", "http://[2001:db8::1]/", "urn:isbn:1", "",
	} {
		b := []byte(iri)
		if n := testing.AllocsPerRun(100, func() { buf = AppendHostKey(buf[:0], b) }); n != 0 {
			t.Errorf("%s: %v allocations", iri, n)
		}
	}
}

// oddParts are the parts of random IRIs.
var oddParts = []string{
	"http", "https", "ftp", "urn", ":", "://", "//", "/", "\\", "@", "?", "#", "[", "]", "%", "%41", "%2e", "%C3%BC", "%ff",
	".", "..", "example", "org", "www", "co.uk", "com", "1", "80", "443", "127.0.0.1", "2001:db8::1", "::1", "\u00fc", "\u00dc", "xn--bcher-kva",
	"\xff", "\x00", " ", "A", "z", "\u4f8b\u3048", "\U0010ffff",
}

func oddIRI(r *rand.Rand) string {
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteString("http://")
	}
	for range r.IntN(9) {
		b.WriteString(oddParts[r.IntN(len(oddParts))])
	}
	return b.String()
}

// checkIRI checks the properties of the key of any IRI.
func checkIRI(t *testing.T, iri string) {
	t.Helper()
	key := HostKey(iri)
	if key == "" {
		t.Fatalf("HostKey(%q) is empty", iri)
	}
	if got := AppendHostKey([]byte("before"), []byte(iri)); string(got) != "before"+key {
		t.Fatalf("AppendHostKey(before, %q) = %q, key %q", iri, got, key)
	}
	if domain := Domain(key); domain == "" && key[0] != ':' || !strings.HasPrefix(key, domain) {
		t.Fatalf("IRI %q, key %q, domain %q", iri, key, domain)
	}
	if Class(iri, iri) != SameHost || Compare(iri, iri) != 0 {
		t.Fatalf("%q is not the page that it is", iri)
	}
	ascii := strings.IndexFunc(iri, func(r rune) bool { return r >= 0x80 }) < 0
	if upper := strings.ToUpper(iri); ascii && !strings.Contains(iri, "[") && HostKey(upper) != HostKey(strings.ToLower(iri)) {
		t.Fatalf("HostKey(%q) = %q, in lower case %q", upper, HostKey(upper), HostKey(strings.ToLower(iri)))
	}
}

func TestAnyIRI(t *testing.T) {
	r := random(t)
	for range 50_000 {
		checkIRI(t, oddIRI(r))
	}
}

func FuzzHostKey(f *testing.F) {
	f.Add("http://user:pw@www.Example.org:8080/a?b#c")
	f.Add("http://[fe80::1%25eth0]:80/")
	f.Add("http://b%C3%BCcher.example./")
	f.Add("http://\u00fc.\xff..%2e:/")
	f.Add("urn:isbn:1")
	f.Fuzz(checkIRI)
}

// The bound is wide, because quadratic work takes hours.
func TestHostileIRIs(t *testing.T) {
	const size = 1 << 18
	for name, iri := range map[string]string{
		"dots":       "http://" + strings.Repeat(".", size),
		"labels":     "http://" + strings.Repeat("a.", size),
		"umlauts":    "http://" + strings.Repeat("\u00fc", size),
		"umlauts.":   "http://" + strings.Repeat("\u00fc.", size),
		"at signs":   "http://" + strings.Repeat("@", size) + "a",
		"colons":     "http://a" + strings.Repeat(":", size),
		"brackets":   "http://" + strings.Repeat("[", size) + strings.Repeat("]", size),
		"escapes":    "http://" + strings.Repeat("%C3%BC", size),
		"percents":   "http://" + strings.Repeat("%", size),
		"zeros":      "http://a:" + strings.Repeat("0", size),
		"zone":       "http://[::1%" + strings.Repeat("a", size) + "]",
		"scheme":     strings.Repeat("a", size) + "://a",
		"characters": "http://" + strings.Repeat("\U0001f600\U0001f601\U0001f602\U0001f603\U0001f604\U0001f605", size/24),
	} {
		start := time.Now()
		key := HostKey(iri)
		if domain := Domain(key); !strings.HasPrefix(key, domain) {
			t.Errorf("%s: %.50q", name, domain)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

func BenchmarkAppendHostKey(b *testing.B) {
	for name, iri := range benchIRIs {
		b.Run(name, func(b *testing.B) {
			text, buf := []byte(iri), make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendHostKey(buf[:0], text)
			}
		})
	}
}

func BenchmarkHostKey(b *testing.B) {
	for name, iri := range benchIRIs {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchKey = HostKey(iri)
			}
		})
	}
}

// benchKey keeps the result of a benchmark.
var benchKey string

var benchIRIs = map[string]string{
	"usual": "http://www.department.example.ac.uk/people/pages/someone/index.html?a=1",
	"port":  "http://www.example.org:8080/a/b/c",
	"idn":   "http://www.b\u00fccher.example/a/b/c",
	"ipv6":  "http://[2001:db8::1]:8080/a/b/c",
	"urn":   "urn:isbn:0451450523",
}
