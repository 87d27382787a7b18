// The headers for a collector of traces.

package serve

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestTraceHeaders: the variable of headers is a list with %XX, and an error names no value, because it may be secret.
func TestTraceHeaders(t *testing.T) {
	for list, want := range map[string]http.Header{
		"": {}, " , ": {}, "a=b": {"A": {"b"}}, "Authorization=Basic%20x%3D, b = c=d ": {"Authorization": {"Basic x="}, "B": {"c=d"}},
	} {
		if got, err := headersOf(list); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	for _, list := range []string{"secret", "a b=secret", "a=b,c=secret%zz", "a=secret%0d%0ab:c"} {
		if _, err := headersOf(list); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", list, err)
		}
	}
}
