// Entity tags: a client that has an answer gets 304 instead (RFC 9110, section 13.1.2).

package response

import (
	"net/http"
	"strings"
)

// NotModified sets the ETag of an answer. If the client has the answer, by its tag, it sends 304 and
// returns true. The tag is sent as a weak one, because it is the same if the answer is compressed.
// Caches must ask again before each use.
func NotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", "W/"+tag)
	if !hasTag(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// hasTag reports whether an If-None-Match header names a tag.
func hasTag(headers []string, tag string) bool {
	for one := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == tag || one == "*" {
			return true
		}
	}
	return false
}
