// Package problem holds the error that crosses the wire: a kind, a message, a place, and the
// HTTP status of the kind.
//
// Handlers return any error. [As] makes it an [Error]: an Error stays as it is, and errors of
// the store, the engine and the parsers get the kind that clients know them by. An error with
// no kind is internal, because it must be a bug or a failing disk.
package problem
