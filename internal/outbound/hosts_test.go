// The list of allowed hosts, and the public address ranges.

package outbound

import (
	"errors"
	"net/netip"
	"net/url"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestHosts(t *testing.T) {
	h, err := ParseHosts([]string{
		"Example.org.", "db.example:8890", "any.example:*", "*.wide.example", "192.0.2.1:8080", "[2001:db8::1]:81",
		"2001:db8::2", "10.0.0.0/8", "xn--bcher-kva.example",
	})
	require.NoError(t, err)
	for _, test := range []struct {
		url     string
		allowed bool
	}{
		{"http://example.org/a?b", true},
		{"https://EXAMPLE.org./", true},
		{"http://example.org:443/", true},
		{"http://example.org:0080/", true},
		{"http://example.org:8080/", false},
		{"http://example.org:22/", false},
		{"http://example.org:0/", false},
		{"http://example.org:65616/", false}, // 80 in 16 bits
		{"http://example.org../", false},
		{"http://sub.example.org/", false},
		{"http://example.org.evil.example/", false},
		{"http://evilexample.org/", false},
		{"http://db.example:8890/sparql", true},
		{"http://db.example/sparql", false},
		{"http://any.example:9/", true},
		{"http://a.b.wide.example/", true},
		{"http://wide.example/", false},
		{"http://xwide.example/", false},
		{"http://192.0.2.1:8080/", true},
		{"http://192.0.2.1/", false},
		{"http://[::ffff:192.0.2.1]:8080/", true}, // the same address
		{"http://[2001:db8::1]:81/", true},
		{"http://[2001:DB8:0::2]/", true},
		{"http://[2001:db8::3]/", false},
		{"http://10.255.0.1:3030/", true},
		{"http://11.0.0.1/", false},
		{"http://[fe80::1%25eth0]/", false},
		{"http://XN--BCHER-KVA.example/", true},
		{"http://bücher.example/", false},
		{"http://EXAMPLE.ORG/", true},
		{"http://\uff45xample.org/", false}, // a full-width e
		{"http://2130706433/", false},
		{"http://0x7f000001/", false},
		{"http://127.1/", false},
		{"http://0177.0.0.1/", false},
		{"http://[::ffff:127.0.0.1]/", false},
		{"http://localhost/", false},
		{"http://user@example.org/", false},
		{"http://user:secret@example.org/", false},
		{"http://example.org@evil.example/", false},
		{"http:///a", false},
		{"http:example.org", false},
		{"file:///etc/passwd", false},
		{"file://example.org/etc/passwd", false},
		{"gopher://example.org/", false},
		{"ftp://example.org/", false},
		{"urn:example.org", false},
	} {
		u, err := url.Parse(test.url)
		if err != nil {
			if test.allowed {
				t.Errorf("%s: %v", test.url, err)
			}
			continue
		}
		err = h.Check(u)
		if test.allowed != (err == nil) || err != nil && !errors.Is(err, ErrHost) {
			t.Errorf("%s: %v, want allowed: %v", test.url, err, test.allowed)
		}
	}
}

func TestAllowHostsErrors(t *testing.T) {
	for _, entry := range []string{
		"", " ", "*", "*.", ".", "a..b", "http://example.org", "http://example.org/", "example.org/path", "example.org:", "example.org:0",
		"example.org:65536", "example.org:http", "*:80", "a.*.b", "2130706433", "127.1", "bücher.example", "10.0.0.0/33", "::ffff:10.0.0.0/104",
		"user@example.org", "fe80::1%eth0", "[::1", "a b",
	} {
		if _, err := ParseHosts([]string{entry}); err == nil {
			t.Errorf("%q is taken", entry)
		}
	}
}

// The addresses of registries for special purposes are not public; a rule allows
// one that is an address, and no name does.
func TestAddresses(t *testing.T) {
	h, err := ParseHosts([]string{"localhost", "127.0.0.1:8080", "10.1.0.0/16", "192.168.0.1"})
	require.NoError(t, err)
	for _, test := range []struct {
		address string
		allowed bool
	}{
		{"127.0.0.1:8080", true},
		{"127.0.0.1:80", false},
		{"[::ffff:127.0.0.1]:8080", true},
		{"[::ffff:127.0.0.1]:80", false},
		{"10.1.2.3:5", true},
		{"10.2.0.0:5", false},
		{"192.168.0.1:99", true}, // its port was checked in the URL
		{"8.8.8.8:80", true},
		{"[2606:4700::1111]:443", true},
		{"0.0.0.0:80", false},
		{"0.1.2.3:80", false},
		{"100.64.0.1:80", false},
		{"100.127.255.255:80", false},
		{"100.128.0.1:80", true},
		{"127.255.0.1:80", false},
		{"169.254.169.254:80", false},
		{"172.16.0.1:80", false},
		{"172.31.255.255:80", false},
		{"172.32.0.1:80", true},
		{"192.0.0.192:80", false},
		{"192.168.0.2:80", false},
		{"198.19.0.1:80", false},
		{"224.0.0.1:80", false},
		{"255.255.255.255:80", false},
		{"[::]:80", false},
		{"[::1]:80", false},
		{"[::127.0.0.1]:80", false},
		{"[fe80::1]:80", false},
		{"[fe80::1%eth0]:80", false},
		{"[2606:4700::1111%eth0]:80", false},
		{"[fc00::1]:80", false},
		{"[fd00:ec2::254]:80", false},
		{"[ff02::1]:80", false},
		{"[64:ff9b::7f00:1]:80", false},
		{"[64:ff9b::808:808]:80", true},
		{"[2002:7f00:1::]:80", false},
		{"[2001::1]:80", false},
		{"[2001:db8::1]:80", false},
	} {
		err := h.checkAddress(netip.MustParseAddrPort(test.address))
		if test.allowed != (err == nil) || err != nil && !errors.Is(err, ErrHost) {
			t.Errorf("%s: %v, want allowed: %v", test.address, err, test.allowed)
		}
	}
}
