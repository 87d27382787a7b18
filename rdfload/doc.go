// Package rdfload loads RDF documents in bulk. A load may be far larger than memory, and enters a
// store as a whole or not at all.
//
// # The pipeline
//
//	read      [Source] -> units    one goroutine for each open input
//	work      units -> quads       Options.Workers, each with a dictionary of its own
//	seal      quads -> a run       terms ranked, quads sorted as ranks
//	write     a run -> tables      if the whole load is one run, or
//	          a run -> run files   if it is not, and then
//	merge     run files -> tables
//	publish   tables -> [Sink]     all at once
//
// Read: an input is decompressed and cut into units. N-Triples and N-Quads are cut into blocks of
// whole lines, and the workers parse them. One big file thereby keeps all processors busy. Other
// syntaxes are parsed by the reader, in units of a few thousand triples. Several inputs are read at
// the same time.
//
// Link files (package linkfile, Options.Links) are cut into units too, by pages or parts of long
// pages. A link is a triple of its page, a predicate and its target. A unit ends at a position of
// the reader, and a resumed load continues there, even in the middle of a list. If a page's whole
// list replaces an earlier one, the caller must find out beforehand which lists are the last
// (Links.Superseded). It must because a load only adds, in whatever order. Labels of links are
// counted but not loaded. Rows of a key must be equal in all runs of a load, and rows of
// annotations would not be.
//
// Work: a worker looks up the key form of each term in its dictionary. It keeps a statement as four
// numbers, 16 bytes. If the dictionary has a token, the token was checked before; only new ones are
// checked and decoded. The hash is seeded, because documents come from strangers.
//
// Seal: when the run has enough statements, or takes enough memory, one worker stops the others
// between two units. The terms of all dictionaries are sorted by multikey quicksort over windows of
// eight bytes (J. Bentley and R. Sedgewick, Fast Algorithms for Sorting and Searching Strings,
// 1997). If several dictionaries have the same term, it becomes one. Each term gets its rank. The
// order of the ranks is then the order of the space. Ids are replaced by ranks, and the quads are
// sorted by radix sort from the last digit, 11 bits at a time (D. Knuth, The Art of Computer
// Programming, vol. 3, 5.2.5). Because the sort is stable, it makes each order out of another with
// one position to sort by: SPO, GSPO from it, OSP from SPO, POS from OSP. The distinct terms are
// first copied in sorted order. Consecutive rows of an order then read memory at neighbouring
// places.
//
// Write: rows go to sorted tables, each order in one share for each worker. If a run is not the
// whole load, it goes to run files instead (see runfile.go). Their rows have prefixes cut off and
// are compressed lightly. When there are too many runs to be open at the same time, the runs of one
// level are merged into one of the next. At last all are merged, each order in several ranges, with
// a heap. Rows of one key become one because they are equal. Keys of order SPO are compared with
// the store's content at the beginning of the load. A triple is new if the store lacked it, and
// else a duplicate.
//
// # Memory
//
// Options.Memory bounds the memory of a load as the process sees it. Dictionaries, quads and the
// buffers of sorting are in arenas outside of the collector's heap. A page of an arena counts when
// it is first written. A run must be sealed before the arenas have touched the budget less an
// eighth (24 MiB at least). That eighth is left to blocks, tables and decompressors. The account
// includes what the units at work may still add. A run reader takes a quarter of a MiB, even if the
// terms are long, because values beyond 16 KiB stay in the file until their row is written.
//
// Not in the budget is the memory for a single line or token: some ten times its length, bounded by
// Options.MaxLine and the 16 MiB of a term. The windows of decompressors are not in it either, up
// to 128 MiB for each such compressed input, nor are documents of RDF/XML and JSON-LD. If a program
// loads with little memory, it must limit the collector's heap too
// ([runtime/debug.SetMemoryLimit]). Otherwise half of the heap is garbage when there are such
// lines.
//
// # Interruption
//
// Nothing is visible before Publish, because Publish makes all tables and the load's record visible
// together. Each load has its own directory under [Sink].Dir, with a manifest. The manifest must be
// replaced durably, and only after the files that it names are synced. At each run it records how
// far every input is in runs, and at each merged range which tables hold it. Files that it does not
// name do not count, and are overwritten. A load may stop by an error, when its context ends, or
// with its process. It can be resumed if its inputs and options are the same and at least one run
// is done. Finished inputs are not opened again. Plain files of lines are read from the recorded
// offset. Other inputs are read again up to there, without being sorted again. If a load stopped
// after it was published, it returns its record again.
//
// If nothing can be resumed, the directory is removed: after a malformed statement, because the
// document must change; if no run is done; if an input can be read only once. A new load removes
// the remains of an earlier one of the same inputs.
//
// # Errors
//
// Without KeepGoing a malformed statement ends the load. If a document has several, the error
// always names the first, because units have numbers. Of several documents, read at the same time,
// the error names the first statement that was found, because the others are not read to their
// ends. A read error, or compressed data that ends too soon, ends the load with that error, even if
// KeepGoing is set.
package rdfload
