// Tests of dates and days, which must be inverse.

package calendar

import (
	"testing"
	"time"
)

func TestDaysAndBack(t *testing.T) {
	for _, days := range []int64{-719528 - 400*366, -1, 0, 59, 11016, 18321, 2932896, 36524000000000} {
		for d := days - 800; d < days+800; d++ {
			y, m, dd := Date(d)
			if back := Days(y, m, dd); back != d || m < 1 || m > 12 || dd < 1 || dd > DaysIn(y, m) {
				t.Fatalf("day %d is %d-%d-%d, which is day %d", d, y, m, dd, back)
			}
		}
	}
}

// TestPackageTime: within the years of package time, dates are its dates.
func TestPackageTime(t *testing.T) {
	for days := int64(-720000); days < 400000; days += 97 {
		y, m, d := Date(days)
		want := time.Unix(days*86400, 0).UTC()
		if y != int64(want.Year()) || m != int64(want.Month()) || d != int64(want.Day()) {
			t.Fatalf("day %d is %d-%d-%d, want %s", days, y, m, d, want.Format(time.DateOnly))
		}
	}
}

func TestFloorDiv(t *testing.T) {
	for _, c := range []struct{ a, b, want int64 }{{7, 2, 3}, {-7, 2, -4}, {-8, 2, -4}, {0, 5, 0}} {
		if got := FloorDiv(c.a, c.b); got != c.want {
			t.Errorf("%d / %d: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
