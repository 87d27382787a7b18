// Package response writes answers.
//
// A [Writer] gives each write a deadline, compresses the answer if the client accepts that, and sets
// the headers of degraded answers. A handler
// sends its answer in one of three ways: whole if it is at hand ([WriteJSON], [WriteWhole]), as
// a [PagedBody] if its header depends on its end, or as a [Stream] if it may be of any
// length. [Negotiate] selects a media type by Accept (RFC 9110, section 12.5.1).
package response
