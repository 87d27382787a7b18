// Package input finds the documents that a user names and opens them: files,
// directories, globs and standard input, decompressed by their content.
//
// In a directory, searched through and through in sorted order, those files count
// whose name tells an RDF syntax (see [syntax.ByFile]); names that start with '.'
// do not. A file that is named itself counts whatever its name.
//
// gzip, bzip2, zstd and xz are told by their first bytes, never by the name.
// Concatenated members are read as one document. A compressed stream that ends
// too soon is [ErrTruncated], never the document's end.
//
// Limits hold against decompression bombs: on what comes out for what goes in
// ([Limits].MaxRatio), on the whole ([Limits].MaxBytes), and on the window that a
// stream makes the decompressor keep (128 MiB).
package input
