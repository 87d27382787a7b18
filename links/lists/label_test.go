// Tests of labels: single ones, and columns of them.

package lists

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/goldenfile"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

var weights = []float64{0, 1, 2, 63, 64, 1e6, 1 << 53, 1<<53 + 2, math.Copysign(0, -1), -1, 0.5, math.Pi, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324}

// same reports whether two labels are equal bit by bit.
func same(a, b Label) bool {
	return math.Float64bits(a.Weight) == math.Float64bits(b.Weight) && a.Anchor == b.Anchor
}

func TestLabelBytes(t *testing.T) {
	var text strings.Builder
	for _, w := range weights {
		for _, anchor := range []string{"", "home", "größer\x00\xff"} {
			l := Label{w, anchor}
			b := AppendLabel([]byte("x"), l)[1:]
			got, err := DecodeLabel(b)
			if err != nil || !same(got, l) {
				t.Errorf("%v: %x: %v, %v", l, b, got, err)
			}
			fmt.Fprintf(&text, "%x %v %q\n", b, w, anchor)
		}
	}
	goldenfile.Check(t, "testdata/labels.txt", text.String())
	long := Label{1, strings.Repeat("a", MaxAnchor+5)}
	if got, err := DecodeLabel(AppendLabel(nil, long)); err != nil || got.Anchor != long.Anchor[:MaxAnchor] {
		t.Errorf("long anchor: %d, %v", len(got.Anchor), err)
	}
}

func TestLabelRefused(t *testing.T) {
	for text, want := range map[string]error{
		"":                       ErrCorrupt,
		"02":                     ErrVersion,
		"01":                     ErrCorrupt,
		"0101":                   ErrCorrupt, // no eight bytes
		"0103":                   ErrCorrupt, // odd
		"018200":                 ErrCorrupt, // longer than it must be
		"0180808080808080808001": ErrCorrupt,
		"01818080808080804001":   ErrCorrupt,
		"0101000000000000f03f":   ErrCorrupt, // 1, which is an integer
		"018480808080808020":     ErrCorrupt, // above 2^53
		"01" + "02" + strings.Repeat("61", MaxAnchor+1): ErrCorrupt,
	} {
		b, _ := hex.DecodeString(text)
		if l, err := DecodeLabel(b); !errors.Is(err, want) {
			t.Errorf("%.30s: %v, %v", text, l, err)
		}
	}
}

func FuzzDecodeLabel(f *testing.F) {
	f.Add(AppendLabel(nil, Label{3, "three"}))
	f.Add(AppendLabel(nil, Label{0.5, ""}))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := DecodeLabel(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
				t.Fatal(err)
			}
			return
		}
		if again := AppendLabel(nil, l); !bytes.Equal(again, b) {
			t.Fatalf("%x is encoded again as %x", b, again)
		}
	})
}

// words are the words of anchors.
var words = strings.Fields("home next back about the contact page of university department index more map search Größe")

func anchor(rng *rand.Rand) string {
	var out []string
	for range rng.IntN(5) {
		out = append(out, words[rng.IntN(len(words))])
	}
	return strings.Join(out, " ")
}

func randomLabels(rng *rand.Rand, n int) []Label {
	labels := make([]Label, n)
	kind, text := rng.IntN(4), rng.IntN(3)
	for i := range labels {
		l := &labels[i]
		switch kind {
		case 0:
			l.Weight = 1
		case 1:
			l.Weight = float64(n)
		case 2:
			l.Weight = float64(rng.IntN(100))
		case 3:
			l.Weight = weights[rng.IntN(len(weights))]
		}
		if text > 0 {
			l.Anchor = anchor(rng)
		}
	}
	return labels
}

func buildLabels(t testing.TB, all map[uint32][]Label, n uint32) []byte {
	t.Helper()
	var b LabelBuilder
	for key := range n {
		require.NoError(t, b.Append(key, all[key]))
	}
	return b.AppendTo(nil)
}

func TestLabelColumns(t *testing.T) {
	rng := random(t)
	all := map[uint32][]Label{}
	const n = 3000
	for range 300 {
		all[rng.Uint32N(n)] = randomLabels(rng, rng.IntN(40))
	}
	all[5] = randomLabels(rng, chunkLabels)
	all[6] = randomLabels(rng, 5*chunkLabels+1)
	all[8] = []Label{{0, ""}, {math.Copysign(0, -1), ""}} // equal, and not the same
	all[9] = []Label{{math.NaN(), "a"}, {math.NaN(), ""}}
	all[7] = []Label{{1, strings.Repeat("long ", chunkAnchors)}, {2, strings.Repeat("x", MaxAnchor+9)}, {3, "short"}}
	want7 := []Label{all[7][0], {2, all[7][1].Anchor[:MaxAnchor]}, all[7][2]}
	data := buildLabels(t, all, n)
	c, err := OpenLabels(data)
	require.NoError(t, err)
	keys, labels := 0, 0
	for key := range uint32(n + 10) {
		want := all[key]
		if key == 7 {
			want = want7
		}
		before := Label{9, "before"}
		got, err := c.AppendLabels([]Label{before}, key)
		if err != nil || len(got) != 1+len(want) || got[0] != before || c.Has(key) != (len(want) > 0) {
			t.Fatalf("key %d: %d, %v, want %d", key, len(got), err, len(want))
		}
		for i, w := range want {
			if !same(got[i+1], w) {
				t.Fatalf("key %d, label %d: %v, want %v", key, i, got[i+1], w)
			}
		}
		labels += len(want)
		if len(want) > 0 {
			keys++
		}
	}
	if c.NumKeys() != keys || int(c.NumLabels()) != labels {
		t.Fatalf("%d keys, %d labels; want %d, %d", c.NumKeys(), c.NumLabels(), keys, labels)
	}
	for chunk, err := range c.Chunks(6) {
		if err != nil || len(chunk) != chunkLabels {
			t.Fatalf("%d, %v", len(chunk), err)
		}
		break
	}
}

func TestLabelBuilderRefuses(t *testing.T) {
	var b LabelBuilder
	one := []Label{{1, ""}}
	if b.Append(5, one) != nil || !errors.Is(b.Append(5, one), ErrOrder) || !errors.Is(b.Append(4, one), ErrOrder) || b.Append(6, one) != nil {
		t.Error("order of keys")
	}
}

// TestHostileAnchors reads a chunk with a length of a gigabyte of anchors.
func TestHostileAnchors(t *testing.T) {
	chunk := binary.AppendUvarint(nil, chunkLabels<<headBits|anchorsPlain)
	for range chunkLabels {
		chunk = binary.AppendUvarint(chunk, MaxAnchor)
	}
	chunk = append(chunk, 3, 1, 2, 3)
	var b LabelBuilder
	b.keys, b.positions, b.data = []uint64{1}, []uint64{0}, chunk
	c, err := OpenLabels(b.AppendTo(nil))
	require.NoError(t, err)
	if n := allocated(func() { _, err = c.AppendLabels(nil, 1) }); n > 4*maxChunk || !errors.Is(err, ErrCorrupt) {
		t.Errorf("%d bytes allocated, %v", n, err)
	}
}

// TestLabelsCostNothing checks the cost of keys without labels.
func TestLabelsCostNothing(t *testing.T) {
	none := buildLabels(t, nil, 10000)
	if len(none) > 128 {
		t.Errorf("no labels take %d bytes", len(none))
	}
	all := map[uint32][]Label{}
	for key := uint32(0); key < 10000; key += 10 {
		all[key] = []Label{{1, ""}, {1, ""}}
	}
	if data := buildLabels(t, all, 10000); len(data) > 1000*3 {
		t.Errorf("1,000 keys with labels that say nothing take %d bytes", len(data))
	}
}

func TestGoldenLabelColumn(t *testing.T) {
	all := map[uint32][]Label{
		2:  {{1, ""}, {1, ""}},
		3:  {{7, "seven"}, {7, ""}},
		40: {{0.5, "half"}, {3, "three"}},
		41: {{1, strings.Repeat("again and again ", 20)}},
	}
	data := buildLabels(t, all, 100)
	c, err := OpenLabels(data)
	require.NoError(t, err)
	// The keys and positions between them are package ef's.
	goldenfile.Check(t, "testdata/labels.plain.hex", hex.Dump(data[:16])+"\n"+hex.Dump(data[len(data)-len(c.data):]))
}

func readLabels(t *testing.T, data []byte) (failed bool) {
	t.Helper()
	c, err := OpenLabels(data)
	if err != nil {
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Fatal(err)
		}
		return true
	}
	for i := range min(c.keys.Len(), 100) {
		key := c.keys.At(i)
		if key > math.MaxUint32 {
			continue
		}
		labels, err := c.AppendLabels(nil, uint32(key))
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || labels != nil {
				t.Fatalf("%v, %v", labels, err)
			}
			failed = true
		}
	}
	return failed
}

func TestLabelColumnFlippedBits(t *testing.T) {
	rng := random(t)
	all := map[uint32][]Label{1: randomLabels(rng, 5), 2: randomLabels(rng, 30), 9: {{1, strings.Repeat("again and again ", 20)}}}
	data := buildLabels(t, all, 10)
	failed := 0
	for bit := range len(data) * 8 {
		data[bit/8] ^= 1 << (bit % 8)
		if readLabels(t, data) {
			failed++
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	if failed == 0 {
		t.Error("no flip is seen")
	}
	for end := range data {
		if _, err := OpenLabels(data[:end]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", end, len(data), err)
		}
	}
}

func FuzzOpenLabels(f *testing.F) {
	all := map[uint32][]Label{1: {{2, "two"}, {0.5, "half"}}, 9: {{1, strings.Repeat("again and again ", 20)}}}
	f.Add(buildLabels(f, all, 10))
	f.Fuzz(func(t *testing.T, data []byte) { readLabels(t, data) })
}

// FuzzLabelChunks replaces the labels by arbitrary bytes.
func FuzzLabelChunks(f *testing.F) {
	f.Add([]byte{0x10})
	f.Fuzz(func(t *testing.T, data []byte) {
		var b LabelBuilder
		b.keys, b.positions, b.data = []uint64{1}, []uint64{0}, data
		readLabels(t, b.AppendTo(nil))
	})
}

// BenchmarkLabels reads the labels of random keys, and reports their size.
func BenchmarkLabels(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 0))
	all := map[uint32][]Label{}
	const n = 5000
	labels, text := 0, 0
	for key := range uint32(n) {
		for range 1 + rng.IntN(35) {
			l := Label{1, anchor(rng)}
			all[key] = append(all[key], l)
			labels++
			text += len(l.Anchor)
		}
	}
	data := buildLabels(b, all, n)
	c, err := OpenLabels(data)
	if err != nil {
		b.Fatal(err)
	}
	var dst []Label
	for b.Loop() {
		if dst, err = c.AppendLabels(dst[:0], rng.Uint32N(n)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data))/float64(labels), "B/label")
	b.ReportMetric(float64(text)/float64(labels), "anchorB/label")
}
