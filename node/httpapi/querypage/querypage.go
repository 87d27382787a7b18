// Package querypage is the page at a node's root, on which queries are written,
// run and explained: one HTML file, without a build step and without anything
// from other hosts.
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

// policy lets the page run its own script and style, and ask its own node: data
// that is shown cannot become code, and nothing leaves for elsewhere.
var policy = fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; connect-src 'self'; "+
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hash("script"), hash("style"))

// hash returns the source expression (Content Security Policy Level 3, section
// 2.3.1) of what stands in the page's one element of a name.
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
