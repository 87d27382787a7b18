// Package querypage serves the page at a node's root to write, run and explain queries. It is one
// HTML file. It has no build step and loads nothing from other hosts.
package querypage

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
)

//go:embed index.html
var page []byte

// policy lets the page run only its own script and style, and call only its own node. Shown data
// must not become code, and nothing may be sent elsewhere.
var policy = fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; connect-src 'self'; "+
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash("script"), hash("style"))

// hash returns the source expression (Content Security Policy Level 3, section 2.3.1) of the page's
// one element with a name.
func hash(element string) string {
	_, rest, _ := bytes.Cut(page, []byte("<"+element+">"))
	text, _, _ := bytes.Cut(rest, []byte("</"+element+">"))
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Serve answers a GET or HEAD of the page.
func Serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(page)))
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(page)
	return err
}
