// The order of terms by its definition, without the key codec.

package triple

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oracle compares terms by the definition of the order and not by the key codec: numbers as
// exact fractions, instants by package time. Only if a term is long does it need the units of a
// body, because they define the order there. It makes them itself.

// oracleValue is a literal's value if its class sorts by value.
type oracleValue struct {
	nan      bool
	inf      int // -1, 0, +1
	rational *big.Rat
}

func (v oracleValue) compare(w oracleValue) int {
	rank := func(v oracleValue) int {
		if v.nan {
			return 2
		}
		return v.inf
	}
	if c := cmp.Compare(rank(v), rank(w)); c != 0 || v.nan || v.inf != 0 {
		return c
	}
	return v.rational.Cmp(w.rational)
}

const (
	oracleBlank = iota
	oracleIRI
	oracleNumber
	oracleBoolean
	oracleDateTime
	oracleDate
	oracleTime
	oracleString
	oracleLang
	oracleOther
	oracleTriple
)

var oracleTags = [...]byte{0x10, 0x20, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x40}

// oracleIntegers holds the bounds of the integer types; "" is none.
var oracleIntegers = map[string][2]string{
	"integer":            {"", ""},
	"long":               {"-9223372036854775808", "9223372036854775807"},
	"int":                {"-2147483648", "2147483647"},
	"short":              {"-32768", "32767"},
	"byte":               {"-128", "127"},
	"nonNegativeInteger": {"0", ""},
	"positiveInteger":    {"1", ""},
	"nonPositiveInteger": {"", "0"},
	"negativeInteger":    {"", "-1"},
	"unsignedLong":       {"0", "18446744073709551615"},
	"unsignedInt":        {"0", "4294967295"},
	"unsignedShort":      {"0", "65535"},
	"unsignedByte":       {"0", "255"},
}

var (
	oracleIntegerForm = regexp.MustCompile(`^[+-]?[0-9]+$`)
	oracleDecimalForm = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)$`)
	oracleFloatForm   = regexp.MustCompile(`^([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?:[eE]([+-]?[0-9]+))?$`)
	oracleDateForm    = regexp.MustCompile(`^(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})(Z|[+-][0-9]{2}:[0-9]{2})?$`)
	oracleTimeForm    = regexp.MustCompile(`^([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?$`)
)

// oracleClass returns a term's class and, if it has one, its value.
func oracleClass(t Term) (class int, value oracleValue) {
	switch {
	case t.Kind() == Blank:
		return oracleBlank, value
	case t.Kind() == IRI:
		return oracleIRI, value
	case t.Kind() == TripleTerm:
		return oracleTriple, value
	case t.Datatype() == XSD+"string":
		return oracleString, value
	case t.Lang() != "":
		return oracleLang, value
	}
	if name, ok := strings.CutPrefix(t.Datatype(), XSD); ok {
		switch name {
		case "decimal", "double", "float":
			if v, ok := oracleReal(name, t.Value()); ok {
				return oracleNumber, v
			}
		case "boolean":
			switch t.Value() {
			case "true", "1":
				return oracleBoolean, oracleValue{rational: big.NewRat(1, 1)}
			case "false", "0":
				return oracleBoolean, oracleValue{rational: new(big.Rat)}
			}
		case "dateTime", "date", "time":
			if v, ok := oracleInstant(name, t.Value()); ok {
				return map[string]int{"dateTime": oracleDateTime, "date": oracleDate, "time": oracleTime}[name], oracleValue{rational: v}
			}
		}
		if bounds, ok := oracleIntegers[name]; ok && oracleIntegerForm.MatchString(t.Value()) {
			n, _ := new(big.Int).SetString(strings.TrimPrefix(t.Value(), "+"), 10)
			low, lowOK := new(big.Int).SetString(bounds[0], 10)
			high, highOK := new(big.Int).SetString(bounds[1], 10)
			if (!lowOK || n.Cmp(low) >= 0) && (!highOK || n.Cmp(high) <= 0) {
				return oracleNumber, oracleValue{rational: new(big.Rat).SetInt(n)}
			}
		}
	}
	return oracleOther, value
}

func oracleReal(name, lexical string) (v oracleValue, ok bool) {
	if name == "decimal" {
		if !oracleDecimalForm.MatchString(lexical) {
			return v, false
		}
		v.rational = mustRat(lexical)
		return v, true
	}
	switch lexical {
	case "NaN":
		return oracleValue{nan: true}, true
	case "INF", "+INF":
		return oracleValue{inf: 1}, true
	case "-INF":
		return oracleValue{inf: -1}, true
	}
	m := oracleFloatForm.FindStringSubmatch(lexical)
	if m == nil {
		return v, false
	}
	v.rational = mustRat(m[1])
	if m[2] != "" && v.rational.Sign() != 0 {
		exponent, err := strconv.Atoi(m[2])
		if err != nil || exponent > 5000 || exponent < -5000 {
			if strings.HasPrefix(m[2], "-") {
				v.rational = new(big.Rat)
				return v, true
			}
			return oracleValue{inf: v.rational.Sign()}, true
		}
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
		if exponent < 0 {
			power.Inv(power)
		}
		v.rational.Mul(v.rational, power)
	}
	var double float64
	if name == "float" {
		single, _ := v.rational.Float32()
		double = float64(single)
	} else {
		double, _ = v.rational.Float64()
	}
	if math.IsInf(double, 0) {
		return oracleValue{inf: v.rational.Sign()}, true
	}
	v.rational.SetFloat64(double)
	return v, true
}

// mustRat reads a decimal numeral.
func mustRat(s string) *big.Rat {
	negative := strings.HasPrefix(s, "-")
	whole, fraction, _ := strings.Cut(strings.TrimLeft(s, "+-"), ".")
	digits, ok := new(big.Int).SetString("0"+whole+fraction, 10)
	if !ok {
		panic("not a decimal: " + s)
	}
	if negative {
		digits.Neg(digits)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(len(fraction))), nil)
	return new(big.Rat).SetFrac(digits, scale)
}

// oracleInstant returns seconds since 1970.
func oracleInstant(name, lexical string) (*big.Rat, bool) {
	date, clock := "1970-01-01", "00:00:00"
	switch name {
	case "dateTime":
		var found bool
		if date, clock, found = strings.Cut(lexical, "T"); !found {
			return nil, false
		}
	case "date":
		date = lexical
	case "time":
		clock = lexical
	}
	d := oracleDateForm.FindStringSubmatch(date)
	c := oracleTimeForm.FindStringSubmatch(clock)
	if d == nil || c == nil || name == "dateTime" && d[4] != "" {
		return nil, false
	}
	if len(strings.TrimPrefix(d[1], "-")) > 11 {
		return nil, false
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	year, month, day := number(d[1]), number(d[2]), number(d[3])
	midnight := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if month < 1 || month > 12 || midnight.Day() != day || int(midnight.Month()) != month {
		return nil, false
	}
	hour, minute, second := number(c[1]), number(c[2]), number(c[3])
	fraction := mustRat("0" + c[4])
	endOfDay := hour == 24 && minute == 0 && second == 0 && fraction.Sign() == 0
	if minute > 59 || second > 59 || hour > 23 && !endOfDay {
		return nil, false
	}
	if name == "time" && endOfDay {
		hour = 0
	}
	offset := 0
	if zone := d[4] + c[5]; zone != "" && zone != "Z" {
		hours, minutes := number(zone[1:3]), number(zone[4:6])
		if offset = hours*60 + minutes; offset > 14*60 || minutes > 59 {
			return nil, false
		}
		if zone[0] == '-' {
			offset = -offset
		}
	}
	seconds := new(big.Rat).SetInt64(midnight.Unix() + int64(hour*3600+minute*60+second-offset*60))
	return seconds.Add(seconds, fraction), true
}

// Units of a body, as numbers that sort as units do: bytes, the end of a field,
// and the mark of a long term.
const (
	unitHash     = 1
	unitFieldEnd = 2
	unitByte     = 3 // + the byte
)

func byteUnits(s string) []int {
	units := make([]int, len(s))
	for i := range len(s) {
		units[i] = unitByte + int(s[i])
	}
	return units
}

// oracleBody returns the units of a term's body.
func oracleBody(t Term) []int {
	class, value := oracleClass(t)
	lexical := byteUnits(t.Value())
	switch class {
	case oracleTriple:
		var units []int
		for i, inner := range oracleInner(t) {
			if i > 0 {
				units = append(units, unitFieldEnd)
			}
			class, _ := oracleClass(inner)
			units = append(append(units, unitByte+int(oracleTags[class])), oracleBody(inner)...)
		}
		return units
	case oracleBlank, oracleIRI, oracleString:
		return lexical
	case oracleLang:
		return slices.Concat(lexical, []int{unitFieldEnd}, byteUnits(strings.ToLower(t.LangDir())), []int{unitFieldEnd}, byteUnits(t.LangDir()))
	case oracleOther:
		return slices.Concat(byteUnits(t.Datatype()), []int{unitFieldEnd}, lexical)
	case oracleBoolean:
		return append([]int{unitByte + 1 + int(value.rational.Num().Int64())}, lexical...)
	case oracleNumber:
		code := 1 + slices.Index(numericNames, strings.TrimPrefix(t.Datatype(), XSD))
		return slices.Concat(byteUnits(oracleNumberBytes(value)), []int{unitByte + code}, lexical)
	}
	return slices.Concat(byteUnits(oracleInstantBytes(value.rational)), lexical)
}

var numericNames = []string{"byte", "decimal", "double", "float", "int", "integer", "long", "negativeInteger",
	"nonNegativeInteger", "nonPositiveInteger", "positiveInteger", "short", "unsignedByte", "unsignedInt",
	"unsignedLong", "unsignedShort"}

func oracleNumberBytes(v oracleValue) string {
	floor := math.Inf(v.inf)
	exact := true
	switch {
	case v.nan:
		return "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x00"
	case v.inf == 0:
		floor, _ = v.rational.Float64()
		above := math.IsInf(floor, 1)
		if !math.IsInf(floor, 0) {
			c := new(big.Rat).SetFloat64(floor).Cmp(v.rational)
			exact, above = c == 0, c > 0
		} else {
			exact = false
		}
		if above {
			floor = math.Nextafter(floor, math.Inf(-1))
		}
	}
	if floor == 0 {
		floor = 0 // not -0
	}
	bits := math.Float64bits(floor)
	if math.Signbit(floor) {
		bits = ^bits
	} else {
		bits ^= 1 << 63
	}
	out := binary.BigEndian.AppendUint64(nil, bits)
	if exact {
		return string(append(out, 0))
	}
	// All decimals end: the denominator divides a power of ten.
	digits := strings.TrimRight(new(big.Rat).Abs(v.rational).FloatString(v.rational.Denom().BitLen()), "0")
	whole, fraction, _ := strings.Cut(digits, ".")
	whole = strings.TrimLeft(whole, "0")
	exponent := len(whole)
	if whole == "" {
		exponent = len(strings.TrimLeft(fraction, "0")) - len(fraction)
	}
	digits = strings.Trim(whole+fraction, "0")
	exactBytes := binary.BigEndian.AppendUint32(nil, uint32(int64(exponent)+1<<31))
	exactBytes = append(exactBytes, oraclePairs(digits)...)
	if v.rational.Sign() < 0 {
		for i := range exactBytes {
			exactBytes[i] ^= 0xFF
		}
	}
	return string(append(append(out, 1), exactBytes...))
}

func oraclePairs(digits string) []byte {
	if len(digits)%2 == 1 {
		digits += "0"
	}
	var out []byte
	for i := 0; i < len(digits); i += 2 {
		n, _ := strconv.Atoi(digits[i : i+2])
		out = append(out, byte(n+1))
	}
	return append(out, 0)
}

func oracleInstantBytes(seconds *big.Rat) string {
	floor := new(big.Int).Div(seconds.Num(), seconds.Denom()) // Euclidean: down
	fraction := new(big.Rat).Sub(seconds, new(big.Rat).SetInt(floor))
	_, digits, _ := strings.Cut(fraction.FloatString(fraction.Denom().BitLen()), ".")
	out := binary.BigEndian.AppendUint64(nil, uint64(floor.Int64())^1<<63)
	return string(append(out, oraclePairs(strings.TrimRight(digits, "0"))...))
}

// oracleInner returns the terms of a triple term.
func oracleInner(t Term) []Term {
	inner, ok := t.Triple()
	if !ok {
		panic("no triple in " + t.String())
	}
	return []Term{inner.Subject, inner.Predicate, inner.Object}
}

// oracleKeyUnits returns the units that stand for a body in a key.
func oracleKeyUnits(t Term) (units []int, long bool) {
	body := oracleBody(t)
	if len(body) <= 1024 {
		return body, false
	}
	class, _ := oracleClass(t)
	written := []byte{oracleTags[class]}
	for _, unit := range body {
		switch {
		case unit == unitFieldEnd:
			written = append(written, 0, 3)
		case unit == unitByte:
			written = append(written, 0, 0xFF)
		default:
			written = append(written, byte(unit-unitByte))
		}
	}
	sum := sha256.Sum256(written)
	return slices.Concat(body[:256], []int{unitHash}, byteUnits(string(sum[:16]))), true
}

// oracleCompare compares two terms.
func oracleCompare(a, b Term) int {
	if a.IsZero() || b.IsZero() {
		return cmp.Compare(a.Kind(), b.Kind())
	}
	classA, valueA := oracleClass(a)
	classB, valueB := oracleClass(b)
	if classA != classB {
		return cmp.Compare(classA, classB)
	}
	unitsA, longA := oracleKeyUnits(a)
	unitsB, longB := oracleKeyUnits(b)
	if longA || longB {
		return slices.Compare(unitsA, unitsB)
	}
	return oracleCompareWhole(classA, a, b, valueA, valueB)
}

// oracleCompareIn compares two terms inside of triple terms, where no term is long by itself.
func oracleCompareIn(a, b Term) int {
	classA, valueA := oracleClass(a)
	classB, valueB := oracleClass(b)
	if classA != classB {
		return cmp.Compare(classA, classB)
	}
	return oracleCompareWhole(classA, a, b, valueA, valueB)
}

// oracleCompareWhole compares two terms of one class as if none were ever long.
func oracleCompareWhole(class int, a, b Term, valueA, valueB oracleValue) int {
	lexical := strings.Compare(a.Value(), b.Value())
	switch class {
	case oracleTriple:
		return slices.CompareFunc(oracleInner(a), oracleInner(b), oracleCompareIn)
	case oracleBlank, oracleIRI, oracleString:
		return lexical
	case oracleLang:
		return cmp.Or(lexical, strings.Compare(strings.ToLower(a.LangDir()), strings.ToLower(b.LangDir())), strings.Compare(a.LangDir(), b.LangDir()))
	case oracleOther:
		return cmp.Or(strings.Compare(a.Datatype(), b.Datatype()), lexical)
	}
	return cmp.Or(valueA.compare(valueB), strings.Compare(a.Datatype(), b.Datatype()), lexical)
}

// oracleCompareTriples compares two triples in an order.
func oracleCompareTriples(o Order, a, b Triple) int {
	termsOf := map[Order]func(Triple) []Term{
		SPO:  func(t Triple) []Term { return []Term{t.Subject, t.Predicate, t.Object, t.Graph} },
		POS:  func(t Triple) []Term { return []Term{t.Predicate, t.Object, t.Subject, t.Graph} },
		OSP:  func(t Triple) []Term { return []Term{t.Object, t.Subject, t.Predicate, t.Graph} },
		GSPO: func(t Triple) []Term { return []Term{t.Graph, t.Subject, t.Predicate, t.Object} },
	}[o]
	return slices.CompareFunc(termsOf(a), termsOf(b), oracleCompare)
}

// sign makes the results of compare functions comparable.
func sign(c int) int { return cmp.Compare(c, 0) }

// mustKey returns the key of t in o, or nil if it has none.
func mustKey(o Order, t Triple) []byte {
	key, _ := AppendKey(nil, o, t)
	return bytes.Clone(key)
}
