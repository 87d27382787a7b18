// What this package is for.

// Package textcall joins rows with the literals that a text search finds: [Join].
package textcall
