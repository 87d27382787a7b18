// The package comment.

// Package oracle judges the answers of a store to the operations of package dataset.
//
//   - [Model] computes the one right answer to a search, if a single client uses the store.
//   - [Oracle] judges answers if several clients use the store at once, and if some changes
//     have an unknown outcome. It keeps two models: the statements that must be in the store,
//     and those that may be.
//   - [Bank] and [GrowingSet] check isolation: each read must see one state of the store.
//
// Package drive runs an application's operations on a store and passes the answers to an
// Oracle. The package shares no code with the store, because it must not repeat a mistake of
// the store.
package oracle
