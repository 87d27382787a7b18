// What this package is for.

// Package drive runs the operations of package dataset on a store, and an oracle judges the
// answers. A [Driver] holds the oracle of one application. It may serve several clients at once. A
// [Store] is one way to a store: [OverHTTP] is that of the Go client; tests of clusters have their
// own.
//
// An operation may fail. If its answer is complete but wrong, the error is [ErrWrong].
package drive
