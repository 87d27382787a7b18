// Content negotiation (RFC 9110, section 12.5.1): which of the offered media
// types an Accept header likes best.

package httpapi

import (
	"strconv"
	"strings"
)

// negotiate returns the index of the offer that the Accept header prefers, the
// first of equals; -1 where it takes none of them. No header takes all. Each
// offer is matched by the most specific element that names it; elements that are
// malformed count for nothing.
func negotiate(accept []string, offers []string) int {
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

// quality returns the weight, in thousandths, that an Accept header gives to a
// media type.
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

// specificityOf tells how exactly a media range names an offer: 3 by its name, 2
// by its type, 1 as any, 0 not at all.
func specificityOf(mediaRange, offer string) int {
	switch {
	case mediaRange == offer:
		return 3
	case mediaRange == "*/*":
		return 1
	}
	if kind, ok := strings.CutSuffix(mediaRange, "/*"); ok && strings.HasPrefix(offer, kind+"/") {
		return 2
	}
	return 0
}

// qvalue returns the weight among the parameters of a media range, 1000 where
// there is none; ok is false for a malformed one. Other parameters (charset=utf-8)
// are passed over.
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
