// What this package answers.

// Package text has the endpoints /search and /text: searches of literals, and the indexed predicates. See
// internal/textsearch.
package text
