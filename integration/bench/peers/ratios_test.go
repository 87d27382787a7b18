// Tests of ratios: what is the best peer, what fails, how ratios and tables are kept.

package peers

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"
)

func TestGeometricMean(t *testing.T) {
	for _, c := range []struct {
		numbers []float64
		want    float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{1, 100}, 10}, {[]float64{2, 4, 8}, 4}} {
		if got := geometricMean(c.numbers); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("the mean of %v is %v, want %v", c.numbers, got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	right, wrong := answer{"a"}, answer{"b"}
	results := outcomes{
		ours: {"q": {answer: right, median: 6 * time.Millisecond}, "lost": {err: errors.New("no end")}},
		"x":  {"q": {answer: right, median: 3 * time.Millisecond}, "lost": {answer: right, median: 2 * time.Second}},
		"y":  {"q": {answer: wrong, median: time.Millisecond}},
		"z":  {"q": {err: errors.New("no such function")}},
	}
	v := judge("q", allRows, results, time.Minute)
	if v.best != "x" || v.ratio != 2 || v.rows != 1 || len(v.different) != 1 || v.different["y"] == "" {
		t.Errorf("a fast peer with a wrong answer gives %+v", v)
	}
	if err := v.wrong(results); err != nil {
		t.Errorf("a peer's fault is ours: %v", err)
	}
	if v := judge("q", rowCounts, results, time.Minute); v.best != "y" || v.ratio != 6 {
		t.Errorf("rows that are not compared give %+v", v)
	}
	v = judge("lost", allRows, results, time.Minute)
	if v.ratio != 30 || v.wrong(results) == nil {
		t.Errorf("a query without an end gives %+v, %v", v, v.wrong(results))
	}
	// Against all others, and against one.
	results["y"]["q"], results[ours]["q"] = results["x"]["q"], outcome{answer: wrong, median: 1}
	if v := judge("q", allRows, results, time.Minute); v.wrong(results) == nil {
		t.Errorf("our wrong answer gives %+v", v)
	}
	delete(results, "y")
	if v := judge("q", allRows, results, time.Minute); v.wrong(results) == nil || v.best != "" {
		t.Errorf("two answers give %+v", v)
	}
}

func TestRatios(t *testing.T) {
	ratios := map[string]float64{"lubm-1000/star": 0.5, "bi-1000/05-x": 27.1}
	var text strings.Builder
	if err := writeRatios(&text, ratios); err != nil {
		t.Fatal(err)
	}
	got, err := readRatios(strings.NewReader(text.String()))
	if err != nil || !maps.Equal(got, ratios) {
		t.Errorf("%v, %v; want %v", got, err, ratios)
	}
	for _, bad := range []string{"lubm/star", "lubm/star x", "lubm/star 0", "lubm/star -1"} {
		if _, err := readRatios(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
	verdicts := []verdict{{key: "lubm-1000/star", ratio: 0.61}, {key: "bi-1000/05-x", ratio: 32}, {key: "new", ratio: 900}}
	if found := slower(verdicts, ratios); len(found) != 1 || found[0].key != "lubm-1000/star" {
		t.Errorf("slower are %v", found)
	}
	if found := worst(verdicts, 2); len(found) != 2 || found[0].key != "new" || found[1].key != "bi-1000/05-x" {
		t.Errorf("the worst are %v", found)
	}
}

func TestReplaceBlock(t *testing.T) {
	got, err := replaceBlock("a\n"+tableBegin+"old\n"+tableEnd+"b\n", "new\n")
	if want := "a\n" + tableBegin + "new\n" + tableEnd + "b\n"; err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	if _, err := replaceBlock("a\n"+tableBegin+"old\n", "new\n"); err == nil {
		t.Error("a block without an end is replaced")
	}
}
