// Compression of answers by Accept-Encoding (RFC 9110, sections 8.4 and 12.5.3).

package response

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/trefoildb/trefoil/internal/server/limits"
)

const (
	// minCompressed is the length from which an answer is compressed.
	minCompressed = 1 << 10
	// encoderBytes is about the memory of an encoder with its buffers.
	encoderBytes = 1200 << 10
	// window is how far back an encoder refers. Each running answer holds some windows.
	window = 256 << 10
	// wireBytes is the size of the buffer behind an encoder, because gzip writes a few bytes at a time.
	wireBytes = 32 << 10
	// promptBytes is the size of a write that is passed on at once, because it is a full buffer of a
	// stream. Smaller writes wait in the encoder for the next one, for Flush or for the end.
	promptBytes = 16 << 10
)

// encoder compresses one answer at a time.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(io.Writer)
}

// coding is a content coding. idle holds encoders.
type coding struct {
	name string
	idle *sync.Pool
}

// codings are the offered codings. The first is preferred if the client weighs them equally. gzip is
// before br, because it is faster and the results have similar sizes at these levels.
var codings = []coding{
	{"zstd", &sync.Pool{New: func() any {
		z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return encoder(z)
	}}},
	{"gzip", &sync.Pool{New: func() any {
		z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant
		}
		return encoder(z)
	}}},
	{"br", &sync.Pool{New: func() any {
		return encoder(brotli.NewWriterOptions(nil, brotli.WriterOptions{Quality: 2, LGWin: 18})) // 1<<18 is window
	}}},
}

// codingOf returns the coding with the greatest weight in an Accept-Encoding header. It returns nil
// if the header accepts none, or if it prefers the answer as it is (identity).
func codingOf(values []string) *coding {
	header := strings.Join(values, ",")
	if header == "" {
		return nil
	}
	var best *coding
	bestQ := max(quality(header, "identity")-1, 0) // the same weight is enough
	for i := range codings {
		if q := quality(header, codings[i].name); q > bestQ {
			best, bestQ = &codings[i], q
		}
	}
	return best
}

// compression is the state of a [Writer] for one answer. The zero value sends it as it is.
type compression struct {
	accept  []string // Accept-Encoding
	account *limits.Account
	head    bool // the answer has no body

	coding  *coding
	encoder encoder
	wire    *bufio.Writer // behind the encoder
}

// Compress lets the writer compress the answer to a request. The budget is that of all encoders: if
// it is spent, answers are sent as they are. End must be called if the answer is complete, and Abort
// in any case.
func (w *Writer) Compress(r *http.Request, encoders *limits.Budget) {
	if !r.ProtoAtLeast(1, 1) {
		return // because the end of a body of unknown length is not marked
	}
	w.compression = compression{accept: r.Header.Values("Accept-Encoding"), account: limits.NewAccount(encoders, r), head: r.Method == http.MethodHead}
}

// begin chooses the coding of an answer, and sets its headers. It must be called right before the
// header is sent.
func (c *compression) begin(h http.Header, status int, wire io.Writer) {
	// 1. Find out if the answer is to be compressed. One without a length is a stream.
	h.Add("Vary", "Accept-Encoding")
	if len(c.accept) == 0 || status < 200 || status == http.StatusNoContent || status == http.StatusNotModified || !compressible(h) {
		return
	}
	length, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	if err == nil && length < minCompressed || err != nil && c.head {
		return
	}
	chosen := codingOf(c.accept)
	if chosen == nil || !c.head && c.account.Grow(encoderBytes) != nil {
		return
	}
	// 2. The header is that of the compressed answer, also for HEAD.
	h.Set("Content-Encoding", chosen.name)
	h.Del("Content-Length")
	if c.head {
		return
	}
	c.coding, c.wire = chosen, bufio.NewWriterSize(wire, wireBytes)
	c.encoder = chosen.idle.Get().(encoder)
	c.encoder.Reset(c.wire)
}

// compressible reports whether an answer with these headers may be compressed. A strong ETag names
// the very bytes of the answer. Archives and modules are compressed already, or are no text.
func compressible(h http.Header) bool {
	if h.Get("Content-Encoding") != "" || strings.HasPrefix(h.Get("ETag"), `"`) {
		return false
	}
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch mediaType {
	case "", "application/x-tar", "application/wasm", "application/octet-stream":
		return false
	}
	return true
}

// write compresses b. A large write is on its way to the client when it returns.
func (c *compression) write(b []byte) (int, error) {
	n, err := c.encoder.Write(b)
	if err == nil && len(b) >= promptBytes {
		err = c.flush()
	}
	return n, err
}

// flush passes on what the encoder holds.
func (c *compression) flush() error {
	if err := c.encoder.Flush(); err != nil {
		return err
	}
	return c.wire.Flush()
}

// End ends a compressed answer.
func (w *Writer) End() error {
	c := &w.compression
	if c.encoder == nil {
		return nil
	}
	if err := c.encoder.Close(); err != nil {
		return err
	}
	return c.wire.Flush()
}

// Abort returns the encoder, if there is one. What it holds is not sent. It may be called after End.
func (w *Writer) Abort() {
	c := &w.compression
	if c.encoder == nil {
		return
	}
	c.encoder.Reset(io.Discard)
	c.coding.idle.Put(c.encoder)
	c.encoder = nil
	c.account.Release()
}
