// Package input finds and opens documents that a user names: files, directories, globs and standard
// input. It decompresses them by their content.
//
// If an argument is a directory, it is searched recursively in sorted order. A file in it counts if
// its name has the suffix of an RDF syntax (see [syntax.ByFile]), unless the name starts with '.'.
// A file that is named itself counts whatever its name.
//
// gzip, bzip2, zstd and xz are detected by their first bytes, never by the name. Concatenated
// members are read as one document. Zeros behind the last member of gzip are padding; all other bytes
// there are an error. If a compressed stream ends too soon, the error is
// [ErrTruncated]; it is never the document's end.
//
// Limits protect against decompression bombs. They bound the ratio of output to input
// ([Limits].MaxRatio), the whole output ([Limits].MaxBytes), and the decompressor's window (128
// MiB).
package input
