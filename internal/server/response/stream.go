// Answers sent while they are computed.

package response

import (
	"net/http"
	"strconv"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// maxPooledBytes bounds pooled buffers, because a huge term may grow one.
const maxPooledBytes = 1 << 20

// ChunkSlack is the free room in a buffer for its last row.
const ChunkSlack = 2 << 10

// Stream sends an answer while it is computed. The header is sent with the first full buffer. So an
// error before it gets a status of its own, and a small answer gets its length. A later error must
// abort the connection, because no client may take the answer for complete.
type Stream struct {
	w      http.ResponseWriter
	http11 bool
	hint   string // advice for a client of HTTP/1.0
	chunk  *[]byte
	Buf    []byte
	sent   bool
}

func NewStream(w http.ResponseWriter, r *http.Request, hint string) *Stream {
	chunk := chunks.Get().(*[]byte)
	return &Stream{w: w, http11: r.ProtoAtLeast(1, 1), hint: hint, chunk: chunk, Buf: (*chunk)[:0]}
}

// Write holds b. If b and the held bytes do not fit together, it sends the held ones first.
func (s *Stream) Write(b []byte) (int, error) {
	if len(s.Buf) > 0 && len(s.Buf)+len(b) > ChunkBytes {
		if err := s.send(); err != nil {
			return 0, err
		}
	}
	s.Buf = append(s.Buf, b...)
	return len(b), nil
}

// Buffer returns the buffer for appends. The caller must hand it back with Filled or End.
func (s *Stream) Buffer() []byte { return s.Buf }

// Filled sends a buffer if it is full, and returns one for further appends.
func (s *Stream) Filled(b []byte) ([]byte, error) {
	if s.Buf = b; len(b) >= ChunkBytes-ChunkSlack {
		if err := s.send(); err != nil {
			return nil, err
		}
	}
	return s.Buf, nil
}

// send sends the buffer, although the answer is not complete.
func (s *Stream) send() error {
	if !s.http11 {
		return problem.Errorf(problem.KindVersion, "", "over HTTP/1.0 a broken stream looks complete: use HTTP/1.1%s", s.hint)
	}
	s.sent = true
	_, err := s.w.Write(s.Buf)
	if cap(s.Buf) > maxPooledBytes {
		s.Buf = nil // a huge term has grown it
	}
	s.Buf = s.Buf[:0]
	return err
}

// End sends the rest of the answer.
func (s *Stream) End() error {
	if !s.sent {
		s.w.Header().Set("Content-Length", strconv.Itoa(len(s.Buf)))
	}
	_, err := s.w.Write(s.Buf)
	return err
}

// Release returns the buffer to the pool.
func (s *Stream) Release() {
	if cap(s.Buf) <= maxPooledBytes {
		*s.chunk = s.Buf[:0]
	}
	chunks.Put(s.chunk)
}
