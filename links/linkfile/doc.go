// Package linkfile reads files of hyperlinks: what pages link to, with weights
// and anchor texts, as streams in bounded memory. It reads what comes out of a
// decompressor; opening files is the caller's.
//
// # Formats
//
// Files of lines are UTF-8 text. A line ends at LF or CR LF. Blank lines and lines
// that begin with '#' mean nothing, and neither do spaces around a field and tabs
// at a line's end. TAB is the byte 09.
//
//	edges   +-----+-----+-----+-----+-----+--------+-----+------+
//	        | src | TAB | dst [ TAB | weight [ TAB | text ] ]   |   one link is added
//	        +-----+-----+-----+-----+-----+--------+-----+------+
//
//	lists   +-----+-----+-----+-----+-----+ - - -
//	        | src | TAB | dst | TAB | dst | ...        the links are added to src
//	        +-----+-----+-----+-----+-----+ - - -
//
//	pages   +-----+-----+-----+-----+-----+ - - -      the links are all that src has:
//	        | src | TAB | dst | TAB | dst | ...        they replace its earlier list;
//	        +-----+-----+-----+-----+-----+ - - -      src alone has none any more
//
//	hosts   +------+---+------+---+------+-----+-------+    a host graph of a web archive:
//	        | year | | | host | | | host | TAB | count |    one link of bare host names
//	        +------+---+------+---+------+-----+-------+    is added, its weight the count;
//	                                                        the year is of no account
//
//	nt, nq  N-Triples, N-Quads: statements of the predicate that Options names
//	        are links that are added; their graphs are of no account
//
//	wat     WARC 1.0 and 1.1 records whose blocks are the JSON of Common Crawl's
//	        WAT files: the links of a page's HTML replace its earlier list
//
// A weight is a number as XML Schema's integer, decimal or double has it, and
// stays as it is written. A text is the link's anchor text; what is no UTF-8 in it
// becomes U+FFFD.
//
// Which format a file has is told by the option, or by a comment in its first line,
//
//	# links: pages
//
// or by its name (.edges .lists .pages .nt .nq .wat, and .gz, .bz2, .zst or .xz
// behind them), or by its content where that is safe: WARC records, N-Triples,
// lines of hosts, and lines with tabs that have two columns or a number in the
// third. Lines of more IRIs are lists or pages, of which one adds and one
// replaces: that has to be said ([ErrFormat]).
//
// # IRIs
//
// A field is the IRI of a page. Crawls are dirty, so bytes that an IRI may not
// have are percent-encoded and the link stays: controls and spaces inside, the
// characters < > " { } | \ ^ ` and bytes that are no UTF-8, each as %XX with
// capital digits. [Counts] tells how many IRIs that changed. Nothing else is
// changed: no case, no port, no fragment. What has no scheme is rejected; with
// Options.BareHosts a host name, with or without a port and a path, is taken for
// http://host/ in lower case instead.
//
// With Options.Normalize, and always in WAT files, IRIs of http and https are
// made what a browser asks for: the scheme and the host in lower case, without the
// scheme's own port, "/" for no path, dot segments removed, no fragment (RFC 3986,
// section 6.2.2 and 6.2.3). An IRI without a host is rejected.
//
// In WAT files references are resolved against the page's base and address (RFC
// 3986, section 5), after white space around them and line ends and tabs in them
// are dropped and backslashes before the query made slashes, as browsers do. Kept
// are the paths A@/href and AREA@/href, with Options.Frames FRAME@/src and
// IFRAME@/src too, whether nofollow or not; of other schemes than http, https and
// ftp only with Options.AllSchemes. Pages are responses of status 2xx; one that is
// no HTML has no links.
//
// # Rejects
//
// A reject is the least that cannot be read: a line of edges; one target of
// lists and pages, or the line where its source is wrong; a statement; one link
// of a WAT record, or the record. [Reader.Err] gives a [*triple.SyntaxError] with
// its place and [Reader.Recover] its text, as [triple.Scanner] does, and reading
// goes on. What is well-formed and no link is not rejected but counted.
//
// # Memory
//
// A page comes in parts of at most 1,024 links and about 1 MiB, so that a list
// has no limit. What is held at a time is a part, and a line of edges, a field,
// a block of N-Triples or a WAT record; longer ones than Options.MaxLine are
// rejected, and skipped without being held.
package linkfile
