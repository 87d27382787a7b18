// Tests of lists, also of damaged ones.

package positional

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
)

func TestLists(t *testing.T) {
	for _, test := range []struct {
		source  UID
		targets []UID
		differ  []int64
		coded   []byte
	}{
		{5, nil, []int64{}, nil},
		{5, []UID{5}, []int64{0}, []byte{0}},
		{2, []UID{0, 1}, []int64{-2, 1}, []byte{3, 1}},
		{19, []UID{6, 20}, []int64{-13, 14}, []byte{25, 14}},
		{0, []UID{64, 264}, []int64{64, 200}, []byte{128, 1, 200, 1}},
		{0, []UID{math.MaxUint64}, []int64{-1}, []byte{1}},
		{math.MaxUint64, []UID{0, math.MaxUint64}, []int64{1, -1}, []byte{2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}},
	} {
		if got := Differences(test.source, test.targets); !slices.Equal(got, test.differ) {
			t.Errorf("differences of %d: %d are %d, want %d", test.source, test.targets, got, test.differ)
		}
		coded := AppendList([]byte{9}, test.source, test.targets)
		if !bytes.Equal(coded[1:], test.coded) || coded[0] != 9 {
			t.Errorf("%d: %d coded as %d, want %d", test.source, test.targets, coded[1:], test.coded)
		}
		decoded, err := DecodeList([]UID{8}, test.source, coded[1:])
		if err != nil || decoded[0] != 8 || !slices.Equal(decoded[1:], test.targets) {
			t.Errorf("%d decoded: %d, %v; want %d", coded, decoded, err, test.targets)
		}
	}
}

func TestDamagedLists(t *testing.T) {
	for _, b := range [][]byte{
		{0x80},
		{2, 0},
		{2, 0x80},
		{2, 1, 0x80, 0x80},
		{2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1},
		{2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2},
		{128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1},
	} {
		got, err := DecodeList([]UID{8}, 10, b)
		if !errors.Is(err, ErrCorrupt) || !slices.Equal(got, []UID{8}) {
			t.Errorf("%d: %d, %v", b, got, err)
		}
	}
}

func FuzzDecodeList(f *testing.F) {
	f.Add(uint64(19), []byte{25, 14})
	f.Add(uint64(2), []byte{3, 1})
	f.Add(uint64(math.MaxUint64), []byte{2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, source uint64, b []byte) {
		targets, err := DecodeList(nil, UID(source), b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) || targets != nil {
				t.Fatalf("%d, %v", targets, err)
			}
			return
		}
		if len(targets) > len(b) {
			t.Fatalf("%d targets of %d bytes", len(targets), len(b))
		}
		for i := 1; i < len(targets); i++ {
			if targets[i] <= targets[i-1] {
				t.Fatalf("not ascending: %d", targets)
			}
		}
		again, err := DecodeList(nil, UID(source), AppendList(nil, UID(source), targets))
		if err != nil || !slices.Equal(again, targets) {
			t.Fatalf("%d, again %d, %v", targets, again, err)
		}
	})
}
