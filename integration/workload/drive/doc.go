// What this package is for.

// Package drive carries out the operations of package workload on a store and has an
// oracle judge the answers. A [Driver] holds the oracle of one application, whose
// clients it may serve at once. A [Store] is one way to a store: [OverHTTP] is that
// of the Go client; a test of clusters has one of its own.
//
// An operation may fail. A complete answer may not be wrong: it then is an [ErrWrong].
package drive
