// Package node embeds a trefoil store in a Go program, or serves one.
//
// [Open] opens a data directory in this process:
//
//	db, err := node.Open("data", node.Options{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	if _, err := db.LoadFiles(ctx, "people.ttl"); err != nil {
//		return err
//	}
//	for s, err := range db.Query(ctx, `SELECT ?name { ?who <http://example.org/name> ?name }`, node.QueryOptions{}) {
//
// A [Store] loads files and readers of any RDF syntax, adds and deletes triples, yields
// the triples of patterns and ranges in order, and runs SPARQL. Its graph of hyperlinks
// is a [links.Graph]. It is a [client.Store], so a program can hold an embedded store or a
// server behind one variable.
//
// [Serve] runs a lone server or the member of a cluster with its HTTP endpoints until its
// context ends, as the command trefoil serve does.
//
// # How data flows
//
// An embedded store is one Pebble database with all orders of its triples. A served node
// adds the member of a cluster around it, which exchanges rows with other machines, and
// the endpoints above it:
//
//	Open    Store  -> query engine, link graph -> store
//	Serve   HTTP endpoints -> query engine, link graph -> member -> store
package node
