// What this package answers.

// Package prefixes has the endpoint /prefixes: the names of IRIs that the store keeps. See
// internal/prefixes.
package prefixes
