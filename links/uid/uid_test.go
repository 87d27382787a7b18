// Tests of UIDs, their parts and their text.

package uid

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/seed"
)

var random = seed.Rand

func TestParts(t *testing.T) {
	tests := []struct {
		slot       Slot
		host, page uint32
		want       UID
	}{
		{0, 1, 0, 1 << 28},
		{0, 1, 1, 1<<28 | 1},
		{0, 1, 1<<28 - 1, 1<<29 - 1},
		{0, 2, 0, 1 << 29},
		{0, 1<<22 - 1, 1<<28 - 1, 1<<50 - 1},
		{1, 1, 0, 1<<50 | 1<<28},
		{1<<14 - 1, 1<<22 - 1, 1<<28 - 1, math.MaxUint64},
		{0x1234, 0x2abcde, 0x5678abc, 0x1234<<50 | 0x2abcde<<28 | 0x5678abc},
	}
	for _, test := range tests {
		u := Make(test.slot, test.host, test.page)
		if u != test.want {
			t.Errorf("Make(%d, %d, %d) = %#x, want %#x", test.slot, test.host, test.page, uint64(u), uint64(test.want))
		}
		if u.Slot() != test.slot || u.Host() != test.host || u.Page() != test.page || !u.Valid() {
			t.Errorf("%#x: slot %d, host %d, page %d, valid %t", uint64(u), u.Slot(), u.Host(), u.Page(), u.Valid())
		}
		e := MakeExtent(test.slot, test.host)
		if e != u.Extent() || e.Slot() != test.slot || e.Host() != test.host || uint64(e) != uint64(u)>>28 {
			t.Errorf("extent %#x of %#x: slot %d, host %d", uint64(e), uint64(u), e.Slot(), e.Host())
		}
		if r := e.Range(); r.First != Make(test.slot, test.host, 0) || r.Last != Make(test.slot, test.host, 1<<28-1) || !r.Contains(u) {
			t.Errorf("range %v of the extent of %#x", r, uint64(u))
		}
	}
}

func TestMakeOutOfRange(t *testing.T) {
	for _, u := range []UID{
		Make(1<<14, 1, 0), Make(0, 0, 5), Make(3, 1<<22, 0), Make(3, 1, 1<<28), Make(math.MaxUint16, math.MaxUint32, math.MaxUint32),
		UID(MakeExtent(1, 0)), UID(MakeExtent(1, 1<<22)), UID(MakeExtent(1<<14, 1)),
	} {
		if u != 0 {
			t.Errorf("%d, want 0", u)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]UID{
		"268435456":            1 << 28,
		"268435457":            1<<28 | 1,
		"18446744073709551615": math.MaxUint64,
		"1125900175278080":     1<<50 | 1<<28,
	} {
		u, err := Parse(text)
		if err != nil || u != want || u.String() != text {
			t.Errorf("Parse(%q) = %d, %v; want %d", text, u, err, want)
		}
	}
	for _, text := range []string{
		"", "0", "00", "0268435456", "+268435456", "-268435456", " 268435456", "268435456 ", "268435456\n", "268_435_456",
		"2.68435456e8", "0x10000000", "٢٦٨٤٣٥٤٥٦", "18446744073709551616", "18446744073709551620", "99999999999999999999", "184467440737095516150",
		"1", "268435455", "1125899906842624", "a", "/268435456", ":", strings.Repeat("9", 100_000),
	} {
		u, err := Parse(text)
		if u != 0 || !errors.Is(err, ErrSyntax) {
			t.Errorf("Parse(%.50q) = %d, %v", text, u, err)
		} else if len(err.Error()) > 200 {
			t.Errorf("Parse(%.50q): a message of %d bytes", text, len(err.Error()))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("268435456")
	f.Add("18446744073709551615")
	f.Add("18446744073709551616")
	f.Add("0268435456")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		n, strictErr := strconv.ParseUint(text, 10, 64)
		strict := strictErr == nil && strconv.FormatUint(n, 10) == text && n>>28&(1<<22-1) != 0
		if (err == nil) != strict || strict && u != UID(n) {
			t.Fatalf("Parse(%q) = %d, %v", text, u, err)
		}
	})
}

func TestSlotOf(t *testing.T) {
	// The slots of these keys must never change, because they are part of the format.
	for key, want := range map[string]Slot{
		"org.example.www": 8911, "org.example": 7158, "urn:": 12010, "[2001:db8::1]": 13607, "": 0xef46 >> 2,
	} {
		if got := SlotOf(key); got != want {
			t.Errorf("SlotOf(%q) = %d, want %d", key, got, want)
		}
	}
	counts := make([]int, NumSlots)
	for i := range 50 * NumSlots {
		counts[SlotOf("org.example.h"+strconv.Itoa(i))]++
	}
	if least, most := slices.Min(counts), slices.Max(counts); least < 15 || most > 100 {
		t.Errorf("of 50 hosts a slot on average, slots have %d to %d", least, most)
	}
}

func TestMix(t *testing.T) {
	// Published outputs of splitmix64: seed, index of the output, value. The state of the
	// generator is the seed plus the index times the golden ratio.
	const golden = uint64(0x9e3779b97f4a7c15)
	for _, test := range []struct{ seed, output, want uint64 }{
		{0, 0, 0},
		{0, 1, 0xe220a8397b1dcdaf},
		{1234567, 1, 6457827717110365317},
		{1234567, 2, 3203168211198807973},
		{1234567, 3, 9817491932198370423},
		{1234567, 4, 4593380528125082431},
		{1234567, 5, 16408922859458223821},
	} {
		if got := Mix(test.seed + test.output*golden); got != test.want {
			t.Errorf("output %d of seed %d: %d, want %d", test.output, test.seed, got, test.want)
		}
	}
	r := random(t)
	for range 200_000 {
		x := r.Uint64() >> r.UintN(64)
		if y := Unmix(Mix(x)); y != x {
			t.Fatalf("Unmix(Mix(%#x)) = %#x", x, y)
		}
		if y := Mix(Unmix(x)); y != x {
			t.Fatalf("Mix(Unmix(%#x)) = %#x", x, y)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("9223372305290231808"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMix(b *testing.B) {
	sum := uint64(0)
	for b.Loop() {
		sum += Mix(sum)
	}
	_ = sum
}
