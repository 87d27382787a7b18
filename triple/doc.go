// Package triple has the basic types of trefoil: RDF 1.2 terms and triples, the orders of rows,
// their bytes in keys and values, the patterns and bounds that select them, and N-Triples and
// N-Quads text. It has no goroutine, clock, file or socket. Of trefoil it imports only its own
// packages below.
//
// # Laws
//
// For all triples a and b and every order o that holds them,
//
//	bytes.Compare(key(o, a), key(o, b)) == o.Compare(a, b)
//	decode(key(o, a), value(a)) == (o, a)
//
// where o.Compare compares term by term, and terms compare by
//
//	kind         blank node < IRI < literal < triple term
//	blank node   label
//	IRI          code points
//	literal      class, then as the class has it:
//	  number         exact value (-INF < all < INF < NaN, -0 = 0), datatype, lexical form
//	  boolean        false < true, lexical form
//	  dateTime       instant (without a zone: as UTC), lexical form
//	  date           first instant, lexical form
//	  time           instant of 1970-01-01, lexical form
//	  string         code points
//	  lang. string   code points, tag in lower case; a base direction is the end of its tag: ar--rtl
//	  other          datatype, lexical form; ill-typed literals too
//	triple term  subject, predicate, object
//
// and no graph comes before any. Long terms (below) compare like their form in a key. Two terms
// compare 0 only if they are the same term: "01" and "1" stay two different terms.
//
// # Keys
//
// A key is the order and three or four terms, the graph only if there is one:
//
//	+-------+--------+-------+--------+-------+--------+ - - - - - - - - +
//	| order | term 1 | 00 01 | term 2 | 00 01 | term 3 | 00 01 | term 4  |
//	+-------+--------+-------+--------+-------+--------+ - - - - - - - - +
//	 01 SPO  subject          predicate        object            graph
//	 02 POS  predicate        object           subject           graph
//	 03 OSP  object           subject          predicate         graph
//	 04 GSPO graph            subject          predicate         object
//
// SPO, POS and OSP hold every triple; GSPO holds only triples of named graphs.
//
// A term is a tag and a body:
//
//	+-----+-----------------------------------------------------------+
//	| 10  | label                                                     | blank node
//	| 20  | IRI                                                       | IRI
//	| 30  | number | datatype's code, 1 byte | lexical form           | number
//	| 31  | 01 false, 02 true | lexical form                          | boolean
//	| 32  | instant | lexical form                                    | dateTime
//	| 33  | instant | lexical form                                    | date
//	| 34  | instant | lexical form                                    | time
//	| 35  | lexical form                                              | string
//	| 36  | lexical form | 00 03 | tag | 00 03 | tag                  | language string
//	| 37  | datatype | 00 03 | lexical form                           | other literal
//	| 40  | subject | 00 03 | predicate | 00 03 | object              | triple term
//	+-----+-----------------------------------------------------------+
//
// The terms of a triple term are whole: tag and body. Its subject and its predicate never have 00
// 03, so only the object may have more of them, and it may be a triple term itself. All triple terms
// of one subject, and of one subject and predicate, lie together, in the order of their objects.
//
// The tag of a language string stands there twice, because earlier releases kept it as written behind the form in lower case.
// Their rows are decoded as they are.
//
// The codes of numeric datatypes are 01 byte, 02 decimal, 03 double, 04 float, 05 int, 06 integer,
// 07 long, 08 negativeInteger, 09 nonNegativeInteger, 0A nonPositiveInteger, 0B positiveInteger, 0C
// short, 0D unsignedByte, 0E unsignedInt, 0F unsignedLong, 10 unsignedShort: the order of their
// names.
//
// A number is the largest double that is not above it, with its bits changed to sort as bytes (sign
// bit flipped; below zero all bits flipped; NaN all FF). If its value is not exactly that double,
// the exact decimal 0.d1d2d3d4... x 10^exponent follows:
//
//	+------------------------+----+
//	| ordered double, 8 bytes| 00 |                                       exactly that
//	+------------------------+----+----------------------+------+ - +----+
//	| ordered double, 8 bytes| 01 | exponent+2^31, 4 B   | d1d2+1 ...| 00 |  above it
//	+------------------------+----+----------------------+------+ - +----+
//
// Below zero the decimal's bytes are complemented, including its end. An instant is the seconds
// since 1970-01-01T00:00:00Z, rounded down, and the digits of the rest:
//
//	+------------------------+------+ - +----+
//	| seconds+2^63, 8 bytes  | d1d2+1 ...| 00 |
//	+------------------------+------+ - +----+
//
// In a body a byte 00 is written 00 FF. A 00 is therefore never alone, and the byte after it
// determines its meaning:
//
//	00 01   end of a term; another follows
//	00 02   a long term: its hash follows
//	00 03   end of a field of the body
//	00 04   end of the key: an annotation's application ID follows
//	00 FF   a byte 00
//
// The marks must be less than 00 FF and than every other byte. If a term is the beginning of
// another, it then sorts before it, whatever follows in the key.
//
// A unit of a body is one byte, escaped or not, or one 00 03. A term is long if it has more than
// 1024 units. In a key it is its first 256 units and the beginning of the SHA-256 of the whole
// written term (tag, body, escapes):
//
//	+-----+-----------+-------+----------------------------+
//	| tag | 256 units | 00 02 | 16 bytes of hash, 00 as ever|
//	+-----+-----------+-------+----------------------------+
//
// # Values
//
// The value of a triple's row is its stamp and the whole written form of its long terms. It holds
// both because every row must be able to regenerate the triple's other rows:
//
//	+-------+--------------+-----------------+ - - - - - - - - - - - - - +
//	| flags | epoch uvarint| sequence uvarint| length uvarint | written  | of each long term
//	+-------+--------------+-----------------+ - - - - - - - - - - - - - +
//	 bit 0 tombstone   bit 1 annotation   bit 2 a second stamp follows the first
//	 bits 4 5 6 7: subject, predicate, object, graph is long
//
// The second stamp of a row is the stamp of the last delete before it. Only machines of a cluster
// write it, and they need not have the same one. It is necessary because an annotation from before
// the delete may arrive late ([Value].Deleted).
//
// # Annotations
//
// An annotation is a row of its own, after the row of its triple. Keys between the two must begin
// with the triple's key (for example the same triple in named graphs):
//
//	key:    +---------------+-------+----------------+    value: +----+-------+----------+------+
//	        | triple's key  | 00 04 | application ID |           | 02 | epoch | sequence | data |
//	        +---------------+-------+----------------+           +----+-------+----------+------+
//
// In a cluster the value has two stamps. If the annotation was removed, its tombstone has two
// stamps too, but no data. The second stamp is the stamp of the annotated row ([Annotation].On):
//
//	+----+-------+----------+-------+----------+------+    +----+-------+----------+-------+----------+
//	| 06 | epoch | sequence | epoch | sequence | data |    | 07 | epoch | sequence | epoch | sequence |
//	+----+-------+----------+-------+----------+------+    +----+-------+----------+-------+----------+
//
// The files of testdata/golden pin all of this in hexadecimal.
//
// # Text
//
// [Scanner] reads N-Triples and N-Quads triple by triple. It uses [BlockReader] and [Block];
// programs may use these directly if they parse one document on several cores or need tokens before
// they are decoded. [AppendNQuad] writes the canonical form. [ParseTerm], [ParsePattern] and
// [ParseStarts] parse the input of users.
package triple
