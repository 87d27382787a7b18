// Package wire is the binary form of requests to a graph of links over HTTP, and of the answers.
// A message is about thousands of pages. Servers and clients share it. It is pure: no network,
// clock or goroutine.
//
// A number is a uvarint as in encoding/binary, of 10 bytes at most. Every message begins with
// four bytes and ends with one. Nothing may follow it:
//
//	+-----+-----+------+------+---------------------------+-----+
//	| 't' | 'L' | kind | 0x01 | as below                  | 'E' |
//	+-----+-----+------+------+---------------------------+-----+
//
// # Request
//
// Kind 'Q'. A field must be 0 if the endpoint does not use it.
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
// UIDs, in any order, are differences from the one before, modulo 2^64, as signed numbers in
// zigzag. The first is the difference from 0:
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
// After the four bytes comes the number of items, then the items. There must be one for each item
// of the request, in the same order:
//
//	'U'  UIDs, as above; 0 is a page that is not known
//	'T'  texts, URLs; "" is a page that is not known
//	'D'  degrees: a number each
//	'L'  lists
//	'M'  lists, each followed by its labels
//
// A list is its length and its UIDs, which must ascend. Each is the difference from the one
// before, and no difference is 0. The first is the difference from 0:
//
//	+--------+---------------+---------------+-----+
//	| length | first         | second - first| ... |
//	| number | number        | number        |     |
//	+--------+---------------+---------------+-----+
//
// If no link of a list has a label, its labels are a 0. Otherwise they are a 1 and a text for
// each link: empty, or the label in the form of package lists.
//
//	+------+        +------+--------+-------+-----+
//	| 0x00 |   or   | 0x01 | number | label | ... |
//	+------+        +------+--------+-------+-----+
//
// A reader must not trust any number. It takes memory only for data that has arrived.
package wire

import "errors"

// MediaType is the media type of all messages.
const MediaType = "application/vnd.trefoil.links"

// The errors of decoding. Test with errors.Is.
var (
	// ErrMalformed is wrapped if bytes are no message of the expected kind.
	ErrMalformed = errors.New("malformed message")
	// ErrTooMany is wrapped if a request has more items than the limit.
	ErrTooMany = errors.New("too many items")
)

// Kind is the kind of a message.
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
