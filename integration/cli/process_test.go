// Servers and commands as processes: signals, addresses, tokens and closed outputs.

package cli

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestServeEnds(t *testing.T) {
	for _, end := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(end) { // as nohup has it: the server inherits that
			t.Logf("%s is ignored here", end)
			continue
		}
		data := filepath.Join(t.TempDir(), "store")
		s := serve(t, "--data", data)
		if code, _ := s.get(t, "/readyz"); code != http.StatusOK {
			t.Errorf("/readyz: %d", code)
		}
		s.signal(t, end)
		s.wait(t).mustCode(t, done).mustSay(t, "ended")
		trefoil(t, "check", "--data", data).mustCode(t, done)
	}
}

// A request that runs when the server is told to end is answered whole.
func TestServeDrains(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	s := serve(t, "--data", data)
	body, feed := io.Pipe()
	answer := make(chan string, 1)
	go func() {
		resp, err := http.Post(s.url+"/triples", "application/n-triples", body)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answer <- resp.Status + " " + string(b)
	}()
	if _, err := io.WriteString(feed, strings.Repeat("<http://e.x/s> <http://e.x/p> \"a\" .\n", 10_000)); err != nil {
		t.Fatal(err)
	}
	// A connection that the server has not accepted yet is refused, as it should
	// be; only what /metrics counts beside itself is a request that runs.
	for {
		if _, metrics := s.get(t, "/metrics"); strings.Contains(metrics, "\ntrefoil_http_requests_in_flight 2\n") {
			break
		}
	}
	s.signal(t, syscall.SIGTERM)
	if _, ok := s.waitFor(t, `(ending)`); !ok {
		t.Fatal("the server ended with a request in flight")
	}
	feed.Close()
	if got := <-answer; !strings.HasPrefix(got, "200") || !strings.Contains(got, `"added":1`) {
		t.Errorf("the request in flight was answered: %s", got)
	}
	s.wait(t).mustCode(t, done)
	trefoil(t, "count", "--data", data).mustCode(t, done).mustPrint(t, "1\n")
}

func TestTwoProcesses(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	nt := file(t, "p.nq", people)
	s := serve(t, "--data", data)
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0"}, {"load", nt}, {"add", nt}, {"count"}, {"dump"}, {"check"}, {"backup", "-"},
	} {
		trefoil(t, append(args, "--data", data)...).mustCode(t, failed).mustSay(t, "in use", "--to")
	}
	s.stop(t)
	trefoil(t, "count", "--data", data).mustCode(t, done).mustPrint(t, "0\n")
}

func TestServeAddress(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	token := file(t, "token", "  sesame\n")
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		trefoil(t, "serve", "--data", data, "--listen", address).mustCode(t, usage).mustSay(t, "--token-file", "--insecure")
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the refused server made a data directory")
	}
	for _, args := range [][]string{{"--insecure"}, {"--token-file", token}} {
		p := start(t, nil, append([]string{"serve", "--data", data, "--listen", "0.0.0.0:0"}, args...)...)
		if _, ok := p.waitFor(t, `serving .* at (http://[^\s"]+)`); !ok {
			t.Fatalf("serve %s: %s", args, p.Said())
		}
		p.signal(t, syscall.SIGTERM)
		p.wait(t).mustCode(t, done)
	}
	s := serve(t, "--data", data)
	other := filepath.Join(t.TempDir(), "other")
	trefoil(t, "serve", "--data", other, "--listen", strings.TrimPrefix(s.url, "http://")).mustCode(t, failed).mustSay(t, "--listen")
	trefoil(t, "serve", "--data", other, "--listen", "nonsense").mustCode(t, usage)
	trefoil(t, "serve", "--data", other, "--token-file", file(t, "empty", "\n")).mustCode(t, failed).mustSay(t, "token")
}

func TestToken(t *testing.T) {
	token := file(t, "token", "sesame\n")
	s := serve(t, "--data", filepath.Join(t.TempDir(), "store"), "--token-file", token)
	trefoil(t, "count", "--to", s.url).mustCode(t, failed).mustSay(t, "--token-file")
	trefoil(t, "count", "--to", s.url, "--token-file", file(t, "wrong", "open\n")).mustCode(t, failed)
	trefoil(t, "count", "--to", s.url, "--token-file", token).mustCode(t, done).mustPrint(t, "0\n")
	cmd := command(t.Context(), "count")
	cmd.Env = append(cmd.Env, "TREFOIL_TO="+s.url, "TREFOIL_TOKEN=sesame")
	if out, err := cmd.Output(); err != nil || string(out) != "0\n" {
		t.Errorf("by the environment: %q, %v", out, err)
	}
	if strings.Contains(s.Said(), "sesame") {
		t.Error("the token is in the server's log")
	}
}

func TestReadOnlyServer(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	nt := file(t, "p.nq", people)
	trefoil(t, "add", "--data", data, nt).mustCode(t, done)
	s := serve(t, "--data", data, "--read-only")
	trefoil(t, "count", "--to", s.url).mustCode(t, done).mustPrint(t, "10\n")
	for _, args := range [][]string{{"add", nt}, {"delete", nt}, {"load", nt}} {
		trefoil(t, append(args, "--to", s.url)...).mustCode(t, failed).mustSay(t, "read-only")
	}
	s.stop(t)
}

// A reader may stop reading the answer. No message must be written then.
func TestClosedStdout(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	trefoilWith(t, generated(t, "lubm", 100_000), "load", "--data", data, "--from", "nt", "-").mustCode(t, done)
	s := serve(t, "--data", filepath.Join(t.TempDir(), "empty"))
	for _, args := range [][]string{
		{"dump", "--data", data}, {"match", "--data", data}, {"range", "--data", data, "--order", "pos"},
		{"generate", "--triples", "100k"}, {"convert", "-"},
	} {
		t.Run(args[0], func(t *testing.T) {
			cmd := command(t.Context(), args...)
			cmd.Stdin = &endless{unit: []byte("<http://e.x/s> <http://e.x/p> <http://e.x/o> .\n"), left: 64 << 20}
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			out.Close()
			err = cmd.Wait()
			if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != failed || stderr.Len() > 0 {
				t.Errorf("%v, stderr %q; want exit code 1 and no word", err, stderr.String())
			}
		})
	}
	s.stop(t)
}

// A command that waits for standard input ends at the first Ctrl-C.
func TestInterruptedAtStdin(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	for _, args := range [][]string{
		{"convert", "--from", "nt", "-"}, {"add", "--data", data, "-"}, {"load", "--data", data, "--from", "nt", "-"},
	} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		p := start(t, read, args...)
		read.Close()
		// More than a pipe holds: it has been read from when this returns.
		if _, err := io.WriteString(write, strings.Repeat("#\n", 1<<17)); err != nil {
			t.Fatal(err)
		}
		p.signal(t, syscall.SIGINT)
		p.wait(t).mustCode(t, failed)
		write.Close()
	}
}

// A load goes on when nobody reads its progress.
func TestClosedStderr(t *testing.T) {
	data := filepath.Join(t.TempDir(), "store")
	cmd := command(t.Context(), "load", "--data", data, "--from", "nt", "-")
	cmd.Stdin = generated(t, "lubm", 100_000)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stderr.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("load: %v", err)
	}
	trefoil(t, "count", "--data", data).mustCode(t, done).mustPrint(t, "100000\n")
}

func TestGenerate(t *testing.T) {
	for _, kind := range []string{"--kind lubm --triples 5k", "--kind texts --triples 5k", "--links --format nt --pages 1k --max-links 5k"} {
		args := append([]string{"generate"}, append(strings.Fields(kind), "--seed", "7")...)
		first := trefoil(t, args...).mustCode(t, done)
		if n := len(first.lines()); n != 5_000 {
			t.Errorf("%s: %d lines", kind, n)
		}
		trefoil(t, args...).mustCode(t, done).mustPrint(t, first.stdout)
		trefoilWith(t, strings.NewReader(first.stdout), "convert", "--from", "nq", "-").mustCode(t, done)
		args[len(args)-1] = "8"
		if trefoil(t, args...).stdout == first.stdout {
			t.Errorf("%s: another seed gives the same", kind)
		}
	}
}

// generated returns a generated data set as a stream.
func generated(t *testing.T, kind string, triples int) io.Reader {
	t.Helper()
	return strings.NewReader(trefoil(t, "generate", "--kind", kind, "--triples", decimal(triples)).mustCode(t, done).stdout)
}

var place = regexp.MustCompile(`^\S+:\d+:\d+: `)
