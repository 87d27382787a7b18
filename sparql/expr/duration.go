// Durations.

package expr

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// Durations (XSD 1.1 part 2, 3.3.6, 3.4.26 and 3.4.27).

// parseDuration reads PnYnMnDTnHnMnS. Of its fields a DayTimeDuration must not have Y and M, a
// YearMonthDuration nothing else.
func (v *Value) parseDuration(s string, kind Kind) bool {
	negative := strings.HasPrefix(s, "-")
	if negative {
		s = s[1:]
	}
	if !strings.HasPrefix(s, "P") {
		return false
	}
	// 1. A T must have parts behind it, and without one there must be parts in front.
	date, clock, hasClock := strings.Cut(s[1:], "T")
	if hasClock && clock == "" || !hasClock && date == "" {
		return false
	}
	// 2. Read the parts in their order. Each kind allows only some.
	years, date, ok1 := durationPart(date, 'Y', kind != DayTimeDuration)
	months, date, ok2 := durationPart(date, 'M', kind != DayTimeDuration)
	days, date, ok3 := durationPart(date, 'D', kind != YearMonthDuration)
	hours, clock, ok4 := durationPart(clock, 'H', kind != YearMonthDuration)
	minutes, clock, ok5 := durationPart(clock, 'M', kind != YearMonthDuration)
	seconds, clock, ok6 := durationPart(clock, 'S', kind != YearMonthDuration)
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || date != "" || clock != "" {
		return false
	}
	// 3. Months and seconds are kept apart, because a month has no fixed length.
	total := years.times(FromInt(12)).add(months)
	span := days.times(FromInt(24)).add(hours).times(FromInt(60)).add(minutes).times(FromInt(60)).add(seconds)
	if negative {
		total, span = total.negated(), span.negated()
	}
	if total.kind == Error || total.big != nil || span.kind == Error {
		return false
	}
	v.setDuration(kind, total.n, span)
	return true
}

// durationPart reads a number and its letter from the front of s: zero if
// another letter, or nothing, comes. Only seconds have a fraction.
func durationPart(s string, letter byte, allowed bool) (_ Value, rest string, ok bool) {
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	zero := FromInt(0)
	if i == len(s) {
		return zero, s, s == ""
	}
	if s[i] != letter || i == 0 {
		return zero, s, true
	}
	if !allowed || s[0] == '.' || s[i-1] == '.' || letter != 'S' && strings.IndexByte(s[:i], '.') >= 0 {
		return zero, s, false
	}
	n := Value{kind: Decimal}
	ok = n.parseExact(s[:i], true)
	return n, s[i+1:], ok
}

// setDuration makes v the duration of months months and seconds seconds.
func (v *Value) setDuration(kind Kind, months int64, seconds Value) {
	v.kind = kind
	switch kind {
	case YearMonthDuration:
		v.n = months
	case DayTimeDuration:
		v.n, v.scale, v.big = seconds.n, seconds.scale, seconds.big
	default:
		v.n, v.big = months, seconds.decimal()
	}
}

// parts returns the months and seconds of a duration of any kind.
func (v Value) parts() (months int64, seconds Value) {
	switch v.kind {
	case YearMonthDuration:
		return v.n, Value{kind: Decimal}
	case DayTimeDuration:
		return 0, Value{kind: Decimal, n: v.n, scale: v.scale, big: v.big}
	}
	return v.n, exactValue(new(apd.Decimal).Set(v.big), Decimal)
}

// durationText returns the canonical form of a duration.
func (v Value) durationText() string {
	months, seconds := v.parts()
	if months == 0 && seconds.sign() == 0 {
		if v.kind == YearMonthDuration {
			return "P0M"
		}
		return "PT0S"
	}
	// 1. The sign, years and months.
	var b strings.Builder
	if months < 0 || seconds.sign() < 0 {
		b.WriteByte('-')
		seconds = seconds.abs()
	}
	b.WriteByte('P')
	m := magnitude(months)
	writePart(&b, m/12, 'Y')
	writePart(&b, m%12, 'M')
	if seconds.sign() == 0 {
		return b.String()
	}
	// 2. Days. The canonical form has no part of 0, and no T if nothing follows.
	floor := seconds.integral(func(int) bool { return false })
	if floor.big != nil { // beyond 292 thousand million years: not split up
		b.WriteString("T" + seconds.exactText() + "S")
		return b.String()
	}
	n := uint64(floor.n)
	writePart(&b, n/secondsOfDay, 'D')
	n %= secondsOfDay
	rest := seconds.add(floor.negated())
	if n == 0 && rest.sign() == 0 {
		return b.String()
	}
	// 3. Hours, minutes and seconds.
	b.WriteByte('T')
	writePart(&b, n/3600, 'H')
	writePart(&b, n/60%60, 'M')
	if s := rest.add(FromInt(int64(n % 60))); s.sign() != 0 {
		b.WriteString(s.exactText() + "S")
	}
	return b.String()
}

func writePart(b *strings.Builder, n uint64, letter byte) {
	if n != 0 {
		b.WriteString(strconv.FormatUint(n, 10))
		b.WriteByte(letter)
	}
}

// abs returns the magnitude of an exact number.
func (v Value) abs() Value {
	if v.sign() < 0 {
		return v.negated()
	}
	return v.bare()
}
