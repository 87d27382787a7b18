package main

import (
	"fmt"
	"slices"
	"time"
)

// report prints the figures as rows of a table as they come.
type report struct{}

func (report) begin() {
	fmt.Println("| what | measured | asked |")
	fmt.Println("|---|---|---|")
}

func (report) row(what, asked, format string, args ...any) {
	fmt.Printf("| %s | %s | %s |\n", what, fmt.Sprintf(format, args...), asked)
}

// times collects durations of one kind of operation.
type times []time.Duration

func (t times) quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	slices.Sort(t)
	return t[min(int(q*float64(len(t))), len(t)-1)]
}

// perSecond returns how many a second n in d are.
func perSecond(n int64, d time.Duration) float64 { return float64(n) / d.Seconds() }

// thousands prints a rate with separators.
func thousands(rate float64) string {
	text := fmt.Sprintf("%.0f", rate)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
