// Figures: how they are printed, and the arithmetic that they need.

package rig

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Report prints figures as rows of tables, and as lines of JSON if Lines is set. The zero
// value prints tables to standard output.
type Report struct {
	Table, Lines io.Writer
	part         string
}

func (r *Report) print(format string, args ...any) {
	if r.Table == nil {
		r.Table = os.Stdout
	}
	fmt.Fprintf(r.Table, format, args...)
}

// Text prints lines that are no figures, without a change.
func (r *Report) Text(text string) { r.print("%s", text) }

// Heading begins a table of figures without numbers of nodes. See [Report.Row].
func (r *Report) Heading() { r.print("\n| what | measured | asked |\n|---|---|---|\n") }

// Row prints a figure that has text for its value.
func (r *Report) Row(what, target, format string, args ...any) {
	r.print("| %s | %s | %s |\n", what, fmt.Sprintf(format, args...), orDash(target))
}

func orDash(target string) string {
	if target == "" {
		return "-"
	}
	return target
}

// Figure is one thing that was measured.
type Figure struct {
	Part   string  `json:"part"`
	What   string  `json:"what"`
	Nodes  int     `json:"nodes"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`             // "triples/s", "s", "ms", "x" and so on
	Detail string  `json:"detail,omitempty"` // more of it, in words
	Target string  `json:"asked,omitempty"`
}

// Begin begins a part: its title and, with a table, the heading of its figures.
func (r *Report) Begin(part string, table bool) {
	r.part = part
	r.print("\n### %s\n\n", part)
	if table {
		r.print("| what | nodes | measured | asked |\n|---|---|---|---|\n")
	}
}

// Add prints a figure of the part.
func (r *Report) Add(f Figure) {
	f.Part = r.part
	measured := f.text()
	if f.Detail != "" {
		measured += " (" + f.Detail + ")"
	}
	r.print("| %s | %d | %s | %s |\n", f.What, f.Nodes, measured, orDash(f.Target))
	if line, err := json.Marshal(f); err == nil && r.Lines != nil {
		fmt.Fprintf(r.Lines, "%s\n", line)
	}
}

func (f Figure) text() string {
	switch f.Unit {
	case "s":
		return fmt.Sprintf("%.2f s", f.Value)
	case "ms":
		return fmt.Sprintf("%.2f ms", f.Value)
	case "x":
		return fmt.Sprintf("%.2fx", f.Value)
	case "bytes/triple":
		return fmt.Sprintf("%.1f bytes a triple", f.Value)
	}
	return Thousands(f.Value) + " " + f.Unit
}

// Times are the durations of one kind of operation.
type Times []time.Duration

// Quantile returns the duration at a share q of the sorted times, 0 if there are none.
func (t Times) Quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	slices.Sort(t)
	return t[min(int(q*float64(len(t))), len(t)-1)]
}

// String returns the median and the 95th percentile.
func (t Times) String() string {
	return fmt.Sprintf("p50 %.2f ms, p95 %.2f ms", Millis(t.Quantile(0.5)), Millis(t.Quantile(0.95)))
}

// Millis returns d in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// PerSecond returns the rate of n in d, 0 if d is 0.
func PerSecond(n int64, d time.Duration) float64 { return Ratio(float64(n), d.Seconds()) }

// Ratio returns a as a multiple of b, 0 if b is 0.
func Ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// Thousands returns a rate with separators.
func Thousands(rate float64) string {
	text := fmt.Sprintf("%.0f", rate)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
