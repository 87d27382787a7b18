// Numbers, sizes and progress for people.

package console

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/rdfload"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "64KiB": 64 << 10, "64k": 64 << 10, "2GiB": 2 << 30, "2G": 2 << 30, "2GB": 2e9, "1.5M": 3 << 19,
		" 1 MiB ": 1 << 20, "1_000": 1000, "7b": 7, "9223372036854775807": math.MaxInt64, "1T": 1 << 40,
		"": -1, "lots": -1, "-1": -1, "1e3": -1, "0x10": -1, "1.5.2": -1, "GiB": -1, "2 parsecs": -1, "1e30T": -1,
		"99999999999T": -1, "NaN": -1, "Inf": -1, "+1": -1,
	} {
		var s ByteSize
		err := s.UnmarshalText([]byte(text))
		if (err != nil) != (want < 0) || err == nil && int64(s) != want {
			t.Errorf("%q: %d, %v; want %d", text, s, err, want)
		}
	}
}

func TestQuantity(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "10k": 10_000, "1.5M": 1_500_000, "1000000": 1e6, "2G": 2e9, "-1": -1, "many": -1, "10KiB": -1, "": -1,
	} {
		var q Quantity
		err := q.UnmarshalText([]byte(text))
		if (err != nil) != (want < 0) || err == nil && int64(q) != want {
			t.Errorf("%q: %d, %v; want %d", text, q, err, want)
		}
	}
}

func TestFigures(t *testing.T) {
	for got, want := range map[string]string{
		Number(0): "0", Number(999): "999", Number(1000): "1,000", Number(-1234567): "-1,234,567",
		Size(0): "0 B", Size(1023): "1023 B", Size(1536): "1.5 KiB", Size(1<<20 - 1): "1.0 MiB", Size(5 << 40): "5.0 TiB",
		Seconds(1234 * time.Millisecond): "1.2s", Seconds(80 * time.Second): "1m20s",
		Plural(1, "triple"): "1 triple", Plural(2000, "triple"): "2,000 triples",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if Rate(1000, 2*time.Second) != 500 || Rate(5, 0) != 0 {
		t.Error("rate")
	}
}

func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := NewProgress(&out).(*lines)
	l.pace.started = time.Now().Add(-1000 * time.Second) // so long ago that a slow machine changes no figure
	reading := rdfload.Progress{Phase: rdfload.Reading, Bytes: 1 << 20, TotalBytes: 4 << 20, Triples: 1_234_500, Rejected: 2}
	l.Show(reading)
	l.Show(reading) // too soon for another line
	l.last = l.last.Add(-l.every)
	reading.TotalBytes = 0
	l.Show(reading)
	l.Show(rdfload.Progress{Phase: rdfload.Merging, Bytes: 4 << 20, TotalBytes: 4 << 20, Triples: 50_000, Done: 0.5})
	l.End()
	got := strings.Split(out.String(), "\n")
	want := []string{
		"trefoil: read 25%: 1.0 MiB of 4.0 MiB, 1,234,500 triples (1,234/s), 2 rejected, 50m0s left",
		"trefoil: read: 1.0 MiB, 1,234,500 triples (1,234/s), 2 rejected",
		"trefoil: merge 50%: 50,000 triples",
		"",
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !strings.HasPrefix(got[i], want[i]) {
			t.Fatalf("got\n%s\nwant\n%s", out.String(), strings.Join(want, "\n"))
		}
	}
}

// On a terminal each state takes the place of the one before.
func TestFrames(t *testing.T) {
	var out bytes.Buffer
	f := &Frames{w: &out, redraw: true}
	for range 2 {
		if err := f.Show("full\n", "line"); err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.Repeat("\x1b[H\x1b[2Jfull\n", 2); out.String() != want {
		t.Errorf("%q", out.String())
	}
}
