// Package dataset makes data and operations for measuring and testing trefoil. Everything it makes
// follows from a seed:
//
//   - [LUBM]: universities, their departments, people, courses and
//     publications, in the shape of the LUBM benchmark, with typed values and
//     language strings added;
//   - [BSBM]: product types, products, offers and reviews, in the shape of the
//     Berlin SPARQL Benchmark;
//   - [Texts]: products with long texts as descriptions and reviews;
//   - [Photos] and [Library]: two small applications, each an initial data set
//     and an endless stream of adds, deletes and searches. Package
//     internal/testing/drive runs them on a store, and internal/testing/oracle
//     judges its answers.
//
// # Guarantees
//
// The same kind, seed and size give the same bytes on every 64-bit machine and with any GOMAXPROCS.
// Random numbers come from math/rand/v2's PCG, no floating point is used, and nothing depends on
// the order of a map. Golden hashes in the tests keep the data from changing silently, because
// figures of a benchmark are worthless when its data has changed.
//
// A data set is a sequence of units (a department, a product, a user). A unit must depend only on
// the data set's seed and the unit's number. If
// two data sets have the same seed, the smaller one is a prefix of the larger one.
//
// All statements of a data set are distinct. Memory is constant. Package internal/dataset/linkgen
// makes a graph of web links.
//
// The package is a leaf: it writes statements as strings in N-Triples syntax, because it must test
// the other packages without depending on them.
package dataset
