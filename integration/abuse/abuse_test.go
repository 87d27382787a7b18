// Package abuse has clients that mean harm, and measures what others get from a server
// meanwhile: in seconds with the tests, and for hours with make torture-abuse.
package abuse

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// kinds are hostile queries, by what they would exhaust.
func kinds() map[string]string {
	all := map[string]string{
		"product":        `SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?c != ?f || ?i != ?l) }`,
		"stream":         `SELECT * { ?a ?b ?c . ?d ?e ?f }`,
		"order":          `SELECT * { ?a ?b ?c . ?d ?e ?f } ORDER BY ?c ?f`,
		"distinct":       `SELECT DISTINCT * { ?a ?b ?c . ?d ?e ?f }`,
		"group":          `SELECT ?a ?f (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f } GROUP BY ?a ?f`,
		"count distinct": `SELECT (COUNT(DISTINCT *) AS ?n) { ?a ?b ?c . ?d ?e ?f }`,
		"path":           `SELECT (COUNT(*) AS ?n) { ?s (!<x:none>|^!<x:none>)+ ?o }`,
		"minus":          `SELECT * { ?a ?b ?c MINUS { ?d ?e ?c . ?f ?g ?c } }`,
		"exists":         `SELECT * { ?a ?b ?c FILTER NOT EXISTS { ?d ?e ?f FILTER(?c = ?f && ?a = ?e) } }`,
		"regex":          `SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER(REGEX(STR(?o), "((a{0,100}){0,100})$")) }`,
		"concat":         `SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?c), STR(?f))) AS ?g) { ?a ?b ?c . ?d ?e ?f }`,
		"construct":      `CONSTRUCT { ?a ?b ?f . ?d ?b ?c } { ?a ?b ?c . ?d ?e ?f }`,
		"parse":          `SELECT * { ?s ?p ?o FILTER(` + strings.Repeat("(", 400) + "1" + strings.Repeat("+1", 50_000) + strings.Repeat(")", 400) + `) }`,
	}
	doubles := `BIND("xxxxxxxx" AS ?v0) `
	for i := range 20 {
		doubles += fmt.Sprintf("BIND(CONCAT(?v%d,?v%[1]d) AS ?v%d) ", i, i+1)
	}
	all["double"] = `SELECT * { ?s ?p ?o ` + doubles + `} ORDER BY ?v20 ?s`
	var values, unions, chain strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&values, "(<x:s%d> %d) ", i, i)
	}
	all["values"] = `SELECT * { VALUES (?s ?x) { ` + values.String() + `} ?s ?p ?o }`
	for range 3000 {
		unions.WriteString(" UNION { ?s ?p ?o }")
	}
	all["unions"] = `SELECT (COUNT(*) AS ?n) { {}` + unions.String() + ` }`
	for i := range 300 {
		fmt.Fprintf(&chain, "?s%d ?p%d ?s%d . ", i, i, i+1)
	}
	all["joins"] = `SELECT * { ` + chain.String() + `}`
	return all
}

// subjects is how many there are in the data.
const subjects = 20_000

// data is what the server has: three triples of each subject.
func data() []byte {
	var b bytes.Buffer
	for i := range subjects {
		fmt.Fprintf(&b, "<x:s%d> <x:p> \"value %d\" .\n<x:s%d> <x:n> \"%d\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n<x:s%d> <x:next> <x:s%d> .\n",
			i, i, i, i%97, i, (i*7+1)%subjects)
	}
	return b.Bytes()
}

// server is a trefoil serve.
type server struct {
	url   string
	ended chan error
}

// start starts a server with little memory, and loads the data.
func start(t *testing.T, memory string) *server {
	t.Helper()
	binary, remove, err := testbinary.Trefoil("../..")
	require.NoError(t, err)
	t.Cleanup(remove)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	listener.Close()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	args := []string{"serve", "--data", t.TempDir(), "--listen", addr, "--query-timeout", "20s"}
	if memory != "" {
		args = append(args, "--memory", memory)
	}
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr = log, log
	require.NoError(t, command.Start())
	s := &server{url: "http://" + addr, ended: make(chan error, 1)}
	go func() { s.ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-s.ended
		log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("the server's log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	deadline := time.Now().Add(time.Minute)
	for {
		r, err := http.Post(s.url+"/load", "application/n-triples", bytes.NewReader(data()))
		if err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return s
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server takes no data: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// client returns an HTTP client that calls from an address of loopback.
func client(address string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 256}}
}

// query sends a query and reads the answer.
func query(ctx context.Context, c *http.Client, to, text string) (status int, err error) {
	body := url.Values{"query": {text}}.Encode()
	r, err := http.NewRequestWithContext(ctx, "POST", to+"/sparql", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return answer.StatusCode, fmt.Errorf("%s", said)
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, err
}

// figures are of point queries.
type figures struct {
	took   []time.Duration // sorted
	failed int
	why    map[string]int // number of failures by status and message
}

func (f figures) at(percent int) time.Duration {
	return f.took[min(len(f.took)*percent/100, len(f.took)-1)]
}

func (f figures) String() string {
	text := fmt.Sprintf("%d point queries, %d failed: p50 %s, p90 %s, p99 %s, at most %s",
		len(f.took), f.failed, f.at(50), f.at(90), f.at(99), f.took[len(f.took)-1])
	for why, n := range f.why {
		text += fmt.Sprintf("\n%d times: %s", n, why)
	}
	return text
}

// probe sends point queries at a pace, whether earlier ones are answered or not.
func probe(t *testing.T, s *server, from string, every time.Duration, n int) figures {
	t.Helper()
	c := client(from)
	defer c.CloseIdleConnections()
	f := figures{why: map[string]int{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		select {
		case err := <-s.ended:
			s.ended <- err
			t.Fatalf("the server has ended: %v", err)
		default:
		}
		all.Go(func() {
			begun := time.Now()
			status, err := query(t.Context(), c, s.url, fmt.Sprintf("SELECT ?p ?o { <x:s%d> ?p ?o }", i*31%subjects))
			took := time.Since(begun)
			mu.Lock()
			defer mu.Unlock()
			f.took = append(f.took, took)
			if err != nil || status != http.StatusOK {
				f.failed++
				f.why[fmt.Sprint(status, " ", err)]++
			}
		})
	}
	all.Wait()
	slices.Sort(f.took)
	return f
}

// storm sends hostile requests of many clients until ctx ends, each from an address of
// its own, and returns how many were answered.
func storm(ctx context.Context, to string, clients int) int64 {
	texts := kinds()
	var names []string
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	var all sync.WaitGroup
	var answered atomic.Int64
	// Each client sends all kinds in turn, and begins with another one.
	for i := range clients {
		all.Go(func() {
			c := client(fmt.Sprintf("127.0.1.%d", 1+i%250))
			defer c.CloseIdleConnections()
			for j := i; ctx.Err() == nil; j += 7 {
				one, done := ctx, func() {}
				if j%5 == 0 { // the client closes the connection early
					one, done = context.WithTimeout(ctx, time.Second)
				}
				if status, _ := query(one, c, to, texts[names[j%len(names)]]); status != 0 {
					answered.Add(1)
				}
				done()
			}
		})
	}
	all.Wait()
	return answered.Load()
}

// bombs sends compressed documents that decompress to much more, until ctx ends.
func bombs(ctx context.Context, to string, clients int) {
	var bomb bytes.Buffer
	z, _ := gzip.NewWriterLevel(&bomb, gzip.BestCompression)
	line := []byte("<http://x/a> <http://x/b> <http://x/c> .\n")
	for n := 0; n < 60<<20; n += len(line) {
		_, _ = z.Write(line)
	}
	_ = z.Close()
	c := client("127.0.0.3")
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, "POST", to+"/triples", bytes.NewReader(bomb.Bytes()))
				if err != nil {
					return
				}
				r.Header.Set("Content-Type", "application/n-triples")
				r.Header.Set("Content-Encoding", "gzip")
				if answer, err := c.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}
		})
	}
	all.Wait()
	c.CloseIdleConnections()
}

// idlers open connections that send half a header, or a request and no more, and keep
// them until ctx ends.
func idlers(ctx context.Context, to string, n int) {
	for i := range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
		if err != nil {
			continue
		}
		defer conn.Close()
		text := "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
		if i%2 == 0 {
			text += "\r\n"
		}
		_, _ = io.WriteString(conn, text)
	}
	<-ctx.Done()
}

// hostile are the clients of an attack.
type hostile struct {
	To                    string
	Clients, Bombs, Idles int
}

// attackEnv is the environment variable that makes a test process hostile: a hostile in
// JSON.
const attackEnv = "TREFOIL_ATTACK"

// attack starts hostile clients in another process of the lowest priority, because real
// ones would run on other machines. end stops them.
func attack(t *testing.T, h hostile) (end func()) {
	t.Helper()
	text, err := json.Marshal(h)
	require.NoError(t, err)
	command := exec.Command("nice", "-n", "19", os.Args[0], "-test.run", "^TestAttacker$")
	command.Env = append(os.Environ(), attackEnv+"="+string(text))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe() // closing it ends the attack
	if err == nil {
		err = command.Start()
	}
	require.NoError(t, err)
	end = sync.OnceFunc(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the hostile clients: %v", err)
		}
	})
	t.Cleanup(end)
	return end
}

// TestAttacker is the process that attack starts.
func TestAttacker(t *testing.T) {
	var h hostile
	if err := json.Unmarshal([]byte(os.Getenv(attackEnv)), &h); err != nil {
		t.Skip("other tests start it as a process")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if storm(ctx, h.To, h.Clients) == 0 {
			t.Error("no hostile query was answered")
		}
	})
	all.Go(func() { bombs(ctx, h.To, h.Bombs) })
	all.Go(func() { idlers(ctx, h.To, h.Idles) })
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
}

// TestPointQueriesInStorm: point queries are answered during some seconds of hostile ones.
// The bound is loose because other tests may run at the same time; TestTortureAbuse has a
// strict one.
func TestPointQueriesInStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("it is of time and memory")
	}
	s := start(t, "1GiB")
	quiet := probe(t, s, "127.0.0.1", 20*time.Millisecond, 50)
	end := attack(t, hostile{To: s.url, Clients: 24, Bombs: 2, Idles: 100})
	loud := probe(t, s, "127.0.0.1", 50*time.Millisecond, 100)
	end()
	t.Logf("quiet: %s; amid the storm: %s", quiet, loud)
	if loud.at(50) > 250*time.Millisecond+20*quiet.at(50) || loud.failed > 10 {
		t.Errorf("amid the storm: %s", loud)
	}
}

// TestTortureAbuse is for TREFOIL_TORTURE of time, with TREFOIL_CLIENTS (200) hostile
// clients and TREFOIL_MEMORY of memory (the container's, or the machine's).
func TestTortureAbuse(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("TREFOIL_TORTURE"))
	if err != nil {
		t.Skip("TREFOIL_TORTURE is no duration: see make torture-abuse")
	}
	clients, err := strconv.Atoi(os.Getenv("TREFOIL_CLIENTS"))
	if err != nil {
		clients = 200
	}
	s := start(t, os.Getenv("TREFOIL_MEMORY"))
	quiet := probe(t, s, "127.0.0.1", 20*time.Millisecond, 500)
	t.Logf("quiet: %s", quiet)
	endAttack := attack(t, hostile{To: s.url, Clients: clients, Bombs: 8, Idles: 500})
	for end := time.Now().Add(long); time.Now().Before(end); {
		loud := probe(t, s, "127.0.0.1", 20*time.Millisecond, 500)
		t.Logf("amid the storm: %s", loud)
		if most := 3*quiet.at(99) + 10*time.Millisecond; loud.at(99) > most {
			t.Errorf("the 99th percentile is %s, more than %s", loud.at(99), most)
		}
		if loud.failed > 0 {
			t.Errorf("%d point queries failed", loud.failed)
		}
	}
	endAttack()
	t.Logf("after: %s", probe(t, s, "127.0.0.1", 20*time.Millisecond, 500))
}
