// The blocks of README.md and docs/TUTORIAL.md, pasted into a shell.

package cli

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// block is a block of commands of a document, and the text that it must print.
type block struct{ document, commands, want string }

// documentBlocks returns the blocks of commands of a document. A block right behind the one that starts a
// cluster, which stops it, belongs to it.
func documentBlocks(t *testing.T, document string) (all []block) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", document))
	require.NoError(t, err)
	for _, found := range regexp.MustCompile("(?ms)^```(sh|text|console)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		last := len(all) - 1
		switch {
		case found[1] == "console":
			t.Errorf("%s has a block with prompts, which cannot be pasted:\n%s", document, found[2])
		case found[1] == "text":
			all[last].want = found[2]
		case strings.HasPrefix(found[2], "kill "):
			all[last].commands += found[2]
		default:
			all = append(all, block{document: document, commands: found[2]})
		}
	}
	return all
}

// TestReadme runs each block of the documents in an empty folder, and compares what it prints. "..." stands
// for anything; times and sizes of memory may differ. The lines of standard output must be in the
// sequence of the document; those of standard error may be anywhere.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	blocks := documentBlocks(t, "README.md")
	if len(blocks) != 1 {
		t.Errorf("README.md has %d blocks of commands, not the one of a minute", len(blocks))
	}
	blocks = append(blocks, documentBlocks(t, "docs/TUTORIAL.md")...)
	if len(blocks) < 7 {
		t.Errorf("README.md and docs/TUTORIAL.md have %d blocks of commands", len(blocks))
	}
	for _, b := range blocks {
		if strings.Contains(b.commands, "curl ") {
			if _, err := exec.LookPath("curl"); err != nil {
				t.Logf("no curl here:\n%s", b.commands)
				continue
			}
		}
		b.run(t)
	}
}

// run runs a block.
func (b *block) run(t *testing.T) {
	t.Helper()
	// 1. Give each address a free port, and take it back in what is printed. The commands without an
	// address get the one of the first port by the environment.
	const first = "127.0.0.1:7333"
	commands, free := b.commands, map[string]string{first: freeAddress(t)}
	for _, address := range regexp.MustCompile(`127\.0\.0\.1:7[34]\d\d`).FindAllString(commands, -1) {
		if free[address] == "" {
			free[address] = freeAddress(t)
		}
	}
	var there, back []string
	for address, port := range free {
		there, back = append(there, address, port), append(back, port, address)
	}
	// 2. Run it in an empty folder. Its servers end with it.
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	const cleanup = "trap 'kill -KILL $(jobs -p) 2>/dev/null' EXIT; trap 'exit 1' TERM\n"
	cmd := exec.CommandContext(ctx, "bash", "-c", cleanup+strings.NewReplacer(there...).Replace(commands))
	cmd.Dir = t.TempDir()
	cmd.Env = append(command(ctx).Env, "PATH="+filepath.Dir(binary)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"TREFOIL_TO=http://"+free[first], "TREFOIL_LISTEN="+free[first])
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 10*time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v of\n%s\nstdout: %s\nstderr: %s", err, b.commands, stdout.String(), stderr.String())
		return
	}
	printed, said := strings.NewReplacer(back...).Replace(stdout.String()), strings.NewReplacer(back...).Replace(stderr.String())
	// 3. Compare.
	if b.want == "" {
		b.checkCluster(t, printed)
		return
	}
	if missing := difference(comparable(b.want), comparable(printed), comparable(said)); missing != "" {
		t.Errorf("%s has, but nothing prints, or prints at another place: %s\n%s\nstdout: %s\nstderr: %s", b.document, missing, b.commands, printed, said)
	}
}

// checkCluster checks what the block without a text prints: the cluster of three.
func (b *block) checkCluster(t *testing.T, printed string) {
	t.Helper()
	for _, want := range []string{`"Ann"`, "stored on 3 machines; 3 must have it", "leader", "copies     3 of each triple"} {
		if !strings.Contains(printed, want) {
			t.Errorf("nothing prints %q:\n%s\n%s", want, b.commands, printed)
		}
	}
	if _, members, _ := strings.Cut(printed, "\nMACHINE  "); strings.Count(members, " up ") != 3 {
		t.Errorf("not three machines are up:\n%s", printed)
	}
}

// difference returns the first line of want that is neither the next one of printed nor one of said, or
// the first one of printed that is not in want.
func difference(want, printed, said string) string {
	rest := strings.Split(strings.TrimSuffix(printed, "\n"), "\n")
	for line := range strings.Lines(want) {
		is := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSuffix(line, "\n")), `\.\.\.`, `.*`) + `$`)
		if len(rest) > 0 && is.MatchString(rest[0]) {
			rest = rest[1:]
			continue
		}
		found := false
		for other := range strings.Lines(said) {
			found = found || is.MatchString(strings.TrimSuffix(other, "\n"))
		}
		if !found {
			return line
		}
	}
	return strings.Join(rest, "\n")
}

var varies = regexp.MustCompile(`(?m)^(time|memory) .*$`)

// comparable leaves out what differs from run to run.
func comparable(text string) string { return varies.ReplaceAllString(text, "$1") }

// freeAddress returns an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		address := ln.Addr().String()
		packets, err := net.ListenPacket("udp", address)
		ln.Close()
		if err == nil { // members use both
			packets.Close()
			return address
		}
	}
	t.Fatal("no port is free for streams and packets")
	return ""
}
