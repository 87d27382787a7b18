// Package rdflib compares the answers of package sparql, over a store and over
// memory, with those of rdflib, a SPARQL engine written by others, on random
// graphs, queries and updates. scripts/clients.sh installs rdflib.
//
// oracle.py runs rdflib and corrects what it does against the specification; the
// table of deviations_test.go names each correction with the section, and a query
// that shows it. The generator leaves out what the specification leaves open.
package rdflib
