// Package results writes and reads the results of SPARQL's SELECT and ASK: JSON,
// XML, CSV and TSV as the drafts of SPARQL 1.2 have them, and aligned
// tables for people. All of it streams: a [Writer] holds a buffer, not the
// solutions (a table looks at the first thousand to measure its columns), and a
// [Reader] one solution.
//
// If the formats leave a choice, it is made so:
//
//   - XML has no control characters but tab, line feed and carriage return, and
//     neither U+FFFE nor U+FFFF: the XML writer puts U+FFFD in their place. JSON
//     and TSV keep them.
//   - Invalid UTF-8 is written as U+FFFD.
//   - TSV writes integers, decimals and doubles without quotes if their
//     lexical form is one of that type in SPARQL.
//   - CSV loses the kinds of terms, their datatypes and languages. Its reader
//     makes plain strings of all fields but blank nodes (_:label); an empty one
//     is unbound.
//   - ASK in CSV and TSV, missing in the recommendation, is the line true or
//     false. A column of CSV with one of these names is quoted in the header.
//   - Blank node labels are read as other ones if N-Triples does not allow them.
package results
