// Dates as days since 1970-01-01, and back.

// Package calendar computes with dates of the proleptic Gregorian calendar with a year 0: the years
// of xsd:date and xsd:dateTime (XSD 1.1, Part 2, appendix E). Years are int64, because XSD allows
// more than package time does.
package calendar

// DaysIn returns the number of days of a month. month must be 1 to 12.
func DaysIn(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// Days returns the days from 1970-01-01 to a date, negative if it is before.
func Days(year, month, day int64) int64 {
	// Years begin in March here, because the leap day is then the last of a year.
	if month <= 2 {
		year--
		month += 12
	}
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	return 365*year + FloorDiv(year, 4) - FloorDiv(year, 100) + FloorDiv(year, 400) + dayOfYear - 719468
}

// Date returns the date days after 1970-01-01. It is the inverse of [Days].
func Date(days int64) (year, month, day int64) {
	days += 719468
	const daysOfEra = 146097 // of 400 years
	era := FloorDiv(days, daysOfEra)
	dayOfEra := days - era*daysOfEra
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*m+2)/5 + 1
	year = yearOfEra + era*400
	if month = m + 3; month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

// FloorDiv returns a/b, rounded down if it is negative. b must be positive.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
