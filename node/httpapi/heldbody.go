package httpapi

import (
	"net/http"
	"strconv"
)

// heldBody is the body of an answer that streams. It sends a piece when the next
// one comes, so that the header of an answer of one piece tells its length, and
// an error in it can still be answered as one.
type heldBody struct {
	w       http.ResponseWriter
	proto11 bool
	held    []byte
	sent    bool
}

// Write holds b and sends what was held before.
func (h *heldBody) Write(b []byte) (int, error) {
	if len(h.held) == 0 || len(h.held)+len(b) <= chunkBytes {
		h.held = append(h.held, b...)
		return len(b), nil
	}
	if !h.proto11 {
		return 0, errorf(KindVersion, "", "over HTTP/1.0 a broken stream looks complete: use HTTP/1.1")
	}
	h.sent = true
	if _, err := h.w.Write(h.held); err != nil {
		return 0, err
	}
	if cap(h.held) > maxPooledBytes {
		h.held = nil // a huge term has grown it
	}
	h.held = append(h.held[:0], b...)
	return len(b), nil
}

// end sends what is held.
func (h *heldBody) end() error {
	if !h.sent {
		h.w.Header().Set("Content-Length", strconv.Itoa(len(h.held)))
	}
	_, err := h.w.Write(h.held)
	return err
}
