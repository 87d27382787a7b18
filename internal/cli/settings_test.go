// Tests of settings.

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// config runs trefoil config and returns what it prints.
func config(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, failed strings.Builder
	if got := Run(t.Context(), append([]string{"config"}, args...), strings.NewReader(""), &out, &failed); got != code {
		t.Fatalf("config %q: code %d, want %d: %s", args, got, code, failed.String())
	}
	return out.String(), failed.String()
}

// settingsIn writes a file of settings.
func settingsIn(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trefoil.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// has reports whether a text has a line.
func has(text, line string) bool { return strings.Contains("\n"+text, "\n"+line+"\n") }

// TestSettingsOrder: a flag counts before the environment, the environment before the file, the file
// before the default; also if a value is the default or 0.
func TestSettingsOrder(t *testing.T) {
	file := settingsIn(t, "copies = 5\nlisten = \"127.0.0.1:1\"\njoin = [\"a:1\", \"b:2\"]\ninsecure = true\nread-only = true\nquery-timeout = \"5s\"\ncolumn-memory = 0\nscrub-rate = \"1MiB\"\n")
	t.Setenv("TREFOIL_LISTEN", "127.0.0.1:2")
	t.Setenv("TREFOIL_QUERY_TIMEOUT", "6s")
	t.Setenv("TREFOIL_ACCEPT_HOST", "x.example,y.example")
	out, _ := config(t, exitDone, "--config", file, "--query-timeout", "7s", "--scrub-rate", "8MiB")
	for _, line := range []string{
		`copies = 5`, `listen = "127.0.0.1:2"`, `query-timeout = "7s"`, `join = ["a:1", "b:2"]`, `read-only = true`, `column-memory = "0"`,
		`accept-host = ["x.example", "y.example"]`, `scrub-rate = "8MiB"`, `# cluster = "trefoil"`,
	} {
		if !has(out, line) {
			t.Errorf("no line %s in\n%s", line, out)
		}
	}
}

// TestSettingsPrinted: what config prints is a file that sets the same, comments included.
func TestSettingsPrinted(t *testing.T) {
	first, _ := config(t, exitDone, "--data", "d", "--memory", "1536MiB", "--feed-retention", "1GiB,48h", "--cors", "https://a.example", "--cors", "https://b.example", "--insecure", "--copies", "2")
	second, _ := config(t, exitDone, "--config", settingsIn(t, first))
	if first != second {
		t.Errorf("printed\n%s\nand read again\n%s", first, second)
	}
	all := strings.NewReplacer("# data = ", "data = ", "# listen = ", "listen = ", "# query-timeout = ", "query-timeout = ", "# scrub-rate = ", "scrub-rate = ", "# failure-timeout = ", "failure-timeout = ")
	defaults, _ := config(t, exitDone)
	set, _ := config(t, exitDone, "--config", settingsIn(t, all.Replace(defaults)))
	if !has(set, `scrub-rate = "8MiB"`) || !has(set, `failure-timeout = "3s"`) {
		t.Errorf("defaults that are given are printed as\n%s", set)
	}
}

// TestSettingsWrong: mistakes are usage errors that name the key, the file or the variable.
func TestSettingsWrong(t *testing.T) {
	for text, says := range map[string]string{
		"lisen = \"x\"":           "unknown key: lisen",
		"help = true":             "unknown key: help",
		"config = \"other.toml\"": "unknown key: config",
		"[cluster]\njoin = []":    "a table [cluster]",
		"copies = ":               "trefoil.toml",
		"copies = \"many\"":       "--copies",
		"insecure = \"perhaps\"":  "--insecure",
	} {
		if _, stderr := config(t, exitUsage, "--config", settingsIn(t, text)); !strings.Contains(stderr, says) {
			t.Errorf("%s: %s", text, stderr)
		}
	}
	if _, stderr := config(t, exitUsage, "--config", filepath.Join(t.TempDir(), "none.toml")); !strings.Contains(stderr, "none.toml") {
		t.Error(stderr)
	}
	t.Setenv("TREFOIL_COPIES", "many")
	if _, stderr := config(t, exitUsage); !strings.Contains(stderr, "TREFOIL_COPIES") {
		t.Error(stderr)
	}
}

// TestServeSettings: serve takes its directory from the environment, and says what is wrong in a file.
func TestServeSettings(t *testing.T) {
	t.Setenv("TREFOIL_DATA", t.TempDir())
	t.Setenv("TREFOIL_CONFIG", settingsIn(t, "copies = 0"))
	var stderr strings.Builder
	if code := Run(t.Context(), []string{"serve"}, strings.NewReader(""), &stderr, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "--copies 0") {
		t.Errorf("code %d: %s", code, stderr.String())
	}
	// Other commands have flags of the same names, which no variable of a server sets.
	t.Setenv("TREFOIL_READ_ONLY", "perhaps")
	if code := Run(t.Context(), []string{"version"}, strings.NewReader(""), &stderr, &stderr); code != exitDone {
		t.Errorf("version: code %d: %s", code, stderr.String())
	}
}
