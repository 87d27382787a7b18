// Content negotiation (RFC 9110, section 12.5.1): the offered media type with the greatest weight
// in an Accept header.

package response

import (
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/rdfload/syntax"
)

// Negotiate returns the index of the offer with the greatest weight in the Accept header, the first
// if weights are equal. It returns -1 if the header accepts none. If there is no header, the first
// offer is taken. Each offer gets the weight of the most specific element that names it. Malformed
// elements are ignored.
func Negotiate(accept []string, offers []string) int {
	header := strings.Join(accept, ",")
	if strings.TrimSpace(header) == "" {
		return 0
	}
	best, bestQ := -1, 0
	for i, offer := range offers {
		if q := quality(header, offer); q > bestQ {
			best, bestQ = i, q
		}
	}
	return best
}

// PrefersHTML reports whether an Accept header names text/html, and no type with a greater weight, as
// browsers do when they navigate. It must not accept anything else as well, unless it names XHTML,
// because Java programs without an Accept of their own send text/html.
func PrefersHTML(accept []string) bool {
	header := strings.ToLower(strings.Join(accept, ","))
	html := quality(header, "text/html")
	if !strings.Contains(header, "text/html") || html == 0 || strings.Contains(header, "*") && !strings.Contains(header, "xhtml") {
		return false
	}
	for element := range strings.SplitSeq(header, ",") {
		_, parameters, _ := strings.Cut(element, ";")
		if q, ok := qvalue(parameters); ok && q > html {
			return false
		}
	}
	return true
}

// quality returns the weight of a media type in an Accept header, or of a coding in an
// Accept-Encoding header, in thousandths.
func quality(header, offer string) int {
	weight, specificity := 0, 0
	for element := range strings.SplitSeq(header, ",") {
		mediaRange, parameters, _ := strings.Cut(element, ";")
		how := specificityOf(strings.ToLower(strings.TrimSpace(mediaRange)), offer)
		if how <= specificity {
			continue
		}
		if q, ok := qvalue(parameters); ok {
			weight, specificity = q, how
		}
	}
	return weight
}

// specificityOf returns the match of a media range with an offer: 3 by its name, 2 by its type, 1
// as any, 0 not at all.
func specificityOf(mediaRange, offer string) int {
	switch {
	case mediaRange == offer:
		return 3
	case mediaRange == "*/*", mediaRange == "*":
		return 1
	}
	if kind, ok := strings.CutSuffix(mediaRange, "/*"); ok && strings.HasPrefix(offer, kind+"/") {
		return 2
	}
	return 0
}

// qvalue returns the weight among the parameters of a media range; 1000 if there is none. ok is
// false if it is malformed. Other parameters (charset=utf-8) are skipped.
func qvalue(parameters string) (q int, ok bool) {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		value = strings.TrimSpace(value)
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || !(f >= 0 && f <= 1) || len(value) > 5 {
			return 0, false
		}
		return int(f*1000 + 0.5), true
	}
	return 1000, true
}

// Parameter returns a parameter of the element of an Accept header that names an offer; "" if there is none.
func Parameter(accept []string, offer, name string) string {
	for element := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		mediaRange, parameters, _ := strings.Cut(element, ";")
		if !strings.EqualFold(strings.TrimSpace(mediaRange), offer) {
			continue
		}
		for parameter := range strings.SplitSeq(parameters, ";") {
			key, value, _ := strings.Cut(parameter, "=")
			if strings.EqualFold(strings.TrimSpace(key), name) {
				return strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	return ""
}

func NotAcceptable(offers []string) error {
	message := "this answer comes as "
	for i, offer := range offers {
		if i > 0 {
			message += ", "
		}
		message += offer
	}
	return problem.Errorf(problem.KindNotAcceptable, "Accept", "%s", message)
}

// SyntaxFor returns the syntax for the answer of a request. It fails if Accept excludes all of
// them.
func SyntaxFor(r *request.Request, syntaxes []syntax.Syntax) (syntax.Syntax, error) {
	offers := make([]string, len(syntaxes))
	for i, s := range syntaxes {
		offers[i] = s.MediaType()
	}
	i := Negotiate(r.Header.Values("Accept"), offers)
	if i < 0 {
		return 0, NotAcceptable(offers)
	}
	return syntaxes[i], nil
}
