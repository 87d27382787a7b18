// The commands of README.md, run as written.

package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// The console blocks of README.md are run, one after the other, and must answer
// what they say. Lines that begin with "> " continue a command; "..." stands for
// anything; times and sizes of memory may differ.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := &readme{dir: t.TempDir()}
	commands := 0
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		for _, step := range steps(block[1]) {
			r.run(t, step)
			commands++
		}
	}
	if commands < 10 {
		t.Errorf("README.md has %d commands", commands)
	}
}

// step is one command of a console block and what it must print.
type step struct{ command, want string }

func steps(block string) (all []step) {
	for line := range strings.Lines(block) {
		last := len(all) - 1
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, step{command: command})
		} else if more, ok := strings.CutPrefix(line, "> "); ok && all[last].want == "" {
			all[last].command += more
		} else {
			all[last].want += line
		}
	}
	return all
}

const readmeAddress = "127.0.0.1:7333"

// readme runs commands as a reader would, but for the port.
type readme struct {
	dir    string
	server *process
	at     string // the server's address
	seen   int    // bytes of the server's messages that were shown
}

func (r *readme) run(t *testing.T, s step) {
	t.Helper()
	got := ""
	switch command := strings.TrimSpace(s.command); {
	case strings.HasSuffix(command, "&"):
		args := strings.Fields(strings.TrimSuffix(command, "&"))[1:]
		args[2] = filepath.Join(r.dir, args[2]) // serve --data DIR
		r.server, r.seen = start(t, nil, append(args, "--listen", "127.0.0.1:0")...), 0
		url, ok := r.server.waitFor(t, `(http://[^\s"]+)`)
		if !ok {
			t.Fatalf("%s: %s", command, r.server.said())
		}
		r.at = strings.TrimPrefix(url, "http://")
		got = strings.ReplaceAll(r.serverSaid(), r.dir+string(filepath.Separator), "")
	case command == "kill %1":
		r.server.signal(t, syscall.SIGTERM)
		r.server.wait(t).mustCode(t, done)
		got = r.serverSaid()
	default:
		if strings.HasPrefix(command, "curl ") {
			if _, err := exec.LookPath("curl"); err != nil {
				t.Logf("no curl here: %s", command)
				return
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(s.command, readmeAddress, r.at))
		cmd.Dir = r.dir
		cmd.Env = append(environment(), "PATH="+filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"), "TREFOIL_TO=http://"+r.at)
		out, _ := cmd.CombinedOutput() // what it prints is compared, failures too
		got = string(out)
	}
	if r.at != "" {
		got = strings.ReplaceAll(got, r.at, readmeAddress)
	}
	if got = comparable(got); !wildcard(comparable(s.want)).MatchString(got) {
		t.Errorf("$ %sprints\n%s\nREADME.md says\n%s", s.command, got, s.want)
	}
}

// serverSaid returns what the server has said since it was asked last.
func (r *readme) serverSaid() string {
	said := r.server.said() + "\n"
	fresh := said[r.seen:]
	r.seen = len(said)
	return fresh
}

// environment names no server.
func environment() []string { return command(context.Background()).Env }

var varies = regexp.MustCompile(`(?m)^(time|memory) .*$|^trefoil: (read|sort|write|merge|publish)\b.*\n`)

// comparable leaves out what differs from run to run.
func comparable(text string) string {
	return varies.ReplaceAllString(text, "$1")
}

// wildcard returns the expression that matches a text in which "..." stands for
// anything.
func wildcard(text string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(text), `\.\.\.`, `.*`) + `$`)
}
