// Package changes answers /changes: the change feed as a stream.
//
//	request -> feed.Request -> feed.Source -> batches -> expand loads -> format -> compress -> client
//
// There are three formats: Server-Sent Events (WHATWG HTML, section 9.2), JSON lines, and RDF Patch
// (Apache Jena). The last change of each batch carries the position at which a client continues. An
// answer that fails ends with a line that names the error, and its connection is aborted.
package changes
