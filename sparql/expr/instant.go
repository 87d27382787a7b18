// Dates, times and their parts.

package expr

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"github.com/trefoildb/trefoil/triple/calendar"
)

// Dates and times (XSD 1.1 part 2, 3.3.7 to 3.3.9 and appendix E), in the
// proleptic Gregorian calendar with a year 0, without leap seconds. Years have
// at most eleven digits, as in the keys of package triple.

const (
	maxYearDigits = 11
	maxYear       = 99_999_999_999
	secondsOfDay  = 24 * 3600
	zoneSpan      = 14 * 3600 // no zone is further from UTC
)

// parseInstant reads an xsd:dateTime, xsd:date or xsd:time.
func (v *Value) parseInstant(s string, kind Kind) bool {
	p := instantParser{rest: s, ok: true}
	// 1. Read the date and the time, as the kind has them. 24:00:00 is the begin of the next day.
	var days, seconds int64
	if kind != Time {
		days = p.date()
	}
	if kind == DateTime {
		p.literal('T')
	}
	fraction := ""
	if kind != Date {
		seconds, fraction = p.clock()
		if kind == Time && seconds == secondsOfDay {
			seconds = 0
		}
	}
	// 2. Read the zone. Nothing may follow.
	zone := p.zone()
	if !p.ok || p.rest != "" || len(fraction) > maxDigits {
		return false
	}
	// 3. The value is in UTC. An instant without a zone is kept as it was written.
	v.n = days*secondsOfDay + seconds
	v.zone = zone
	if zone != noZone {
		v.n -= int64(zone) * 60
	}
	v.setFraction(strings.TrimRight(fraction, "0"))
	return true
}

// setFraction sets the fraction of a second from its digits.
func (v *Value) setFraction(digits string) {
	v.nanos, v.big = 0, nil
	for i := range 9 {
		v.nanos *= 10
		if i < len(digits) {
			v.nanos += uint32(digits[i] - '0')
		}
	}
	if len(digits) > 9 {
		v.big = new(apd.Decimal)
		v.big.Coeff.SetString(digits, 10)
		v.big.Exponent = -int32(len(digits))
	}
}

// instantParser reads the parts of a date or time; ok stays false after the first wrong part.
type instantParser struct {
	rest string
	ok   bool
}

func (p *instantParser) literal(c byte) {
	if p.rest == "" || p.rest[0] != c {
		p.ok = false
		return
	}
	p.rest = p.rest[1:]
}

func (p *instantParser) twoDigits() int64 {
	if len(p.rest) < 2 || !allDigits(p.rest[:2]) {
		p.ok = false
		return 0
	}
	n := int64(p.rest[0]-'0')*10 + int64(p.rest[1]-'0')
	p.rest = p.rest[2:]
	return n
}

// digits reads a run of digits.
func (p *instantParser) digits() string {
	n := 0
	for n < len(p.rest) && p.rest[n] >= '0' && p.rest[n] <= '9' {
		n++
	}
	digits := p.rest[:n]
	p.rest = p.rest[n:]
	return digits
}

// date returns days since 1970-01-01.
func (p *instantParser) date() int64 {
	negative := strings.HasPrefix(p.rest, "-")
	if negative {
		p.rest = p.rest[1:]
	}
	digits := p.digits()
	if n := len(digits); n < 4 || n > maxYearDigits || n > 4 && digits[0] == '0' {
		p.ok = false
		return 0
	}
	year, _ := strconv.ParseInt(digits, 10, 64)
	if negative {
		year = -year
	}
	p.literal('-')
	month := p.twoDigits()
	p.literal('-')
	day := p.twoDigits()
	if month < 1 || month > 12 || day < 1 || day > calendar.DaysIn(year, month) {
		p.ok = false
		return 0
	}
	return calendar.Days(year, month, day)
}

// clock reads hh:mm:ss with an optional fraction. 24:00:00 is the day's end.
func (p *instantParser) clock() (seconds int64, fraction string) {
	hour := p.twoDigits()
	p.literal(':')
	minute := p.twoDigits()
	p.literal(':')
	second := p.twoDigits()
	if strings.HasPrefix(p.rest, ".") {
		p.rest = p.rest[1:]
		if fraction = p.digits(); fraction == "" {
			p.ok = false
		}
	}
	endOfDay := hour == 24 && minute == 0 && second == 0 && strings.Trim(fraction, "0") == ""
	if hour > 23 && !endOfDay || minute > 59 || second > 59 {
		p.ok = false
	}
	return hour*3600 + minute*60 + second, fraction
}

// zone reads an optional time zone and returns its minutes east of UTC.
func (p *instantParser) zone() int16 {
	switch {
	case p.rest == "":
		return noZone
	case p.rest[0] == 'Z':
		p.rest = p.rest[1:]
		return 0
	case p.rest[0] != '-' && p.rest[0] != '+':
		p.ok = false
		return 0
	}
	sign := int16(1)
	if p.rest[0] == '-' {
		sign = -1
	}
	p.rest = p.rest[1:]
	hours := p.twoDigits()
	p.literal(':')
	minutes := p.twoDigits()
	if minutes > 59 || hours > 14 || hours == 14 && minutes != 0 {
		p.ok = false
	}
	return sign * int16(hours*60+minutes)
}

// local returns the days and seconds of the day of an instant in its own zone.
func (v Value) local() (days, seconds int64) {
	n := v.n
	if v.zone != noZone {
		n += int64(v.zone) * 60
	}
	days = calendar.FloorDiv(n, secondsOfDay)
	return days, n - days*secondsOfDay
}

// fraction returns the fraction of a second.
func (v Value) fraction() *apd.Decimal {
	if v.big != nil {
		return v.big
	}
	return apd.New(int64(v.nanos), -9)
}

// seconds returns an instant as a Decimal: seconds since 1970-01-01T00:00:00Z.
func (v Value) seconds() Value {
	whole := Value{kind: Decimal, n: v.n}
	if v.nanos == 0 && v.big == nil {
		return whole
	}
	return whole.add(exactValue(new(apd.Decimal).Set(v.fraction()), Decimal))
}

// instantAt returns the instant of the kind and zone of v at the given seconds since
// 1970-01-01T00:00:00Z, a Decimal. A date is moved to its first instant, a time to its day.
func (v Value) instantAt(seconds Value) Value {
	floor := seconds.integral(func(int) bool { return false })
	if seconds.kind == Error || floor.kind == Error || floor.big != nil || magnitude(floor.n) > math.MaxInt64/2 {
		return errTooLarge
	}
	r := Value{kind: v.kind, n: floor.n, zone: v.zone}
	if rest := seconds.add(floor.negated()); rest.sign() != 0 {
		_, digits, _ := strings.Cut(rest.exactText(), ".")
		r.setFraction(digits)
	}
	days, clock := r.local()
	if year, _, _ := calendar.Date(days); year > maxYear || year < -maxYear {
		return errTooLarge
	}
	switch v.kind {
	case Date:
		r.n, r.nanos, r.big = r.n-clock, 0, nil
	case Time:
		r.n -= days * secondsOfDay
	}
	return r
}

// compareInstants compares two of one kind; ok is false if the result depends on a missing
// zone.
func compareInstants(a, b *Value) (_ int, ok bool) {
	if (a.zone == noZone) == (b.zone == noZone) {
		return compareMoments(a, b), true
	}
	// If an instant has no zone, it may be 14 hours before or after its place in UTC.
	sign := 1
	if a.zone == noZone {
		a, b, sign = b, a, -1
	}
	early, late := *b, *b
	early.n -= zoneSpan
	late.n += zoneSpan
	switch {
	case compareMoments(a, &early) < 0:
		return -sign, true
	case compareMoments(a, &late) > 0:
		return sign, true
	}
	return 0, false
}

// compareMoments compares two instants, one without a zone as UTC.
func compareMoments(a, b *Value) int {
	switch {
	case a.n < b.n:
		return -1
	case a.n > b.n:
		return 1
	case a.big != nil || b.big != nil:
		return a.fraction().Cmp(b.fraction())
	case a.nanos < b.nanos:
		return -1
	case a.nanos > b.nanos:
		return 1
	}
	return 0
}

// instantText returns the canonical form of an instant, in its own zone.
func (v Value) instantText() string {
	days, seconds := v.local()
	b := make([]byte, 0, 40)
	if v.kind != Time {
		year, month, day := calendar.Date(days)
		if year < 0 {
			b = append(b, '-')
			year = -year
		}
		for limit := int64(1000); limit > 1 && year < limit; limit /= 10 {
			b = append(b, '0')
		}
		b = strconv.AppendInt(b, year, 10)
		b = appendTwo(append(b, '-'), month)
		b = appendTwo(append(b, '-'), day)
	}
	if v.kind == DateTime {
		b = append(b, 'T')
	}
	if v.kind != Date {
		b = appendTwo(b, seconds/3600)
		b = appendTwo(append(b, ':'), seconds/60%60)
		b = appendTwo(append(b, ':'), seconds%60)
		b = append(b, v.fractionText()...)
	}
	return string(append(b, v.zoneText()...))
}

// fractionText returns "" or a point and digits.
func (v Value) fractionText() string {
	if v.nanos == 0 && v.big == nil {
		return ""
	}
	_, digits, _ := strings.Cut(v.fraction().Text('f'), ".")
	return "." + strings.TrimRight(digits, "0")
}

// zoneText returns the zone as it is written; "" for none.
func (v Value) zoneText() string {
	zone := int64(v.zone)
	switch zone {
	case noZone:
		return ""
	case 0:
		return "Z"
	}
	b := []byte{'+'}
	if zone < 0 {
		b[0], zone = '-', -zone
	}
	return string(appendTwo(append(appendTwo(b, zone/60), ':'), zone%60))
}

func appendTwo(b []byte, n int64) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// FromTime returns t as an xsd:dateTime in its zone. The zone is rounded to minutes.
func FromTime(t time.Time) Value {
	_, offset := t.Zone()
	return Value{kind: DateTime, n: t.Unix(), nanos: uint32(t.Nanosecond()), zone: int16(min(max(offset/60, -14*60), 14*60))}
}

// addMonths adds a number of months to a dateTime or date. If the month lacks the day, the
// result is its last day.
func (v Value) addMonths(months int64) Value {
	days, _ := v.local()
	year, month, day := calendar.Date(days)
	if months > math.MaxInt64/4 || months < math.MinInt64/4 {
		return errTooLarge
	}
	total := year*12 + month - 1 + months
	year = calendar.FloorDiv(total, 12)
	month = total - year*12 + 1
	if year > maxYear || year < -maxYear {
		return errTooLarge
	}
	moved := calendar.Days(year, month, min(day, calendar.DaysIn(year, month)))
	v = v.bare()
	v.n += (moved - days) * secondsOfDay
	return v
}
