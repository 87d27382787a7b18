// Package workload makes the data and the operations that trefoil is measured
// and tested with. Everything it makes follows from a seed:
//
//   - [LUBM]: universities, their departments, people, courses and
//     publications, in the shape of the LUBM benchmark, with typed values and
//     language strings added;
//   - [Texts]: products whose descriptions and reviews are long texts;
//   - [Photos] and [Library]: two small applications, each an initial data set
//     and an endless stream of adds, deletes and searches. [Model] computes
//     what each search must answer, and [Oracle] judges the answers of a store that
//     several clients use at once and that may fail. Package drive runs them.
//
// # What is promised
//
// The same kind, seed and size give the same bytes on every 64-bit machine and
// with any GOMAXPROCS: random numbers come from math/rand/v2's PCG, no floating
// point is used, and nothing depends on the order of a map. Golden hashes in the
// tests keep the data from changing silently, because a benchmark's figures are
// worth nothing once its data has moved.
//
// A data set is a sequence of units (a department, a product, a user).
// A unit is made from a seed derived from the data set's seed and the unit's
// number, and from nothing else, and its number of statements is known without
// making it. Hence a part of the sequence is made without what precedes it
// ([Generator.Parts]), and a smaller data set of a seed is a prefix of every
// larger one.
//
// All statements of a data set are distinct. Memory is constant. A graph of web
// links is made by package links/gen.
//
// The package is a leaf: it describes statements as strings in N-Triples
// syntax, so that it tests the other packages without resting on them.
package workload
