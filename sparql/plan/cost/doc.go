// Package cost estimates how many rows the parts of a query have, and what it costs to read them.
//
// An [Estimator] requests the rows of ranges and samples from the source, and keeps the answers. A [Candidate] is a triple
// pattern with what is known of its rows: their number, and how many terms they have at each place. If the source has
// a [Column] of the pattern, the numbers are exact, and nothing is requested.
//
// Filters become restrictions of patterns here: ranges of keys, or the literals that an index finds.
package cost
