// Odd URLs, from crawls and made up.

package linkstest

import "strings"

// OddURLs returns odd absolute IRIs. All endpoints must accept them. They have other schemes,
// hosts in all forms and none, paths in all forms, and lengths of up to 100,000 bytes. No two are
// equal. But to a browser many mean the same, and several share a host or their first kilobytes.
func OddURLs() []string {
	long := strings.Repeat("a", 100_000)
	deep := strings.Repeat("a.", 127)
	return []string{
		// Schemes, and no host.
		"urn:isbn:0451450523", "URN:ISBN:0451450523", "urn:", "mailto:a@example.org", "mailto:", "data:,", "data:text/html,%3Ca%20href=http://example.org/%3E",
		"javascript:void(0)", "javascript:alert('http://example.org/')", "about:blank", "file:///etc/hosts", "tag:example.org,2026:x", "x:", "x:y", "a+b-c.1:z",
		"http:", "http:/", "http://", "http:///", "http:///path", "http://?q", "http://#f", "http:example.org", "http:/example.org", "https:", "https://:443/", "http://@/", "http://:/",
		// Hosts that are one, or nearly.
		"http://example.org", "http://example.org/", "HTTP://EXAMPLE.ORG/", "http://Example.Org", "http://example.org.", "http://example.org./", "http://example.org../", "http://.example.org/",
		"http://example..org/", "http://example.org:80/", "http://example.org:0080/", "http://example.org:/", "http://example.org:8080/", "http://example.org:65536/", "http://example.org:99999999999999999999/",
		"http://example.org:-1/", "http://example.org:a/", "https://example.org/", "https://example.org:443/", "ftp://example.org/", "http://user@example.org/", "http://user:pw@example.org/", "http://user:pw@example.org:80/",
		"http://a:b@c:d@example.org/", "http://ex%61mple.org/", "http://example%2Eorg/", "http://example.org%00/", "http://example.org%2F/", "http://%/", "http://%zz/", "http://-/", "http://_/", "http://*.example.org/",
		"http://a_b.example.org/", "http://localhost/", "http://1/", "http://127.0.0.1/", "http://0x7f.1/", "http://256.256.256.256/", "http://1.2.3.4.5/",
		// Addresses.
		"http://[::1]/", "http://[::1%25eth0]/", "http://[fe80::1%25ETH0]:8080/", "http://[0:0:0:0:0:0:0:1]/", "http://[::ffff:127.0.0.1]/", "http://[::1", "http://[]/", "http://[v1.x]/", "http://[::G]/", "http://]/",
		// Names that are not ASCII.
		"http://bücher.example/", "http://BÜCHER.example/", "http://xn--bcher-kva.example/", "http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/", "http://пример.рф/путь?что=это#вот", "http://b%C3%BCcher.example/",
		"http://faß.de/", "http://fass.de/", "http://xn--/", "http://xn--a/", "http://ａ.example/", "http://\u200b.example/", "http://a\u3002example/", "http://\U0001f600.example/\U0001f600", "http://\u05d0\u05d1.example/",
		// Paths, queries and fragments.
		"http://example.org/?", "http://example.org/#", "http://example.org?", "http://example.org#", "http://example.org//", "http://example.org/.", "http://example.org/..", "http://example.org/a/../b", "http://example.org/%",
		"http://example.org/%zz", "http://example.org/%2f", "http://example.org/%2F", "http://example.org/a%00b", "http://example.org/;p=1", "http://example.org/é", "http://example.org/e\u0301", "http://example.org/?q=[]", "http://example.org/\ufffd",
		"http://example.org/'", "http://example.org/$1", "http://example.org/a,b", "http://example.org/\U0010fffd",
		// Long and deep ones.
		"http://example.org/" + long[:99_981], "http://example.org/" + long[:99_980] + "b", "http://example.org/" + long[:237], "http://example.org/" + long[:238], "http://example.org/" + long[:300],
		"http://" + long[:63] + ".example/", "http://" + long[:64] + ".example/", "http://" + long[:255] + "/", "http://" + long[:300] + ".example/", "http://" + long[:99_000] + "/", "http://" + long[:99_000] + "/x",
		"http://" + deep + "example/", "http://" + strings.Repeat("a.", 5000) + "example/", "http://" + strings.Repeat("é", 40) + ".example/", "http://" + long[:50_000] + "@example.org/", "http://example.org:" + strings.Repeat("0", 50_000) + "80/",
		"urn:" + long[:99_996], "urn:" + long[:99_995] + "b", long[:1000] + ":x", long[:50_000] + "://example.org/", "data:," + strings.Repeat("%00", 33_000), "http://example.org/" + strings.Repeat("ü", 49_000), "http://example.org/" + strings.Repeat("../", 30_000),
	}
}
