// Functions on numbers and dates.

package expr

import (
	"math"

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

// datePart makes YEAR, MONTH or DAY.
func datePart(part func(year, month, day int64) int64) function {
	return func(_ *Env, args []Value) Value {
		v := args[0].Parsed()
		if v.kind != DateTime && v.kind != Date {
			return errType
		}
		days, _ := v.local()
		return FromInt(part(calendar.Date(days)))
	}
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
	year    = datePart(func(y, _, _ int64) int64 { return y })
	month   = datePart(func(_, m, _ int64) int64 { return m })
	day     = datePart(func(_, _, d int64) int64 { return d })
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
