// Package turtle reads and writes RDF 1.1 Turtle and TriG.
//
// The parser is a stream: it holds one statement at a time and memory does not
// grow with the document. Its limits are a token ([Options].MaxToken), a term
// ([triple.MaxTermBytes]), the depth of nested [ ] and ( ) ([Options].MaxDepth),
// and the prefixes of a document (64 MiB of names and IRIs together).
//
// It is strict: the grammars of the two recommendations, UTF-8 without errors in
// strings and names, no unpaired surrogate in an escape, and every IRI absolute
// after resolution. Beyond the grammars it takes a byte order mark at the very
// start, and comments between the brackets of an empty [ ]. The text of comments
// is not looked at.
//
// # Statements are whole or not at all
//
// The triples of a statement are held back until the statement has ended well,
// so a malformed statement gives none. A statement of more than 65,536 triples or
// 8 MiB of terms is the exception: what has gathered so far is given out each time
// the limit is met, and where such a statement turns out malformed later, that
// part of it has been seen.
//
// # Going on after an error
//
// With [Options].KeepGoing a malformed statement is yielded as a [*Reject] and
// parsing goes on behind it. Where a statement that cannot be parsed ends is a
// guess, the same for the same bytes: at the next '.' that stands before white
// space, a comment, '}' or the end, outside of <...>, strings and comments. A
// short string or an IRI that is still open at a line's end counts as ended
// there, and so does the statement where that line's last character is '.'. After
// a line break within a short string only a '.' at a line's end is taken, for
// sentences end with '.' too. In TriG a bad statement in a graph block ends at
// the block's '}' at the latest, and a statement that is bad before its '{' is
// rejected with its whole block, for its triples would go astray; a '{' inside
// of a block means that the block before was never closed.
//
// A rejected @prefix or @base takes the name's earlier meaning away, so that later
// statements that use it are rejected rather than misread.
//
// Blank nodes are named by the rule of package blank.
package turtle
