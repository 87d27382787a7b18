// What columns are, and how they are built.

// Package columns holds the triples of a default graph as numbers, so that joins compare integers
// instead of keys. It is derived from rows and is never the truth: a query without columns reads
// rows, and has the same answer.
//
// # What a set has
//
// A [Set] belongs to one state of a store. Its [Dictionary] has every term of a subject or an
// object in the order of keys. The number of a term is its place there, from 1. So a range of keys
// is a range of numbers, and numbers sort as terms do.
//
// A [Column] is one predicate. It has the pairs (subject, object) in two [Lists]: the objects of
// each subject, and the subjects of each object. A list is ascending. Of a term that is longer than a
// key allows, the dictionary has the form in keys. The column says so, because the whole term must
// then be read from a row.
//
// # How a set is built
//
// [Build] scans the orders SPO and OSP of a [source.Source] twice. The first pass merges their first
// terms to the dictionary. The second pass reads SPO to write the lists by subject, and OSP to write
// the lists by object. Both orders have the rows of a predicate sorted already, so nothing is
// sorted.
//
// # Changes
//
// A [View] is a set behind the changes up to the state of a reader. [View.Changed] gives each changed
// column a [patch]: the whole lists of the keys that changed. Their places follow those of the packed
// arrays, so only what goes through all keys ([KeyRange]) knows of patches. New terms get the numbers
// behind those of the set, in no order: what needs the order of terms requires [Dictionary.Sorted] or
// [Dictionary.Spans].
//
// # Memory
//
// A number takes as many bits as the greatest one of its array ([packed]). The dictionary stores 16
// terms in a block; a term stores what differs from the one before:
//
//	first:  length (uvarint), bytes
//	others: length of the common prefix (uvarint), length of the rest (uvarint), rest
package columns
