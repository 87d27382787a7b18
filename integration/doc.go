// Package integration holds the tests of more than one package: the import
// graph here, and in sub-packages workloads, conformance suites and the binary
// as its users meet it.
package integration
