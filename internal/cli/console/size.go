// Sizes and counts with units, in flags.

package console

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ByteSize is a flag's number of bytes: 4096, 64KiB, 1.5G, 2GB. K, M, G and T
// alone and with "iB" count in 1,024s, with "B" in 1,000s.
type ByteSize int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *ByteSize) UnmarshalText(text []byte) error {
	number, unit := cutUnit(string(text))
	factors := map[string]float64{"": 1, "b": 1}
	for i, letter := range []string{"k", "m", "g", "t"} {
		binary := math.Pow(1024, float64(i+1))
		factors[letter], factors[letter+"ib"] = binary, binary
		factors[letter+"b"] = math.Pow(1000, float64(i+1))
	}
	n, err := scaled(number, factors, strings.ToLower(unit))
	if err != nil {
		return fmt.Errorf("%q is no size; write it as 4096, 64MiB, 2GiB or 2GB", text)
	}
	*s = ByteSize(n)
	return nil
}

// String returns the size as UnmarshalText reads it, in the largest unit that has no fraction.
func (s ByteSize) String() string {
	units := []string{"", "KiB", "MiB", "GiB", "TiB"}
	n := int64(s)
	for len(units) > 1 && n != 0 && n%1024 == 0 {
		n, units = n/1024, units[1:]
	}
	return strconv.FormatInt(n, 10) + units[0]
}

// Quantity is a flag's number of things: 1000000, 10k, 1.5M.
type Quantity int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (q *Quantity) UnmarshalText(text []byte) error {
	number, unit := cutUnit(string(text))
	n, err := scaled(number, map[string]float64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9}, strings.ToLower(unit))
	if err != nil {
		return fmt.Errorf("%q is no count; write it as 1000000, 10k or 1.5M", text)
	}
	*q = Quantity(n)
	return nil
}

// cutUnit splits "1.5GiB" into "1.5" and "GiB".
func cutUnit(text string) (number, unit string) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "_", "")
	i := strings.LastIndexAny(text, "0123456789.") + 1
	return text[:i], strings.TrimSpace(text[i:])
}

// scaled returns number times the unit's factor. The result must be at least 0 and fit an int64.
func scaled(number string, factors map[string]float64, unit string) (int64, error) {
	factor, ok := factors[unit]
	if !ok || strings.Trim(number, "0123456789.") != "" {
		return 0, strconv.ErrSyntax
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && factor == 1 && n >= 0 {
		return n, nil
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, strconv.ErrSyntax
	}
	value *= factor
	if !(value >= 0 && value < math.MaxInt64) {
		return 0, strconv.ErrRange
	}
	return int64(value), nil
}
