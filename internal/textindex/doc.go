// What a text index is, its formats, and how its parts work together.

// Package textindex is the core of text search: the analysis of literals by language, the query
// language, immutable segments of postings, and the search for the best documents by BM25.
//
// A [Document] is a literal. A [Segment] has the documents of one predicate in one partition, in the
// order of the hashes of their keys. A [Builder] makes one, [Merge] makes one of several, and [Open]
// opens its bytes. A [Part] is a segment with its deleted documents. A [Query] is parsed by [Parse].
//
//	documents -> Builder -> Segment -> Merge -> Segment        Collect: statistics of the query's words
//	                           |                                  |
//	                         Parts  <---------------------------- Search: the best documents, or a page
//
// # Scores
//
// Scores are BM25 (Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009)
// with k1 = 1.2 and b = 0.75. [Collect] counts documents, tokens and document frequencies of some parts.
// These [Stats] add up, so the sum over the machines of a cluster gives the scores of one index. The
// counts of deleted documents are subtracted exactly: a part keeps a second segment of them.
// If scores are equal, the lower hash of the key comes first, and then the lower key.
//
// A search divides the documents into windows that end with a block of 128 postings, and skips a window if the
// greatest scores of its blocks add up to too little (Ding, Suel: Faster Top-k Document Retrieval Using Block-Max
// Indexes, 2011). In a window the words with low scores are advanced only at candidates of the others (MaxScore:
// Turtle, Flood: Query Evaluation: Strategies and Optimizations, 1995). A conjunction is led by its rarest word. A document
// of the leading word is tested by its length before the others are looked at: terms share its words (reach.go).
//
// # Memory
//
// A search reads one part and one language at a time. It has some 2 KB for each word of the query, 150 bytes for each
// term that a prefix or a fuzzy word stands for (at most [MaxExpansions]), and 33 KB for each of these (at most
// [MaxExpanded]). So the longest query takes less than 80 MiB, beside its hits.
//
// # Terms
//
// A term is the primary subtag of the literal's language, a byte 0 and the analyzed word. So a word is
// analyzed once for each language that the index has, and a language is a range of terms.
//
// # Trigrams
//
// A segment may have trigrams, too: three neighbouring characters of a folded text (trigram.go). The term of a trigram is
// a byte 1 and its characters in UTF-8. Its postings have frequency 1 and no positions, and count neither as tokens nor
// for scores. [Candidates] finds the documents that have all trigrams of a text: all that contain it, in any case, and
// perhaps others (Cox: Regular Expression Matching with a Trigram Index, 2012).
//
// # Format of a segment
//
// Integers are little-endian. Sections begin one after the other. The documents come last, because
// they may stay in a file:
//
//	+------------------------------------------------------------------+
//	| "trefoil text 2\n" and a byte 0                                  |
//	+------------------------------------------------------------------+
//	| uint32 documents, terms, term blocks, languages, document blocks |
//	| uint32 partition, uint32 flags: 1 if there are trigrams          |
//	| uint64 tokens, and the bytes of each section below               |
//	+------------------------------------------------------------------+
//	| predicate                                                        |
//	| languages: uvarint length and tag of each                        |
//	| term index: for each block uint64 offset in terms, postings and  |
//	|   positions                                                      |
//	| terms: blocks of 16, see below                                   |
//	| postings: a list for each term, see below; 8 bytes of zero       |
//	| positions: for each posting uvarints, the gaps between positions |
//	| hashes: uint64 for each document                                 |
//	| lengths: uint32 for each document, its tokens                    |
//	| tags: uint16 for each document, its language                     |
//	| document index: uint32 first document, uint64 offset, uint32     |
//	|   bytes and uint32 bytes before compression of each block        |
//	+------------------------------------------------------------------+
//	| XXH64 of all above                                               |
//	+------------------------------------------------------------------+
//	| blocks of documents: XXH64 and zstd of uvarint length and key    |
//	+------------------------------------------------------------------+
//
// A term of a block is uvarint length of the prefix shared with the term before, uvarint length and
// bytes of the rest, and uvarint document frequency, bytes of postings and bytes of positions.
//
// A list of postings has full blocks of 128, and a rest:
//
//	+--------------------------------------------------------------------------+
//	| of each full block: uint32 last document, end of its bytes, start of its |
//	|   positions; 4 pairs of uint16 frequency and uint16 length, so that each |
//	|   document has a pair with no lower frequency and no greater length      |
//	+--------------------------------------------------------------------------+
//	| full blocks: uint8 width of gaps, uint8 width of frequencies, gaps - 1   |
//	|   and frequencies - 1 packed by bits                                     |
//	+--------------------------------------------------------------------------+
//	| the rest, if any: uvarint start of its positions, greatest frequency,    |
//	|   least length; for each posting uvarint (gap - 1) * 2 + (1 if the       |
//	|   frequency is 1), and else uvarint frequency - 2                        |
//	+--------------------------------------------------------------------------+
package textindex
