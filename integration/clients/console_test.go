// The console in a browser.

package clients

// This file tests the console in headless Chromium, on nodes with data. console/test has the
// steps: Playwright drives the browser, and axe looks for what some people could not use.

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
	"github.com/trefoildb/trefoil/triple"
)

const people = 5000

// hostile is a literal that would run where a page takes data for HTML.
const hostile = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`

// data returns people, and a trap for pages, as N-Triples.
func data() string {
	iri := func(name string) triple.Term { return triple.NewIRI("http://example.org/" + name) }
	a := triple.NewIRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
	var all []byte
	add := func(s, p, o triple.Term) {
		all = fmt.Appendln(all, triple.Triple{Subject: s, Predicate: p, Object: o})
	}
	for i := range people {
		s := iri(fmt.Sprintf("person%04d", i))
		add(s, a, iri("Person"))
		add(s, iri("age"), triple.NewTyped(fmt.Sprint(20+i%60), triple.XSDInteger))
	}
	add(iri("trap"), iri("label"), triple.NewString(hostile))
	add(iri("trap"), a, iri("Trap"))
	return string(all)
}

// start serves a new directory and returns the node's URL.
func start(t *testing.T, binary string, args ...string) string {
	t.Helper()
	url, _ := startProcess(t, binary, args...)
	return url
}

// startProcess is start that also returns the process. The caller may end it by SIGTERM.
func startProcess(t *testing.T, binary string, args ...string) (string, *os.Process) {
	t.Helper()
	node := exec.Command(binary, append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := node.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	// 1. The node prints its URL when it serves. What it prints later must be read, too.
	urls, rest := make(chan string, 1), make(chan string, 1)
	go func() {
		var log strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if found := regexp.MustCompile(`msg="serving .* at (http://[^\s"]+)"$`).FindStringSubmatch(lines.Text()); found != nil {
				urls <- found[1]
			}
		}
		rest <- log.String()
	}()
	t.Cleanup(func() {
		_ = node.Process.Signal(syscall.SIGTERM)
		log := <-rest
		if err := node.Wait(); err != nil {
			t.Errorf("trefoil serve: %v", err)
		}
		if t.Failed() {
			t.Logf("trefoil serve %v said:\n%s", args, log)
		}
	})
	// 2. Wait for it.
	select {
	case url := <-urls:
		return url, node.Process
	case log := <-rest:
		rest <- log
		t.Fatalf("trefoil serve ended:\n%s", log)
	case <-time.After(time.Minute):
		t.Fatal("trefoil serve did not begin to serve")
	}
	return "", nil
}

// post sends the data to a node.
func post(t *testing.T, url, token string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url+"/triples", strings.NewReader(data()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/n-triples")
	r.Header.Set("Authorization", "Bearer "+token)
	got, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		t.Fatalf("POST /triples: %s", got.Status)
	}
}

// nodeWithPackages returns the path of Node.js, which the packages of the console are there for.
func nodeWithPackages(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("../../console/node_modules/playwright-core"); err != nil {
		absent(t, "no console/node_modules")
	}
	node := program(t, "node")
	if err := exec.Command(node, "--eval", "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)").Run(); err != nil {
		t.Skip("the console's tests need Node.js 20 or later")
	}
	return node
}

// TestConsoleBuild: the built files of the repository are those of the source.
func TestConsoleBuild(t *testing.T) {
	out, err := exec.Command(nodeWithPackages(t), "../../console/build.mjs", "--check").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestConsoleLock: the versions are those of the public registry, by name and hash; no host is named.
func TestConsoleLock(t *testing.T) {
	lock, err := os.ReadFile("../../console/package-lock.json")
	require.NoError(t, err)
	if bytes.Contains(lock, []byte(`"resolved"`)) || !bytes.Contains(lock, []byte(`"integrity"`)) {
		t.Error("console/package-lock.json names hosts, or lacks hashes; console/.npmrc leaves the hosts out")
	}
}

func TestConsole(t *testing.T) {
	node := nodeWithPackages(t)
	t.Setenv("CHROMIUM", program(t, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))
	binary, remove, err := testbinary.Trefoil("../..")
	require.NoError(t, err)
	t.Cleanup(remove)
	// One node has a token, and a user who may read only.
	hash := exec.Command(binary, "users", "hash")
	hash.Stdin = strings.NewReader("look")
	hashed, err := hash.Output()
	require.NoError(t, err)
	token, users := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "users")
	for name, text := range map[string]string{token: "sesame", users: fmt.Sprintf("[guest]\nhash = %q\nroles = [\"read\"]\n", bytes.TrimSpace(hashed))} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	// A cluster of three has lost a machine.
	bereft := start(t, binary)
	start(t, binary, "--join", strings.TrimPrefix(bereft, "http://"))
	_, lost := startProcess(t, binary, "--join", strings.TrimPrefix(bereft, "http://"))
	alone, other, guarded := start(t, binary), start(t, binary), start(t, binary, "--token-file", token, "--users", users)
	// A move takes long while requests run: see testCluster.
	member := start(t, binary, "--rebuild-share", "1")
	for range 2 {
		start(t, binary, "--rebuild-share", "1", "--join", strings.TrimPrefix(member, "http://"))
	}
	post(t, alone, "")
	post(t, other, "")
	post(t, guarded, "sesame")
	require.NoError(t, lost.Signal(syscall.SIGTERM))
	converse(t, node, "../../console/test/main.mjs", alone+"/", other+"/", guarded+"/", member+"/", bereft+"/")
}
