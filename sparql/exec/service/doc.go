// Package service is the operator of SERVICE (SPARQL 1.1 Federated Query).
//
// A [Join] sends the pattern with a block of its input's rows to an endpoint, and joins the answer
// with these rows as it arrives.
package service
