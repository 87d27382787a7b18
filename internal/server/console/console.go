// Package console serves the console: the page at a node's root, and its scripts and styles below
// /console. The folder console at the top of the repository has the source. Its build writes the
// folder built, which is part of the repository, so that a build of trefoil needs Go only. The page
// loads nothing from other hosts.
package console

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
)

//go:embed built
var built embed.FS

// types are those of the built files. Package mime would ask the machine's own tables.
var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".txt": "text/plain; charset=utf-8"}

// placeholder is the text of the page that each answer replaces by a nonce.
const placeholder = "STYLE-NONCE"

// policy lets the page run only its own scripts and styles, and call only its own node. Shown data
// must not become code, and nothing may be sent elsewhere. The editor writes its styles while it
// runs: they have the nonce, which is another one for each answer.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Table returns the endpoints. They are open, because they have no data, and let the user enter
// the token.
func Table() endpoint.Table {
	get := func(m *endpoint.Method) map[string]*endpoint.Method {
		return map[string]*endpoint.Method{http.MethodGet: m}
	}
	return endpoint.Table{
		// The page itself reads ?query=, so the node takes any parameters.
		"/":        {Methods: get(&endpoint.Method{Params: []string{"query"}, OwnParams: true, Handle: servePage})},
		"/console": {Below: true, Methods: get(&endpoint.Method{Handle: serveFile})},
	}
}

func servePage(w http.ResponseWriter, r *request.Request) error {
	page, err := built.ReadFile("built/index.html")
	if err != nil {
		return fmt.Errorf("read the embedded page: %w", err)
	}
	nonce := rand.Text()
	page = bytes.ReplaceAll(page, []byte(placeholder), []byte(nonce))
	h := w.Header()
	h.Set("Content-Security-Policy", fmt.Sprintf(policy, nonce))
	h.Set("Cache-Control", "no-store") // a nonce must not be used twice
	return send(w, r, "index.html", page)
}

func serveFile(w http.ResponseWriter, r *request.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/console")
	file, err := built.ReadFile("built" + path.Clean("/"+name))
	if err != nil || name == "/index.html" {
		return problem.Errorf(problem.KindNotFound, problem.Clip(r.URL.Path), "the console has no such file; its page is at /")
	}
	// The names stay the same in the next release, so browsers ask whether they have the file. The tag
	// is weak, because it is the same in each coding.
	sum := sha256.Sum256(file)
	tag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "no-cache")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return send(w, r, name, file)
}

func send(w http.ResponseWriter, r *request.Request, name string, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Referrer-Policy", "no-referrer")
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(body)
	return err
}
