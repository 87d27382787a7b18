// Package memory counts the bytes held by the operators of a query, and enforces its limit.
//
// A query has one [Account]; each operator has a [Holder], its part of the account. An operator
// calls [Holder.Grow] before it holds more. If that fails with [ErrMemory], the operator goes on in
// temporary files or ends the query.
package memory
