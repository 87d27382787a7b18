// Package linkrows reads links from the rows of a store.
//
// A cell has one list for each page, of the links of all graphs (package linkgraph). So a user who may read some graphs
// only is answered from rows: those of a reader of these graphs (package graphrights). [Graph] does that. UIDs are those
// that pages have in the whole graph of links, but a page without a link in the rows is unknown.
//
//	pages -> URLs -> ranges of SPO or POS -> rows, without others' graphs -> URLs -> UIDs -> lists
package linkrows
