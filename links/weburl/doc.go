// Package weburl says where a page belongs by its IRI: the key of its host, its
// registered domain, and the order in which pages are kept. All functions are
// total: any string has a host key. They are pure: no goroutine, clock, file
// or socket.
//
// # Host keys
//
// The key of a host is its name with the labels reversed, so that the hosts of
// a domain are neighbours:
//
//	http://www.Example.org/a?b#c      org.example.www
//	https://user:pw@www.example.org.  org.example.www
//	http://www.example.org:8080/      org.example.www:8080
//	http://192.0.2.1/                 192.0.2.1
//	http://[2001:DB8:0::1]:80/        [2001:db8::1]
//	http://bücher.example/            example.xn--bcher-kva
//	ftp://example.org/                org.example
//	urn:isbn:0451450523               urn:
//	file:///etc/hosts                 file:
//	(empty, or without a scheme)      :
//
// The rules, in this order:
//
//   - The scheme is what precedes the first colon, if it is of ASCII letters,
//     digits, plus, minus and dot, and begins with a letter. Without a scheme the
//     key is ":". Schemes of one authority are one host: http, https, ftp.
//   - Without "//" behind the scheme, or with no host in the authority, the key
//     is the scheme in lower case and a colon.
//   - The authority ends before the first slash, question mark, number sign or
//     backslash, which browsers read as a slash. A backslash is no slash elsewhere.
//   - What precedes the last @ is user info and is dropped.
//   - What follows the last colon is the port. If it is of digits, its leading
//     zeros are dropped, and the port itself where it is the scheme's own (http and
//     ws 80, https and wss 443, ftp 21). An empty port is dropped.
//   - Percent-encoded letters, digits, hyphens, dots, underscores and tildes, and
//     bytes that are not ASCII, are decoded, once. What else is encoded stays so.
//   - One dot at the end is dropped. Other empty labels are kept.
//   - ASCII letters become lower-case.
//   - A label that is not ASCII becomes its punycode (RFC 3492), so that the
//     Unicode and the ASCII form of a name are one host. Before that its letters of
//     Latin-1, Latin Extended-A, Greek and Cyrillic become lower-case, by fixed
//     tables. A label that is not UTF-8, or longer than a label may be, stays.
//   - A name of digits and dots only, an IPv4 address, is not reversed. An IPv6
//     address between brackets has the form of RFC 5952; a zone stays as it is.
//
// UIDs are found by host keys (package uid), so the key of an IRI must never
// change. That is why names are not mapped by the tables of UTS 46, which
// change with Unicode: names that differ from their ASCII form in more than the
// letters' case above, as fullwidth letters do, are hosts of their own.
//
// # Pages
//
// IRIs are not normalised: two pages are one only if their IRIs are equal byte
// for byte. Pages are in the order of their host keys, those of one host in the
// order of their IRIs' bytes, see [Compare].
package weburl
