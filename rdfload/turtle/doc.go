// Package turtle reads and writes RDF 1.2 Turtle and TriG, drafts, which include those of RDF 1.1.
//
// The parser is a stream: it holds one statement at a time, so memory does not grow with the
// document. It limits a token ([Options].MaxToken), a term ([triple.MaxTermBytes]), the depth of
// nested [ ], ( ), << >> and {| |} ([Options].MaxDepth), and the prefixes of a document (64 MiB of names
// and IRIs together). Nesting of triple terms is limited only by the size of a term.
//
// The parser is strict: a document must match the two grammars. It accepts each version that a
// document announces, and reads RDF 1.2 without an announcement, too. Strings and
// names must be UTF-8 without errors, an escape must not be an unpaired surrogate, and every IRI
// must be absolute after resolution. Beyond the grammars it accepts a byte order mark at the very
// start, and comments between the brackets of an empty [ ]. It does not check the text of comments.
//
// # Statements are whole or not at all
//
// The triples of a statement are held back until it has ended without an error, so a malformed
// statement yields none. The exception is a statement of more than 65,536 triples or 8 MiB of
// terms: each time it reaches the limit, its triples so far are yielded. If such a statement turns
// out to be malformed later, that part of it has been yielded.
//
// # Continuing after an error
//
// With [Options].KeepGoing a malformed statement is yielded as a [*Reject] and parsing continues
// after it. The end of a malformed statement is a guess, but always the same for the same bytes. It
// is the next '.' before white space, a comment, '}' or the end, outside of <...>, strings and
// comments. If a short string or an IRI is still open at a line's end, it counts as ended there.
// The statement ends there too, if that line's last character is '.'. After a line break within a
// short string only a '.' at a line's end counts, because sentences end with '.' too. In TriG a bad
// statement in a graph block ends at the block's '}' at the latest. If a statement is bad before
// its '{', it is rejected with its whole block, because its triples would go to the wrong graph. A
// '{' inside of a block means that the previous block was never closed.
//
// A rejected @prefix or @base removes the earlier meaning of the name. Later statements with that
// name are then rejected, because they must not be misread.
//
// # Annotations
//
// If a TriG document begins with [triple.AnnotationsHeader], its graph [triple.AnnotationsGraph] has
// annotations, not triples. Each statement of it is one, with the properties of
// [triple.AppendAnnotationTriples]:
//
//	#@trefoil-annotations 1
//	@prefix ann: <urn:trefoil:annotations#> .
//	<http://ex/mary> <http://ex/knows> <http://ex/ada> .
//	<urn:trefoil:annotations> {
//	[] ann:subject <http://ex/mary> ; ann:predicate <http://ex/knows> ; ann:object <http://ex/ada> ;
//	   ann:application "reviews" ; ann:type "text/plain" ; ann:value "since school" .
//	}
//
// Such a statement may have four terms of [triple.MaxTermBytes] and 8 MiB beside them.
//
// The parser yields the annotated triple with its annotation. It yields both once if the triple is
// right before its annotations, as the writer puts them.
//
// Package blank has the rule for the labels of blank nodes.
package turtle
