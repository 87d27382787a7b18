// Package idempotency makes a change once, if its request is sent again with the same
// Idempotency-Key.
//
// [Keys] remembers the answers of some minutes in memory. The store remembers what was done, so
// that a second try is recognized after a restart or on another machine.
package idempotency
