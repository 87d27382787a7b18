package main

// This file prints figures, and has the arithmetic that they need.

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// report prints figures as rows of tables as they come, and as lines of JSON.
type report struct {
	table, lines io.Writer
	part         string
}

// figure is one thing that was measured.
type figure struct {
	Part   string  `json:"part"`
	What   string  `json:"what"`
	Nodes  int     `json:"nodes"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`             // "triples/s", "s", "ms", "x" and so on
	Detail string  `json:"detail,omitempty"` // more of it, in words
	Asked  string  `json:"asked,omitempty"`
}

func (r *report) begin(part string) {
	r.part = part
	fmt.Fprintf(r.table, "\n### %s\n\n", part)
	if part != "simulation" {
		fmt.Fprint(r.table, "| what | nodes | measured | asked |\n|---|---|---|---|\n")
	}
}

func (r *report) add(f figure) {
	f.Part = r.part
	measured, asked := f.text(), f.Asked
	if f.Detail != "" {
		measured += " (" + f.Detail + ")"
	}
	if asked == "" {
		asked = "-"
	}
	fmt.Fprintf(r.table, "| %s | %d | %s | %s |\n", f.What, f.Nodes, measured, asked)
	if line, err := json.Marshal(f); err == nil {
		fmt.Fprintf(r.lines, "%s\n", line)
	}
}

func (f figure) text() string {
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
	return thousands(f.Value) + " " + f.Unit
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

// show returns median and 95th percentile.
func (t times) show() string {
	return fmt.Sprintf("p50 %.2f ms, p95 %.2f ms", millis(t.quantile(0.5)), millis(t.quantile(0.95)))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// perSecond returns how many a second n in d are.
func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// ratio returns a as a multiple of b, 0 where there is no b.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// ofOne tells what multiple of one node's figure another is.
func ofOne(value, one float64) string {
	return fmt.Sprintf("%.2fx of one node", ratio(value, one))
}

// thousands prints a rate with separators.
func thousands(rate float64) string {
	text := fmt.Sprintf("%.0f", rate)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
