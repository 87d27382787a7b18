// Tests of the flags of traces.

package cli

import (
	"strings"
	"testing"
)

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
