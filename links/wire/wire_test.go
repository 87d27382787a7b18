// Tests of the messages: a written message must be read in any pieces, and other bytes must be an
// error.

package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// TestNumbers compares with encoding/binary at all lengths.
func TestNumbers(t *testing.T) {
	check := func(v uint64) {
		t.Helper()
		want := binary.AppendUvarint(nil, v)
		b := bytes.Repeat([]byte{0xff}, 24)
		n := putNumber(b, v)
		if !bytes.Equal(b[:n], want) {
			t.Fatalf("%d is written %x, want %x", v, b[:n], want)
		}
		for _, in := range [][]byte{b, b[:n]} {
			if got, m := number(in); got != v || m != n {
				t.Fatalf("%x is read %d of %d bytes", in, got, m)
			}
		}
		if _, m := number(b[: n-1 : n-1]); m != 0 {
			t.Fatalf("%x without its end is a number of %d bytes", want, m)
		}
		if unzigzag(zigzag(v)) != v {
			t.Fatalf("zigzag(%d) is %d", v, zigzag(v))
		}
	}
	for shift := range 65 {
		for _, d := range []uint64{0, 1, math.MaxUint64} {
			check(uint64(1)<<shift + d)
		}
	}
	r := random(t)
	for range 10_000 {
		check(r.Uint64() >> r.IntN(64))
	}
	for _, long := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00\x00", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"} {
		if _, n := number([]byte(long)); n != 0 {
			t.Errorf("%x is a number", long)
		}
	}
}

func TestRequests(t *testing.T) {
	r := random(t)
	for round := range 300 {
		q := Request{Direction: links.Direction(r.IntN(2)), Labels: r.IntN(2) == 0, Sample: sample.Spec{N: r.IntN(maxSample),
			Mode: sample.Mode(r.IntN(2)), Class: sample.Class(r.IntN(3)), Seed: r.Uint64() >> r.IntN(64)}}
		if round%2 == 0 {
			q.UIDs = someUIDs(r, r.IntN(100))
		} else {
			for range 1 + r.IntN(20) {
				q.URLs = append(q.URLs, strings.Repeat("ü", r.IntN(300)))
			}
		}
		b := AppendRequest([]byte("before"), &q)[6:]
		got, err := DecodeRequest(b, 100)
		if err != nil || !slices.Equal(got.UIDs, q.UIDs) || !slices.Equal(got.URLs, q.URLs) || got.Direction != q.Direction ||
			got.Labels != q.Labels || got.Sample != q.Sample {
			t.Fatalf("%+v is read %+v, %v", q, got, err)
		}
		for end := range b {
			if _, err := DecodeRequest(b[:end], 100); !errors.Is(err, ErrMalformed) {
				t.Fatalf("%d bytes of %x: %v", end, b, err)
			}
		}
		if _, err := DecodeRequest(append(b, 'E'), 100); !errors.Is(err, ErrMalformed) {
			t.Fatalf("a byte more: %v", err)
		}
		if n := len(q.UIDs) + len(q.URLs); n > 0 {
			if _, err := DecodeRequest(b, n-1); !errors.Is(err, ErrTooMany) {
				t.Fatalf("%d where %d are taken: %v", n, n-1, err)
			}
		}
	}
}

// TestBadRequests changes one byte of the head.
func TestBadRequests(t *testing.T) {
	good := AppendRequest(nil, &Request{UIDs: []uid.UID{5}, Sample: sample.Spec{N: 3}})
	for at, value := range map[int]byte{0: 'T', 1: 'l', 2: 'L', 3: 2, 4: 3, 5: 2, 6: 2, 7: 2, 8: 3, 11: 0, 12: 200, 13: 'e'} {
		b := slices.Clone(good)
		b[at] = value
		if _, err := DecodeRequest(b, 10); !errors.Is(err, ErrMalformed) {
			t.Errorf("byte %d is %d: %v", at, value, err)
		}
	}
	// A count must not take memory if the bytes do not hold its items.
	b := append(binary.AppendUvarint(slices.Clone(good[:11]), math.MaxInt64), good[12:]...)
	if _, err := DecodeRequest(b, math.MaxInt); !errors.Is(err, ErrMalformed) {
		t.Errorf("a count of 2^63-1: %v", err)
	}
}

// TestAnswers reads written answers, byte by byte too. A part of one must be an error.
func TestAnswers(t *testing.T) {
	r := random(t)
	for round := range 60 {
		messages := []message{{kind: UIDs, uids: someUIDs(r, r.IntN(60))}, {kind: URLs}, {kind: Degrees}, {kind: Lists}, {kind: LabelledLists}}
		for range r.IntN(20) {
			messages[1].urls = append(messages[1].urls, strings.Repeat("x", r.IntN(40)))
			messages[2].degrees = append(messages[2].degrees, r.IntN(math.MaxInt)>>r.IntN(63))
			list := someList(r, r.IntN(30))
			messages[3].lists = append(messages[3].lists, list)
			messages[4].lists = append(messages[4].lists, list)
			messages[4].labels = append(messages[4].labels, someLabels(r, len(list)))
		}
		for _, m := range messages {
			b := m.bytes(t)
			for _, in := range []io.Reader{bytes.NewReader(b), iotest.OneByteReader(bytes.NewReader(b)), iotest.DataErrReader(bytes.NewReader(b))} {
				if got, err := read(NewReader(in, m.kind, m.count()), m.kind, m.count()); err != nil || !got.equal(&m) {
					t.Fatalf("round %d: %+v is read %+v, %v", round, m, got, err)
				}
			}
			end := r.IntN(len(b))
			if _, err := read(NewReader(bytes.NewReader(b[:end]), m.kind, m.count()), m.kind, m.count()); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%d of %d bytes of kind %c: %v", end, len(b), m.kind, err)
			}
			if _, err := read(NewReader(bytes.NewReader(append(b, 'E')), m.kind, m.count()), m.kind, m.count()); !errors.Is(err, ErrMalformed) {
				t.Fatalf("a byte more: %v", err)
			}
			if err := NewReader(bytes.NewReader(b), m.kind, m.count()+1).Err(); !errors.Is(err, ErrMalformed) {
				t.Fatalf("another count: %v", err)
			}
			if err := NewReader(bytes.NewReader(b), Query, m.count()).Err(); !errors.Is(err, ErrMalformed) {
				t.Fatalf("another kind: %v", err)
			}
		}
	}
}

// TestLongItems has items that are longer than buffers.
func TestLongItems(t *testing.T) {
	list := make([]uid.UID, 300_000)
	for i := range list {
		list[i] = uid.UID(i+1) << 20
	}
	labels := slices.Repeat([]links.Label{cell.NoLabel}, len(list))
	labels[7] = links.Label{Weight: math.Inf(1), Anchor: strings.Repeat("\xff", lists.MaxAnchor)}
	for _, m := range []message{
		{kind: Lists, lists: [][]uid.UID{list[:1], list, nil, list}},
		{kind: LabelledLists, lists: [][]uid.UID{list, nil}, labels: [][]links.Label{labels, nil}},
		{kind: URLs, urls: []string{strings.Repeat("long", 100_000), "", strings.Repeat("x", 64<<10), strings.Repeat("y", 64<<10+1)}},
	} {
		b := m.bytes(t)
		got, err := read(NewReader(bytes.NewReader(b), m.kind, m.count()), m.kind, m.count())
		if err != nil || !got.equal(&m) {
			t.Errorf("kind %c: not what was written, %v", m.kind, err)
		}
	}
}

// TestWriterErrors: the writer must reject items against the format.
func TestWriterErrors(t *testing.T) {
	failed := errors.New("no room")
	for name, write := range map[string]func(w *Writer){
		"too few":     func(w *Writer) { _ = w.List(nil, nil) },
		"too many":    func(w *Writer) { _ = w.List(nil, nil); _ = w.List(nil, nil); _ = w.List(nil, nil) },
		"other kind":  func(w *Writer) { _ = w.List(nil, nil); w.UID(1) },
		"no order":    func(w *Writer) { _ = w.List([]uid.UID{2, 1}, nil); _ = w.List(nil, nil) },
		"duplicate":   func(w *Writer) { _ = w.List([]uid.UID{2, 2}, nil); _ = w.List(nil, nil) },
		"no UID":      func(w *Writer) { _ = w.List([]uid.UID{0}, nil); _ = w.List(nil, nil) },
		"few labels":  func(w *Writer) { w.kind = LabelledLists; _ = w.List([]uid.UID{1}, nil); _ = w.List(nil, nil) },
		"few degrees": func(w *Writer) { w.kind = Degrees; w.Degree(1) },
	} {
		w := NewWriter(io.Discard, Lists, 2)
		write(w)
		if w.Close() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w := NewWriter(iotestWriter{failed}, Lists, 1)
	_ = w.List([]uid.UID{1}, nil)
	if err := w.Close(); err != failed {
		t.Errorf("a writer that fails: %v", err)
	}
	if err := NewReader(iotest.ErrReader(failed), Lists, 1).Close(); err != failed {
		t.Errorf("a reader that fails: %v", err)
	}
}

type iotestWriter struct{ err error }

func (w iotestWriter) Write([]byte) (int, error) { return 0, w.err }

// TestMalformedAnswers has invalid lists, labels and degrees.
func TestMalformedAnswers(t *testing.T) {
	number := func(v uint64) string { return string(binary.AppendUvarint(nil, v)) }
	for name, c := range map[string]struct {
		kind Kind
		text string
	}{
		"version":            {Lists, "tL\x4c\x02\x01\x00E"},
		"duplicate":          {Lists, "tLL\x01\x01" + "\x02\x05\x00E"},
		"beyond 64 bits":     {Lists, "tLL\x01\x01" + "\x02\x05" + number(math.MaxUint64-4) + "E"},
		"number too long":    {Lists, "tLL\x01\x01" + "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x05E"},
		"form of labels":     {LabelledLists, "tLM\x01\x01" + "\x01\x05\x02\x00E"},
		"label":              {LabelledLists, "tLM\x01\x01" + "\x01\x05\x01\x01\x09E"},
		"label of 2 MiB":     {LabelledLists, "tLM\x01\x01" + "\x01\x05\x01" + number(2<<20) + strings.Repeat("x", 2<<20) + "E"},
		"negative degree":    {Degrees, "tLD\x01\x01" + number(math.MaxUint64) + "E"},
		"no end":             {Degrees, "tLD\x01\x01\x05e"},
		"text of 2^63 or so": {URLs, "tLT\x01\x01" + number(1<<63) + "E"},
	} {
		_, err := read(NewReader(strings.NewReader(c.text), c.kind, 1), c.kind, 1)
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Lengths with nothing behind them.
	for _, c := range []struct {
		kind Kind
		text string
	}{{URLs, "tLT\x01\x01" + number(1<<40) + "E"}, {Lists, "tLL\x01\x01" + number(1<<60) + "\x01\x01\x01"}} {
		if _, err := read(NewReader(strings.NewReader(c.text), c.kind, 1), c.kind, 1); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("kind %c with a length of much: %v", c.kind, err)
		}
	}
}

func BenchmarkWriteLists(b *testing.B) {
	all := benchLists(b)
	b.ReportAllocs()
	bytes, links := 0, 0
	for b.Loop() {
		w := NewWriter(countingWriter{&bytes}, Lists, len(all))
		for _, list := range all {
			_ = w.List(list, nil)
			links += len(list)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(bytes)/float64(links), "B/link")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(links), "ns/link")
}

func BenchmarkReadLists(b *testing.B) {
	all := benchLists(b)
	m := message{kind: Lists, lists: all}
	text := m.bytes(b)
	var dst []uid.UID
	b.ReportAllocs()
	links := 0
	for b.Loop() {
		r := NewReader(bytes.NewReader(text), Lists, len(all))
		dst = dst[:0]
		for range all {
			dst = r.List(dst)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		links += len(dst)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(links), "ns/link")
}

// benchLists returns 10,000 lists of about 18 links, 3 of 4 near each other.
func benchLists(b *testing.B) [][]uid.UID {
	r := random(b)
	all := make([][]uid.UID, 10_000)
	for i := range all {
		host := uid.Make(uid.Slot(r.IntN(uid.NumSlots)), 1+r.Uint32N(100), 0)
		for range r.IntN(37) {
			u := host + uid.UID(r.IntN(200))
			if r.IntN(4) == 0 {
				u = uid.Make(uid.Slot(r.IntN(uid.NumSlots)), 1+r.Uint32N(100), r.Uint32N(1000))
			}
			all[i] = append(all[i], u)
		}
		slices.Sort(all[i])
		all[i] = slices.Compact(all[i])
	}
	return all
}

type countingWriter struct{ n *int }

func (w countingWriter) Write(b []byte) (int, error) {
	*w.n += len(b)
	return len(b), nil
}
