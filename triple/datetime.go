// Keys of dates and times.

package triple

import (
	"encoding/binary"
	"strings"

	"github.com/trefoildb/trefoil/triple/calendar"
)

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
