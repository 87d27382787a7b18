// Tests of the flags of traces.

package cli

import (
	"reflect"
	"strings"
	"testing"

	"net/http"
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

// TestTraceFlags: the endpoint may come from OpenTelemetry's variable, and wrong values are named.
func TestTraceFlags(t *testing.T) {
	if _, stderr := config(t, exitUsage, "--trace-ratio", "2"); !strings.Contains(stderr, "--trace-ratio") {
		t.Error(stderr)
	}
	if _, stderr := config(t, exitUsage, "--trace-endpoint", "127.0.0.1:4318"); !strings.Contains(stderr, "no URL of a collector") {
		t.Error(stderr)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
	if out, _ := config(t, exitDone); !has(out, `trace-endpoint = "http://127.0.0.1:4318"`) {
		t.Errorf("no endpoint in\n%s", out)
	}
	t.Setenv("TREFOIL_TRACE_ENDPOINT", "http://127.0.0.1:1")
	if out, _ := config(t, exitDone); !has(out, `trace-endpoint = "http://127.0.0.1:1"`) {
		t.Errorf("no endpoint in\n%s", out)
	}
}
