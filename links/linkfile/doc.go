// Package linkfile reads files of hyperlinks: the links of pages, with weights and anchor texts,
// as streams in bounded memory. It reads decompressed bytes, because opening files is left to the
// caller.
//
// # Formats
//
// Files of lines are UTF-8 text. A line ends at LF or CR LF. A line is ignored if it is blank or
// begins with '#'. Spaces around a field and tabs at a line's end are ignored too. TAB is the
// byte 09.
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
// A weight must be a number in the syntax of XML Schema's integer, decimal or double. It stays as
// it is written. A text is the link's anchor text. Bytes of it become U+FFFD if they are no
// UTF-8.
//
// The option gives the format of a file. If it is unset, a comment in the first line may give it,
//
//	# links: pages
//
// or the file's name (.edges .lists .pages .nt .nq .wat, and .gz, .bz2, .zst or .xz behind them),
// or its content if that is safe. Safe are WARC records, N-Triples, lines of hosts, and lines
// with tabs if they have two columns or a number in the third. Lines of more IRIs may be lists or
// pages. The caller must name the format then, because lists add links and pages replace them
// ([ErrFormat]).
//
// # IRIs
//
// A field is the IRI of a page. Crawls are dirty, so forbidden bytes are percent-encoded and the
// link stays: controls and spaces inside, the characters < > " { } | \ ^ ` and bytes of invalid
// UTF-8, each as %XX with capital digits. [Counts] counts the IRIs changed so. Nothing else is
// changed: no case, no port, no fragment. A field is rejected if it has no scheme. With
// Options.BareHosts it may be a host name, with or without a port and a path, and becomes
// http://host/ in lower case.
//
// With Options.Normalize, and always in WAT files, IRIs of http and https get the form of a
// browser's request. The scheme and the host are in lower case. The port is dropped if it is the
// scheme's own. The path becomes "/" if it is empty, and loses its dot segments. The fragment is
// dropped (RFC 3986, section 6.2.2 and 6.2.3). An IRI is rejected if it has no host.
//
// In WAT files references are resolved against the page's base and address (RFC 3986, section 5).
// Before, as in browsers, white space around them and line ends and tabs in them are dropped.
// Backslashes before the query become slashes. Links have the paths A@/href and AREA@/href; with
// Options.Frames FRAME@/src and IFRAME@/src too. A link stays if it is nofollow. If its scheme is
// not http, https or ftp, Options.AllSchemes must be set. Pages are responses of status 2xx. A
// page has no links if it is no HTML.
//
// # Rejects
//
// A reject is the smallest unreadable part: a line of edges; one target of lists and pages, or
// the line if its source is wrong; a statement; one link of a WAT record, or the record.
// [Reader.Err] returns a [*triple.SyntaxError] with its place. [Reader.Recover] returns its text,
// as [triple.Scanner] does, and reading continues. Well-formed input is counted, not rejected,
// when it is no link.
//
// # Memory
//
// A page comes in parts of at most 1,024 links and about 1 MiB, because a list must have no
// limit. The reader holds one part at a time, and a line of edges, a field, a block of N-Triples
// or a WAT record. If one is longer than Options.MaxLine, it is rejected and skipped without
// being held.
package linkfile
