// Requests about links.

package links

import (
	"errors"
	"net/http"
	"testing"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// FuzzAsked: arbitrary bytes are a question or an error of the client's.
func FuzzAsked(f *testing.F) {
	f.Add([]byte(`{"urls":["http://a/"],"direction":"backward","as":"urls"}`))
	f.Add([]byte(`{"uids":["17179869184",null],"n":5,"mode":"consistent","class":"inter-host","seed":7}`))
	f.Add([]byte(`{"uids":[],"algorithm":"hits","a":1,"b":2,"top":3,"all":true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, takes := range []*takes{uidsTakes, urlsTakes, getTakes, sampleTakes, degreesTakes, rankTakes} {
			a, err := parseQuery(text, takes)
			var e *problem.Error
			if err != nil && (!errors.As(err, &e) || e.Status() >= http.StatusInternalServerError) {
				t.Fatalf("%v", err)
			}
			if err == nil && len(a.uids) > 0 && len(a.urls) > 0 {
				t.Fatal("both uids and urls")
			}
		}
	})
}
