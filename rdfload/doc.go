// Package rdfload loads RDF documents in bulk: any number of triples, far more
// than memory holds, enter a store at once or not at all.
//
// # The pipeline
//
//	read      [Source] -> units    one goroutine for each open input
//	work      units -> quads       Options.Workers, each with a dictionary of its own
//	seal      quads -> a run       terms ranked, quads sorted as ranks
//	write     a run -> tables      where the whole load is one run, or
//	          a run -> run files   where it is not, and then
//	merge     run files -> tables
//	publish   tables -> [Sink]     all at once
//
// Read: an input is decompressed and cut into units: of N-Triples and N-Quads
// blocks of whole lines, which the workers parse, so that one big file keeps all
// processors busy; of other syntaxes a few thousand triples, which the reader has
// parsed. Several inputs are read at a time.
//
// Link files (package linkfile, Options.Links) are read into units too, by pages or
// parts of long ones: a link is a triple of its page, a predicate and its target.
// A unit ends at a position of the reader, from which a resumed load reads on, in
// the middle of a list too. Where a page's whole list replaces an earlier one the
// caller has to know beforehand which lists are the last (Links.Superseded), for a
// load adds, whatever the order. Labels of links are counted and not loaded: rows
// of a key are equal in all runs of a load, and those of annotations would not be.
//
// Work: a worker looks up each term, as it stands in keys, in its dictionary and
// keeps a statement as four numbers, 16 bytes. A token that the dictionary knows
// has been checked before; only new ones are checked and decoded. The hash is
// seeded, since documents come from strangers.
//
// Seal: once the run has so many statements, or takes so much memory, one worker
// stops the others between two units. The terms of all dictionaries are sorted
// by multikey quicksort over windows of eight bytes (J. Bentley and R. Sedgewick,
// Fast Algorithms for Sorting and Searching Strings, 1997), equal ones of several
// dictionaries become one, and each gets its rank. From there on the order of the
// space is that of numbers: ids are replaced by ranks, and the quads are sorted by
// radix sort from the last digit, 11 bits at a time (D. Knuth, The Art of Computer
// Programming, vol. 3, 5.2.5). Being stable it makes each order out of another
// with one position to sort by: SPO, GSPO from it, OSP from SPO, POS from OSP.
// The distinct terms are copied in sorted order first, so that writing the rows
// of an order reads memory about where it read for the row before.
//
// Write: rows go to sorted tables, each order in as many shares as there are
// workers. A run that is not the whole load goes to run files instead (see
// runfile.go), with prefixes cut off and compressed lightly. When there are too
// many runs to be open at a time, those of one level are merged into one of the
// next. At last all are merged, each order in several ranges, with a heap; rows
// of one key, which are equal, become one. Keys of order SPO are compared with
// what the store held when the load began, which tells new triples from
// duplicates.
//
// # Memory
//
// Options.Memory bounds a load as a process sees it. Dictionaries, quads and the
// buffers of sorting are in arenas outside of the collector's heap, of which a page
// counts when it is first written; a run is sealed before they have touched the
// budget less an eighth (24 MiB at least) that is left to blocks, tables and
// decompressors. What the units at work may still add is part of the account.
// Run readers take a quarter of a MiB each, however long the terms: values beyond
// 16 KiB stay in the file until their row is written. Not in the budget is what a
// single line or token needs: some ten times its length, which Options.MaxLine
// and the 16 MiB of a term bound; the windows of decompressors, up to 128 MiB for
// each input that was compressed so; and documents of RDF/XML and JSON-LD. A
// program that loads with little memory sets a limit on the collector's heap too
// ([runtime/debug.SetMemoryLimit]), which is otherwise half garbage where there
// are such lines.
//
// # Interruption
//
// Nothing is visible before Publish, which makes all tables and the load's record
// visible together. Each load has a directory of its own under [Sink].Dir, with a
// manifest that is replaced, durably, after the files that it names are synced:
// at each run it says how far every input is in runs, and at each merged range
// which tables hold it. Files that it does not name are of no account, and
// overwritten. A load that stops by an error, by the end of its context or with
// its process can be resumed where its inputs and options are the same and some
// run is done: finished inputs are not opened again, plain files of lines are read
// from where they stopped, others are read again up to there without being sorted
// again. A load that stopped after it was published gives its record back.
//
// Where nothing can be resumed the directory is removed: after a malformed
// statement, for the document must change; where no run is done; where an input
// can be read once only. A new load removes what an earlier one of the same
// inputs has left.
//
// # Errors
//
// Without KeepGoing a malformed statement ends the load, and of one document it is
// always the first that is named, whichever worker met it. Of several documents,
// which are read at the same time, it is the first that was found: the others are
// not read to their ends for it. A read error, or compressed data that ends too
// soon, ends the load with that error, with KeepGoing too.
package rdfload
