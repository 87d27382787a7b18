// The cluster commands of README.md, run as written.

package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme: the commands of README.md's section on clusters do what they should.
func TestReadme(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Grow to a cluster\n")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	if block == nil {
		t.Fatal("README.md has no commands for a cluster")
	}
	commands := block[1]
	for _, address := range regexp.MustCompile(`127\.0\.0\.1:74\d\d`).FindAllString(commands, -1) {
		if strings.Contains(commands, address) {
			commands = strings.ReplaceAll(commands, address, freeAddress(t))
		}
	}
	dir := t.TempDir()
	people := "<http://example.org/ann> <http://example.org/name> \"Ann\" .\n<http://example.org/bob> <http://example.org/name> \"Bob\" .\n"
	if err := os.WriteFile(filepath.Join(dir, "people.ttl"), []byte(people), 0o600); err != nil {
		t.Fatal(err)
	}
	inDir := func(line string) []string {
		return []string{"bash", "-c", `cd "$1" && PATH="$2:$PATH" && exec ` + line, "bash", dir, filepath.Dir(binary)}
	}
	printed := ""
	for line := range strings.Lines(commands) {
		if served, ok := strings.CutSuffix(strings.TrimSpace(line), "&"); ok {
			begin(t, inDir(served)...).waitFor(t, `serving .* at (http://[^\s"]+)`)
			continue
		}
		out, err := command(t.Context(), inDir(line)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		printed += string(out)
	}
	for _, want := range []string{`"Ann"`, `"Bob"`, "new        2", "leader", "segments"} {
		if !strings.Contains(printed, want) {
			t.Errorf("nothing prints %q:\n%s", want, printed)
		}
	}
	if n := strings.Count(printed, " up "); n != 3 {
		t.Errorf("%d machines are up:\n%s", n, printed)
	}
}
