// Tests of unknown environment variables.

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnknownVariables: a server names every TREFOIL_ variable that it does not know, another command one
// that is like its own. Neither names what Kubernetes sets.
func TestUnknownVariables(t *testing.T) {
	for _, set := range os.Environ() { // as the suite's own
		if name, _, _ := strings.Cut(set, "="); strings.HasPrefix(name, "TREFOIL") {
			t.Setenv(name, "") // restores it
			os.Unsetenv(name)
		}
	}
	const unknown = "is not known, and ignored; "
	for _, test := range []struct{ command, variable, says string }{
		{"config", "TREFOIL_LISEN=127.0.0.1:1", "TREFOIL_LISEN " + unknown + "did you mean TREFOIL_LISTEN?"},
		{"config", "TREFOIL_QUERYTIMEOUT=5s", "TREFOIL_QUERYTIMEOUT " + unknown + "did you mean TREFOIL_QUERY_TIMEOUT?"},
		{"config", "TREFOIL_READONLY=true", "did you mean TREFOIL_READ_ONLY?"},
		{"config", "TREFOIL_PORT=7333", "TREFOIL_PORT " + unknown + "trefoil serve --help names the settings"},
		{"config", "TREFOIL_HELP=1", "TREFOIL_HELP"},
		{"config", "TREFOIL_COPIES=3", ""},
		{"config", "TREFOIL_TOKEN=x", ""}, // of client commands
		{"config", "TREFOILS=x", ""},
		{"config", "LISEN=x", ""},
		{"config", "TREFOIL_SERVICE_HOST=10.0.0.1", ""},
		{"config", "TREFOIL_SERVICE_PORT=7333", ""},
		{"config", "TREFOIL_SERVICE_PORT_HTTP=7333", ""},
		{"config", "TREFOIL_PORT=tcp://10.0.0.1:7333", ""},
		{"config", "TREFOIL_PORT_7333_TCP=tcp://10.0.0.1:7333", ""},
		{"config", "TREFOIL_PORT_7333_TCP_ADDR=10.0.0.1", ""},
		{"config", "TREFOIL_PORT_7333_TCP_PROTO=tcp", ""},
		{"config", "TREFOIL_NODES_SERVICE_PORT_GOSSIP=7334", ""},
		{"config", "TREFOIL_NODES_PORT=udp://10.0.0.1:7334", ""},
		{"config", "TREFOIL_NODES_PORT_7334_UDP_PORT=7334", ""},
		{"query", "TREFOIL_TOKN=x", "TREFOIL_TOKN " + unknown + "did you mean TREFOIL_TOKEN?"},
		{"query", "TREFOIL_TOKENS=x", "did you mean TREFOIL_TOKEN?"},
		{"query", "TREFOIL_T0=x", "did you mean TREFOIL_TO?"},
		{"add", "TREFOIL_KEEPFREE=1GiB", "did you mean TREFOIL_KEEP_FREE?"},
		{"query", "TREFOIL_VERSION=1.2", ""}, // of somebody's scripts
		{"query", "TREFOIL_LISTEN=127.0.0.1:1", ""},
		{"query", "TREFOIL_KEY=node.key", ""},
		{"nothing", "TREFOIL_TOKN=x", "did you mean TREFOIL_TOKEN?"},
	} {
		t.Run(test.command+" "+test.variable, func(t *testing.T) {
			name, value, _ := strings.Cut(test.variable, "=")
			t.Setenv(name, value)
			args := map[string][]string{"config": {"config"}, "query": {"query", "--data", filepath.Join(t.TempDir(), "none"), "-e", "ASK {}"},
				"add": {"add"}, "nothing": {"nothing"}}[test.command]
			_, _, stderr := run(t, "", args...)
			if got := strings.Count(stderr, "the environment variable "); test.says == "" && got != 0 || test.says != "" && (got != 1 || !strings.Contains(stderr, test.says)) {
				t.Errorf("got %s\nwant %s", stderr, test.says)
			}
		})
	}
}

// TestServeUnknownVariables: the warning of a server is a line of its log. If it cannot start, it is printed
// with the error.
func TestServeUnknownVariables(t *testing.T) {
	t.Setenv("TREFOIL_DTA", t.TempDir())
	code, _, stderr := run(t, "", "serve")
	if code != exitUsage || !strings.Contains(stderr, "trefoil: warning: the environment variable TREFOIL_DTA is not known, and ignored; did you mean TREFOIL_DATA?\n") || !strings.Contains(stderr, "--data") {
		t.Errorf("%d %s", code, stderr)
	}
	if code, _, stderr = run(t, "", "serve", "--data", t.TempDir(), "--copies", "0"); code != exitUsage || strings.Count(stderr, "TREFOIL_DTA") != 1 {
		t.Errorf("%d %s", code, stderr)
	}
	code, _, stderr = run(t, "", "serve", "--data", filepath.Join("/dev/null", "store"), "--listen", "127.0.0.1:0", "--log-format", "json")
	if code != exitFailed || strings.Count(stderr, "TREFOIL_DTA") != 1 || !strings.Contains(stderr, `"level":"WARN","msg":"the environment variable TREFOIL_DTA`) {
		t.Errorf("%d %s", code, stderr)
	}
}
