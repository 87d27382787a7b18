// Package wire is the binary form of what is asked of a graph of links over HTTP
// and of the answers: for thousands of pages a message. Servers and clients share
// it. It is pure: no network, clock or goroutine.
//
// A number is a uvarint as in encoding/binary, of 10 bytes at most. Every message
// begins with four bytes and ends with one, and nothing follows it:
//
//	+-----+-----+------+------+---------------------------+-----+
//	| 't' | 'L' | kind | 0x01 | as below                  | 'E' |
//	+-----+-----+------+------+---------------------------+-----+
//
// # Request
//
// Kind 'Q'. The fields that a door has no use for are 0.
//
//	+------+-----------+-------+------+-------+--------+--------+---------+---------+
//	| form | direction | flags | mode | class | sample | seed   | count   | items   |
//	| u8   | u8        | u8    | u8   | u8    | number | number | number  |         |
//	+------+-----------+-------+------+-------+--------+--------+---------+---------+
//
//	form       1: the items are UIDs; 2: they are texts, URLs
//	direction  0 forward, 1 backward
//	flags      bit 0: labels are wanted
//	mode       of samples: 0 random, 1 consistent
//	class      of samples: 0 all, 1 inter-host, 2 inter-domain
//	sample     how many links of each page are wanted
//
// UIDs, in any order, are the differences from the one before, modulo 2^64, as
// signed numbers in zigzag; before the first is 0:
//
//	+------------------+-----+
//	| zigzag(u - u')   | ... |     zigzag(d) = d << 1 ^ d >> 63
//	| number           |     |
//	+------------------+-----+
//
// A text is its length and its bytes:
//
//	+--------+-------+-----+
//	| number | bytes | ... |
//	+--------+-------+-----+
//
// # Answers
//
// After the four bytes comes the number of items, as many as were asked about and in
// their order, then the items:
//
//	'U'  UIDs, as above; 0 is a page that is not known
//	'T'  texts, URLs; "" is a page that is not known
//	'D'  degrees: a number each
//	'L'  lists
//	'M'  lists, each followed by its labels
//
// A list is its length and its UIDs, which ascend, as the differences from the one
// before, none of which is 0; before the first is 0:
//
//	+--------+---------------+---------------+-----+
//	| length | first         | second - first| ... |
//	| number | number        | number        |     |
//	+--------+---------------+---------------+-----+
//
// The labels of a list are a 0 where no link has any, else a 1 and for each link a
// text: empty, or the label as package lists writes it.
//
//	+------+        +------+--------+-------+-----+
//	| 0x00 |   or   | 0x01 | number | label | ... |
//	+------+        +------+--------+-------+-----+
//
// A reader trusts no number that it reads: it takes memory for what has come, and
// no more.
package wire

import "errors"

// MediaType is that of all messages.
const MediaType = "application/vnd.trefoil.links"

// Errors of decoding; test with errors.Is.
var (
	// ErrMalformed says that bytes are no message of the kind that was expected.
	ErrMalformed = errors.New("malformed message")
	// ErrTooMany says that a request has more items than are taken.
	ErrTooMany = errors.New("too many items")
)

// Kind is that of a message.
type Kind byte

// The kinds of messages.
const (
	Query         Kind = 'Q'
	UIDs          Kind = 'U'
	URLs          Kind = 'T'
	Degrees       Kind = 'D'
	Lists         Kind = 'L'
	LabelledLists Kind = 'M'
)

const (
	version   = 1
	endMark   = 'E'
	headBytes = 4
)

func appendHead(dst []byte, k Kind) []byte { return append(dst, 't', 'L', byte(k), version) }
