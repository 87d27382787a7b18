// Whole answers: JSON, errors and bodies in memory.

package response

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/server/problem"
)

// Media types of answers.
const (
	NQuads   = "application/n-quads"
	NTriples = "application/n-triples"
	NDJSON   = "application/x-ndjson"
	JSON     = "application/json"
)

// SendError writes e as the answer.
func SendError(w http.ResponseWriter, e *problem.Error) {
	// 1. Replace the headers of the answer by those of the error.
	h := w.Header()
	for name := range h { // drop the handler's headers, because they were for another answer
		if !strings.HasPrefix(name, "Access-Control-") && name != "Accept-Query" && name != "Connection" && name != "Vary" && name != logs.Header {
			h.Del(name)
		}
	}
	if len(e.Allow) > 0 {
		h.Set("Allow", strings.Join(e.Allow, ", "))
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	}
	for _, challenge := range e.Challenges {
		h.Add("WWW-Authenticate", challenge)
	}
	// 2. Send the error as one JSON object.
	body, err := marshal(struct {
		Error *problem.Error `json:"error"`
	}{e})
	if err != nil {
		panic(err) // three strings always marshal
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(e.Status())
	w.Write(body) //nolint:errcheck // the client is gone
}

// WriteJSON answers with v as one JSON object.
func WriteJSON(w http.ResponseWriter, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	return WriteWhole(w, JSON, body)
}

// marshal returns v as a line of JSON. '<' and '>' are not escaped.
func marshal(v any) ([]byte, error) {
	var line bytes.Buffer
	out := json.NewEncoder(&line)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return line.Bytes(), err
}
func WriteJSONStatus(w http.ResponseWriter, status int, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", JSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}

// WriteWhole answers with a complete body.
func WriteWhole(w http.ResponseWriter, contentType string, body []byte) error {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	_, err := w.Write(body)
	return err
}
