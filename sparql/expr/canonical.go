// The canonical lexical forms of values.

package expr

// canonical returns the canonical lexical form of a computed value.
func (v Value) canonical() string {
	switch v.kind {
	case Boolean:
		if v.n != 0 {
			return "true"
		}
		return "false"
	case Integer, Decimal:
		return v.exactText()
	case Float:
		return floatText(v.float(), 32)
	case Double:
		return floatText(v.float(), 64)
	case DateTime, Date, Time:
		return v.instantText()
	case Duration, DayTimeDuration, YearMonthDuration:
		return v.durationText()
	}
	return v.term.Value()
}
