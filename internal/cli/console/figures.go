// Numbers, sizes and times for people.

package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Number writes n with its thousands grouped: 1,280,723.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Size writes a number of bytes: 512 B, 1.5 KiB, 174.2 MiB.
func Size(bytes int64) string {
	if bytes < 1<<10 {
		return strconv.FormatInt(bytes, 10) + " B"
	}
	value, unit := float64(bytes)/(1<<10), 0
	units := [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= 1023.95 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Seconds writes a duration to a tenth of a second, or from a minute on to seconds: 0.4s, 12.3s,
// 1m20s.
func Seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// Rate returns n per second of d, as a whole number.
func Rate(n int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64(float64(n) / d.Seconds())
}

// Plural returns "1 triple", "2 triples".
func Plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Number(n) + " " + what + "s"
}

// PluralAre returns "1 page is", "2 pages are".
func PluralAre(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return Plural(n, what) + " are"
}

// OrElse returns text or, if it is empty, otherwise.
func OrElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
