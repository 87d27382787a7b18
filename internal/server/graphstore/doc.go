// Package graphstore answers for whole graphs, under /data, by the SPARQL 1.1 Graph Store HTTP
// Protocol (https://www.w3.org/TR/sparql11-http-rdf-update/).
//
// A request names its graph by its own URL or by a parameter. PUT, POST and DELETE are one
// change of the store each. If-Match and If-None-Match may require that a graph exists or not.
package graphstore
