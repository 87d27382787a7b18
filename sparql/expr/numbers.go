// Functions on numbers and dates.

package expr

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/triple"
	"github.com/trefoildb/trefoil/triple/calendar"
)

// Functions on numbers (section 17.4.4), and on dates and times (17.4.5).

func absolute(_ *Env, args []Value) Value {
	v := args[0].Parsed()
	switch v.kind {
	case Float:
		return fromFloat(float32(math.Abs(v.float())))
	case Double:
		return FromDouble(math.Abs(v.float()))
	case Integer, Decimal:
		return v.abs()
	}
	return errType
}

// rounding makes CEIL, FLOOR or ROUND.
func rounding(up func(half int) bool, float func(float64) float64) function {
	return func(_ *Env, args []Value) Value {
		v := args[0].Parsed()
		switch v.kind {
		case Float:
			return fromFloat(float32(float(v.float())))
		case Double:
			return FromDouble(float(v.float()))
		case Integer:
			return v.bare()
		case Decimal:
			return v.integral(up)
		}
		return errType
	}
}

var (
	ceiling = rounding(func(int) bool { return true }, math.Ceil)
	floor   = rounding(func(int) bool { return false }, math.Floor)
	round   = rounding(func(half int) bool { return half >= 0 }, roundFloat)
)

// roundFloat rounds to the nearest whole number, halves up (fn:round).
func roundFloat(f float64) float64 {
	down := math.Floor(f)
	if f-down >= 0.5 {
		return math.Copysign(down+1, f)
	}
	return down
}

// datePart makes YEAR, MONTH or DAY. Literals of some types are a part of a date.
func datePart(part func(year, month, day int64) int64, partial ...string) function {
	return func(_ *Env, args []Value) Value {
		v := args[0].Parsed()
		if v.kind == Other {
			v = partialDate(v.term, partial)
		}
		if v.kind != DateTime && v.kind != Date {
			return errType
		}
		days, _ := v.local()
		return FromInt(part(calendar.Date(days)))
	}
}

// partialDates are the types of parts of dates, with what makes a date of one. Year 2000 and month 12 have all days.
var partialDates = map[string]struct {
	form *regexp.Regexp
	date string
}{
	"gYear":      {regexp.MustCompile(`^(-?\d+)` + zoneForm), "${1}-01-01$2"},
	"gYearMonth": {regexp.MustCompile(`^(-?\d+-\d\d)` + zoneForm), "${1}-01$2"},
	"gMonth":     {regexp.MustCompile(`^-(-\d\d)` + zoneForm), "2000${1}-01$2"},
	"gMonthDay":  {regexp.MustCompile(`^-(-\d\d-\d\d)` + zoneForm), "2000$1$2"},
	"gDay":       {regexp.MustCompile(`^--(-\d\d)` + zoneForm), "2000-12$1$2"},
}

const zoneForm = `(Z|[-+]\d\d:\d\d)?$`

// partialDate returns a date with the parts that a literal of one of some types has; an error for other literals.
func partialDate(t triple.Term, types []string) Value {
	name, ok := strings.CutPrefix(t.Datatype(), triple.XSD)
	if !ok || !slices.Contains(types, name) {
		return errType
	}
	of, v := partialDates[name], Value{}
	if text := strings.Trim(t.Value(), " \t\r\n"); !of.form.MatchString(text) || !v.parseAs(Date, of.form.ReplaceAllString(text, of.date)) {
		return errType
	}
	return v
}

// adjust is fn:adjust-dateTime-to-timezone and its kin: the instant in another zone, or one without a zone as it
// is written there (SEP-0002).
func adjust(_ *Env, args []Value) Value {
	v, by := args[0].Parsed(), args[1].Parsed()
	if !v.isInstant() || by.kind != DayTimeDuration {
		return errType
	}
	if by.big != nil || by.scale != 0 || by.n%60 != 0 || by.n > zoneSpan || by.n < -zoneSpan {
		return errorValue("a zone of part of a minute, or of more than 14 hours")
	}
	r := v.bare()
	if r.zone == noZone {
		r.zone = int16(by.n / 60)
		r.n -= by.n
		return r
	}
	// A date is that of its first instant, and a time loses the day.
	r.zone = int16(by.n / 60)
	switch days, clock := r.local(); r.kind {
	case Date:
		r.n -= clock
	case Time:
		r.n -= days * secondsOfDay
	}
	return r
}

// clockPart makes HOURS or MINUTES.
func clockPart(part func(seconds int64) int64) function {
	return func(_ *Env, args []Value) Value {
		v := args[0].Parsed()
		if v.kind != DateTime && v.kind != Time {
			return errType
		}
		_, clock := v.local()
		return FromInt(part(clock))
	}
}

var (
	year    = datePart(func(y, _, _ int64) int64 { return y }, "gYear", "gYearMonth")
	month   = datePart(func(_, m, _ int64) int64 { return m }, "gYearMonth", "gMonth", "gMonthDay")
	day     = datePart(func(_, _, d int64) int64 { return d }, "gMonthDay", "gDay")
	hours   = clockPart(func(s int64) int64 { return s / 3600 })
	minutes = clockPart(func(s int64) int64 { return s / 60 % 60 })
)

func seconds(_ *Env, args []Value) Value {
	v := args[0].Parsed()
	if v.kind != DateTime && v.kind != Time {
		return errType
	}
	_, clock := v.local()
	v.n = clock % 60
	return v.seconds()
}

func timezone(_ *Env, args []Value) Value {
	v := args[0].Parsed()
	if !v.isInstant() {
		return errType
	}
	if v.zone == noZone {
		return errorValue("no time zone")
	}
	return Value{kind: DayTimeDuration, n: int64(v.zone) * 60}
}

func tz(_ *Env, args []Value) Value {
	v := args[0].Parsed()
	if !v.isInstant() {
		return errType
	}
	return FromString(v.zoneText())
}
