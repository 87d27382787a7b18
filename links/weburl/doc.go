// Package weburl derives three things from the IRI of a page: the key of its host, its registered
// domain, and its place in the order of pages. All functions are total: any string has a host
// key. They are pure: no goroutine, clock, file or socket.
//
// # Host keys
//
// The key of a host is its name with the labels reversed, because the hosts of a domain must be
// neighbours:
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
//   - The scheme precedes the first colon. It must begin with a letter and consist of ASCII
//     letters, digits, plus, minus and dot. If there is no scheme, the key is ":". If the schemes
//     http, https and ftp have the same authority, they are one host.
//   - If no "//" follows the scheme, or the authority has no host, the key is the scheme in lower
//     case and a colon.
//   - The authority ends before the first slash, question mark, number sign or backslash, because
//     browsers read a backslash as a slash. A backslash is no slash elsewhere.
//   - Everything before the last @ is user info and is dropped.
//   - Everything after the last colon is the port. If it consists of digits, its leading zeros
//     are dropped. If it is then the scheme's own port (http and ws 80, https and wss 443, ftp
//     21), it is dropped. An empty port is dropped.
//   - Percent-encoded letters, digits, hyphens, dots, underscores and tildes, and bytes that are
//     not ASCII, are decoded, once. Other encoded bytes stay encoded.
//   - One dot at the end is dropped. Other empty labels are kept.
//   - ASCII letters become lower-case.
//   - If a label is not ASCII, it becomes its punycode (RFC 3492), because the Unicode and the
//     ASCII form of a name must be one host. Before, its letters of Latin-1, Latin Extended-A,
//     Greek and Cyrillic become lower-case, by fixed tables. A label stays as it is if it is not
//     UTF-8, or longer than a label may be.
//   - A name is not reversed if it has digits and dots only, because it is an IPv4 address. An
//     IPv6 address between brackets gets the form of RFC 5952; a zone stays as it is.
//
// The key of an IRI must never change, because UIDs are found by host keys (package uid). So
// names are not mapped by the tables of UTS 46, because these change with Unicode. A name is a
// host of its own if it differs from its ASCII form in more than the letters' case above.
// Fullwidth letters are an example.
//
// # Pages
//
// IRIs are not normalised: two pages are one only if their IRIs are equal byte for byte. Pages
// have the order of their host keys. If these are equal, they have the order of their IRIs'
// bytes, see [Compare].
package weburl
