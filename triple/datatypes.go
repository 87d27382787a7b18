// The datatypes with values, and keys of dates and times.

package triple

import (
	"encoding/binary"
	"strings"

	"github.com/trefoildb/trefoil/triple/calendar"
)

// Namespaces, and the datatype IRIs with values.
const (
	XSD = "http://www.w3.org/2001/XMLSchema#"
	RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

	XSDString     = XSD + "string"
	XSDBoolean    = XSD + "boolean"
	XSDInteger    = XSD + "integer"
	XSDDecimal    = XSD + "decimal"
	XSDFloat      = XSD + "float"
	XSDDouble     = XSD + "double"
	XSDDateTime   = XSD + "dateTime"
	XSDDate       = XSD + "date"
	XSDTime       = XSD + "time"
	RDFLangString = RDF + "langString"

	RDFDirLangString = RDF + "dirLangString"

	RDFType  = RDF + "type"
	RDFFirst = RDF + "first"
	RDFRest  = RDF + "rest"
	RDFNil   = RDF + "nil"

	RDFReifies = RDF + "reifies"
)

// numericTypes lists the XSD numeric datatypes by local name in code point order. A datatype's code
// in a key is its index + 1. The list must never be reordered, because it is part of the key
// format.
var numericTypes = [...]string{
	XSD + "byte",
	XSD + "decimal",
	XSD + "double",
	XSD + "float",
	XSD + "int",
	XSD + "integer",
	XSD + "long",
	XSD + "negativeInteger",
	XSD + "nonNegativeInteger",
	XSD + "nonPositiveInteger",
	XSD + "positiveInteger",
	XSD + "short",
	XSD + "unsignedByte",
	XSD + "unsignedInt",
	XSD + "unsignedLong",
	XSD + "unsignedShort",
}

// Codes of the numeric datatypes with their own lexical space.
const (
	codeDecimal = 2
	codeDouble  = 3
	codeFloat   = 4
	codeInteger = 6
)

// numericCode returns the code of a numeric datatype, or 0 for any other IRI.
func numericCode(datatype string) byte {
	// A code must be the index in numericTypes plus one.
	const prefix = len(XSD)
	if len(datatype) <= prefix || datatype[:prefix] != XSD {
		return 0
	}
	switch datatype[prefix:] {
	case "integer":
		return codeInteger
	case "decimal":
		return codeDecimal
	case "double":
		return codeDouble
	case "float":
		return codeFloat
	case "byte":
		return 1
	case "int":
		return 5
	case "long":
		return 7
	case "negativeInteger":
		return 8
	case "nonNegativeInteger":
		return 9
	case "nonPositiveInteger":
		return 10
	case "positiveInteger":
		return 11
	case "short":
		return 12
	case "unsignedByte":
		return 13
	case "unsignedInt":
		return 14
	case "unsignedLong":
		return 15
	case "unsignedShort":
		return 16
	}
	return 0
}

// knownDatatype returns the program's own string of a well-known datatype IRI.
func knownDatatype(datatype string) (string, bool) {
	if code := numericCode(datatype); code != 0 {
		return numericTypes[code-1], true
	}
	switch datatype {
	case XSDString:
		return XSDString, true
	case RDFLangString:
		return RDFLangString, true
	case RDFDirLangString:
		return RDFDirLangString, true
	case XSDBoolean:
		return XSDBoolean, true
	case XSDDateTime:
		return XSDDateTime, true
	case XSDDate:
		return XSDDate, true
	case XSDTime:
		return XSDTime, true
	}
	return "", false
}

// Dates and times sort by instant. Their bytes are
//
//	+-------------------------------+---------------------+
//	| seconds, 8 bytes, big-endian, | fraction of a second|
//	| sign bit flipped              | digit pairs, end 0  |
//	+-------------------------------+---------------------+
//
// Seconds count from 1970-01-01T00:00:00Z without leap seconds. They are rounded down, because the
// fraction must always add. If a time zone is missing, the key is as for UTC. A date is its first
// instant; a time is on 1970-01-01. If a year has more than eleven digits, the literal has no value
// and sorts among the other literals (XSD 1.1 part 2, 5.4, allows a limit).

const maxYearDigits = 11

// appendInstant appends the bytes of an xsd:dateTime, xsd:date or xsd:time. If lexical is not one
// (XSD 1.1 part 2, 3.3.7 to 3.3.9), ok is false and dst is unchanged.
func appendInstant(dst []byte, datatype, lexical string) (_ []byte, ok bool) {
	in := instantParser{rest: lexical, ok: true}
	var days, seconds int64
	if datatype != XSDTime {
		days = in.date()
	}
	if datatype == XSDDateTime {
		in.literal("T")
	}
	fraction := ""
	if datatype != XSDDate {
		seconds, fraction = in.time()
		if datatype == XSDTime && seconds == 24*3600 {
			seconds = 0
		}
	}
	seconds -= in.zone()
	if !in.ok || in.rest != "" {
		return dst, false
	}
	total := days*24*3600 + seconds
	dst = binary.BigEndian.AppendUint64(dst, uint64(total)^1<<63)
	return appendPairs(dst, strings.TrimRight(fraction, "0")), true
}

// instantParser parses the parts of a date or time. ok becomes false at the first wrong part, and
// stays false.
type instantParser struct {
	rest string
	ok   bool
}

func (in *instantParser) literal(s string) {
	if !strings.HasPrefix(in.rest, s) {
		in.ok = false
		return
	}
	in.rest = in.rest[len(s):]
}

// twoDigits parses exactly two digits.
func (in *instantParser) twoDigits() int64 {
	if len(in.rest) < 2 || skipDigits(in.rest[:2], 0) != 2 {
		in.ok = false
		return 0
	}
	n := int64(in.rest[0]-'0')*10 + int64(in.rest[1]-'0')
	in.rest = in.rest[2:]
	return n
}

// date parses a year, month and day and returns the days since 1970-01-01.
func (in *instantParser) date() int64 {
	// 1. The year: at least four digits, and no leading zero if there are more.
	negative := strings.HasPrefix(in.rest, "-")
	if negative {
		in.rest = in.rest[1:]
	}
	n := skipDigits(in.rest, 0)
	if n < 4 || n > maxYearDigits || n > 4 && in.rest[0] == '0' {
		in.ok = false
		return 0
	}
	var year int64
	for i := range n {
		year = year*10 + int64(in.rest[i]-'0')
	}
	if negative {
		year = -year
	}
	in.rest = in.rest[n:]
	// 2. The month and the day, which depend on each other.
	in.literal("-")
	month := in.twoDigits()
	in.literal("-")
	day := in.twoDigits()
	if month < 1 || month > 12 || day < 1 || day > calendar.DaysIn(year, month) {
		in.ok = false
		return 0
	}
	return calendar.Days(year, month, day)
}

// time parses hh:mm:ss with an optional fraction. 24:00:00 is the end of the day.
func (in *instantParser) time() (seconds int64, fraction string) {
	hour := in.twoDigits()
	in.literal(":")
	minute := in.twoDigits()
	in.literal(":")
	second := in.twoDigits()
	if strings.HasPrefix(in.rest, ".") {
		n := skipDigits(in.rest, 1)
		if n == 1 {
			in.ok = false
			return 0, ""
		}
		fraction = in.rest[1:n]
		in.rest = in.rest[n:]
	}
	// 24:00:00 is allowed only without a fraction.
	endOfDay := hour == 24 && minute == 0 && second == 0 && strings.Trim(fraction, "0") == ""
	if hour > 23 && !endOfDay || minute > 59 || second > 59 {
		in.ok = false
	}
	return hour*3600 + minute*60 + second, fraction
}

// zone parses an optional time zone up to the end. It returns its offset in seconds, or 0 if there
// is none.
func (in *instantParser) zone() int64 {
	switch {
	case in.rest == "":
		return 0
	case in.rest == "Z":
		in.rest = ""
		return 0
	}
	sign := int64(1)
	if in.rest[0] == '-' {
		sign = -1
	} else if in.rest[0] != '+' {
		in.ok = false
		return 0
	}
	in.rest = in.rest[1:]
	hours := in.twoDigits()
	in.literal(":")
	minutes := in.twoDigits()
	if minutes > 59 || hours > 14 || hours == 14 && minutes != 0 {
		in.ok = false
	}
	return sign * (hours*3600 + minutes*60)
}

// writtenInstantLen returns the length of an instant's written bytes (with their escapes) at the
// start of body, or 0 if there are none.
func writtenInstantLen(body []byte) int {
	for i := skipUnits(body, 0, 8); i >= 0 && i < len(body); {
		c := body[i]
		if i = skipUnits(body, i, 1); c == 0 {
			return max(0, i)
		}
	}
	return 0
}
