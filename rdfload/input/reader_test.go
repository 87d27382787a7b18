// Tests of the reader: compressions, truncation and bombs.

package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// sample is the content of the files in testdata, a line in each member.
const sample = "<http://ex/s> <http://ex/p> \"1\" .\n<http://ex/s> <http://ex/p> \"2\" .\n"

// compressed returns the parts, each compressed as its own member.
func compressed(t testing.TB, c Compression, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, part := range parts {
		var w io.WriteCloser
		var err error
		switch c {
		case Gzip:
			w = gzip.NewWriter(&out)
		case Zstd:
			w, err = zstd.NewWriter(&out)
		case XZ:
			w, err = xz.NewWriter(&out)
		default:
			t.Fatalf("%v cannot be written", c)
		}
		if err == nil {
			if _, err = io.WriteString(w, part); err == nil {
				err = w.Close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// members returns sample in two members by every kind of compression.
func members(t testing.TB) map[Compression][]byte {
	t.Helper()
	a, b, _ := strings.Cut(sample, "\n")
	all := map[Compression][]byte{Plain: []byte(sample)}
	for _, c := range []Compression{Gzip, Zstd, XZ} {
		all[c] = compressed(t, c, a+"\n", b)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "two-members.nt.bz2"))
	if err != nil {
		t.Fatal(err)
	}
	all[Bzip2] = data
	return all
}

func read(data []byte, limits Limits) (string, error) {
	r, err := NewReader(bytes.NewReader(data), "x", limits)
	if err != nil {
		return "", err
	}
	defer r.Close()
	out, err := io.ReadAll(r)
	return string(out), err
}

func TestMembers(t *testing.T) {
	for c, data := range members(t) {
		r, err := NewReader(iotest.HalfReader(bytes.NewReader(data)), "x", Limits{})
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		out, err := io.ReadAll(r)
		if err != nil || string(out) != sample || r.Compression() != c {
			t.Errorf("%v: got %v, %q, %v", c, r.Compression(), out, err)
		}
		if r.BytesIn() != int64(len(data)) || r.BytesOut() != int64(len(sample)) {
			t.Errorf("%v: %d bytes in, %d out; want %d, %d", c, r.BytesIn(), r.BytesOut(), len(data), len(sample))
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("%v: a second end is %d, %v", c, n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPadding: zeros behind the last member are what the tool of each format makes of them. gzip and
// xz (a multiple of four) ignore them. zstd reports an error. bzip2 warns, which a loader cannot.
func TestPadding(t *testing.T) {
	for c, data := range members(t) {
		for _, zeros := range []int{1, 4, 512} {
			out, err := read(append(bytes.Clone(data), make([]byte, zeros)...), Limits{})
			if c == Plain {
				continue
			}
			want := c == Gzip || c == XZ && zeros%4 == 0
			if (err == nil) != want || err == nil && out != sample {
				t.Errorf("%v with %d zeros: %q, %v", c, zeros, out, err)
			}
		}
	}
}

// TestXZPadding: streams with zeros between them, of other checks.
func TestXZPadding(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "two-members.nt.xz"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := read(data, Limits{}); err != nil || out != sample {
		t.Errorf("got %q, %v", out, err)
	}
}

// TestTruncated: if compressed data is cut anywhere, reading must fail, or end between two members.
func TestTruncated(t *testing.T) {
	for c, data := range members(t) {
		if c == Plain {
			continue
		}
		ends := 0
		for n := 6; n < len(data); n++ {
			out, err := read(data[:n], Limits{})
			switch {
			case err == nil && out == strings.SplitAfter(sample, "\n")[0]:
				ends++
			case err == nil:
				t.Errorf("%v cut to %d of %d bytes gave %q and no error", c, n, len(data), out)
			case !errors.Is(err, ErrTruncated):
				t.Errorf("%v cut to %d of %d bytes: %v", c, n, len(data), err)
			}
		}
		if ends != 1 {
			t.Errorf("%v ends well at %d cuts, want 1", c, ends)
		}
	}
}

// TestFlippedBits: damage must be an error, never another document.
func TestFlippedBits(t *testing.T) {
	seed.Slow(t)
	for c, data := range members(t) {
		if c == Plain || c == Gzip || c == Zstd { // their headers have bits that mean nothing
			continue
		}
		step := 3
		if testing.Short() {
			step = 29
		}
		for i := 0; i < len(data)*8; i += step {
			damaged := bytes.Clone(data)
			damaged[i/8] ^= 1 << (i % 8)
			if Detect(damaged) != c {
				continue
			}
			if out, err := read(damaged, Limits{}); err == nil && out != sample {
				t.Errorf("%v with bit %d flipped gave %q", c, i, out)
			}
		}
	}
}

func TestBomb(t *testing.T) {
	var zeros bytes.Buffer
	w, err := zstd.NewWriter(&zeros)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(w, zeroReader{}, ratioFrom+1<<20); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(zeros.Bytes(), Limits{}); !errors.Is(err, ErrBomb) {
		t.Errorf("got %v", err)
	}
	if _, err := read(zeros.Bytes(), Limits{MaxRatio: 1 << 40}); err != nil {
		t.Errorf("with a greater ratio: %v", err)
	}
	if out, err := read(zeros.Bytes(), Limits{MaxBytes: 1 << 20}); err == nil || len(out) > 1<<20 {
		t.Errorf("%d bytes in spite of MaxBytes, %v", len(out), err)
	}
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestWindows: a stream must not make the decompressor allocate gigabytes.
func TestWindows(t *testing.T) {
	// A zstd frame with a window descriptor of 2 GiB.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00}
	if _, err := read(frame, Limits{}); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("zstd: got %v", err)
	}
	var out bytes.Buffer
	w, err := xz.WriterConfig{DictCap: 256 << 20}.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte(sample))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(out.Bytes(), Limits{}); err == nil || !strings.Contains(err.Error(), "dictionary of 256 MiB") {
		t.Errorf("xz: got %v", err)
	}
}

// TestReadError: an error of the input must be returned as it is, not as a truncation.
func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	for c, data := range members(t) {
		in := io.MultiReader(bytes.NewReader(data[:len(data)-3]), iotest.ErrReader(broken))
		r, err := NewReader(in, "x", Limits{})
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, broken) || errors.Is(err, ErrTruncated) {
			t.Errorf("%v: got %v", c, err)
		}
	}
}

func TestSyntax(t *testing.T) {
	for _, test := range []struct {
		data, name string
		star       bool
		want       syntax.Syntax
	}{
		{"", "a.ttl", false, syntax.Turtle},
		{sample, "a.nq.gz", false, syntax.NQuads},
		{sample, "-", false, syntax.NQuads},
		{"@prefix e: <x:> .", "data", false, syntax.TriG},
		{"\x00", "data", false, 0},
		{sample, "a.ttls", false, 0},
		{sample, "a.nqs.zst", false, 0},
		{sample, "A.TTLS", true, syntax.Turtle},
		{sample, "a.trigs", true, syntax.TriG},
		{sample, "a.nts.gz", true, syntax.NTriples},
		{sample, "a.nqs", true, syntax.NQuads},
		{sample, "a.nt", true, syntax.NTriples},
	} {
		r, err := NewReader(strings.NewReader(test.data), test.name, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Syntax(test.name, test.star)
		if got != test.want || (test.want == 0) != errors.Is(err, ErrSyntax) {
			t.Errorf("%q: got %v, %v", test.name, got, err)
		}
		if out, err := io.ReadAll(r); string(out) != test.data || err != nil {
			t.Errorf("%q is read as %q, %v", test.data, out, err)
		}
	}
}

// FuzzReader: reading any bytes must end, within the limits.
func FuzzReader(f *testing.F) {
	for _, data := range members(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 20
		r, err := NewReader(bytes.NewReader(data), "x", Limits{MaxBytes: limit})
		if err != nil {
			return
		}
		defer r.Close()
		r.Syntax("x", false)
		n, err := io.Copy(io.Discard, r)
		if n > limit {
			t.Fatalf("%d bytes came out", n)
		}
		if err == nil && Detect(data) == Plain && n != int64(len(data)) {
			t.Fatalf("%d of %d plain bytes came out", n, len(data))
		}
		if errors.Is(err, io.EOF) {
			t.Fatal(fmt.Errorf("an error that is io.EOF: %w", err))
		}
	})
}

// The end of a document is reported once, and damage after it as such. Zeros are no damage.
func TestGzipEnds(t *testing.T) {
	data := string(members(t)[Gzip])
	for _, test := range []struct {
		data string
		want string
	}{
		{data, ""},
		{data + "something else", "bytes follow the last member"},
		{data + "\x1f", "ends too soon"},
		{data + "\x1f\x8b\x08", "ends too soon"},
		{data + "\x1f\x8c\x08\x00\x00\x00\x00\x00\x00\x00", "bytes follow the last member"},
		{data + "\x00", ""},
		{data + strings.Repeat("\x00", 100_000), ""},
		{data + strings.Repeat("\x00", 100_000) + "x", "bytes follow the last member"},
		{data + "\x00" + data, "bytes follow the last member"},
		{data[:len(data)-4], "ends too soon"},
	} {
		r, err := NewReader(strings.NewReader(test.data), "a.gz", Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(r)
		if string(out) != sample && test.want != "ends too soon" {
			t.Errorf("%d bytes: got %q", len(test.data), out)
		}
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "a.gz")) {
			t.Errorf("%d bytes: %v, want %q", len(test.data), err, test.want)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%d bytes: closed with %v", len(test.data), err)
		}
	}
}
