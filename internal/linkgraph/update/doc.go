// Package update changes the links of a graph. The [Writer] changes triples and labels in the store; the
// [Replacer] divides updates, and replaces lists as the primary of their pages.
package update
