// Links commands and the Go client of users with some graphs only, in a cluster.

package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
)

// TestLinksOfUsers: what a user with some graphs gets of links is of these, through each of two members, and all else
// says why it is not there.
func TestLinksOfUsers(t *testing.T) {
	seed.Slow(t)
	// 1. Two members with three users.
	var users strings.Builder
	for name, rights := range map[string]string{
		"all": `roles = ["write"]`, "one": `roles = ["read"]` + "\nread-graphs = [\"urn:g:1\"]", "writer": `roles = ["write"]` + "\nwrite-graphs = [\"urn:g:1\"]",
	} {
		fmt.Fprintf(&users, "[%s]\nhash = %q\n%s\n", name, password.New(name).String(), rights)
	}
	args := []string{"--users", write(t, "users", users.String()), "--gossip-key-file", newKeys(t).file("own.key")}
	first, _ := serveNode(t, args...)
	second, _ := serveNode(t, append(args, "--join", first)...)
	as := func(user, address, stdin string, args ...string) (code int, stdout, stderr string) {
		t.Helper()
		t.Setenv("TREFOIL_TOKEN", user+":"+user)
		return run(t, stdin, append(args, "--to", "http://"+address)...)
	}
	link := func(src, dst, graph string) string {
		return fmt.Sprintf("<http://a.example/%s> <%s> <http://b.example/%s> %s .\n", src, links.DefaultPredicate, dst, graph)
	}
	quads := link("s", "default", "") + link("s", "seen", "<urn:g:1>") + link("s", "both", "<urn:g:1>") + link("s", "both", "<urn:g:2>") + link("s", "hidden", "<urn:g:2>") + link("secret", "seen", "<urn:g:2>")
	if code, stdout, stderr := as("all", first, quads, "add", "--from", "nq", "-"); code != exitDone {
		t.Fatal(code, stdout, stderr)
	}
	// 2. Reads and writes, or an error that says why.
	const edge = "http://a.example/s\thttp://b.example/x\n"
	for _, address := range []string{first, second} {
		for _, c := range []struct {
			user, stdin, args string
			code              int
			words             []string
		}{
			{"one", "", "links get http://a.example/s", exitDone, []string{"http://b.example/both\n", "http://b.example/seen\n"}},
			{"one", "", "links get --labels http://a.example/s", exitDone, []string{"http://b.example/both", "http://b.example/seen"}},
			{"one", "", "links get --backward http://b.example/seen", exitDone, []string{"http://a.example/s\t"}},
			{"one", "", "links sample -n 9 http://a.example/s", exitDone, []string{"http://b.example/both\n", "http://b.example/seen\n"}},
			{"one", "", "links get http://a.example/secret", exitDone, nil},
			{"one", "", "links stats", exitFailed, []string{"this is of all graphs, and the user one has some graphs only", "/links/get"}},
			{"one", "", "links pages", exitFailed, []string{"this is of all graphs"}},
			{"one", "", "links rank --algorithm pagerank http://a.example/s", exitFailed, []string{"scores of PageRank are of all graphs"}},
			{"one", "", "links rank --all http://a.example/s", exitDone, []string{"http://b.example/both", "http://b.example/seen"}},
			{"one", "", "links epoch", exitFailed, []string{"an epoch is of all graphs"}},
			{"one", edge, "links update --format edges -", exitFailed, []string{"needs the role write"}},
			{"writer", edge, "links update --format edges -", exitFailed, []string{"/links/update changes the default graph only", "POST and DELETE /triples"}},
			{"writer", link("s", "seen", ""), "add --from nq -", exitFailed, []string{"the default graph may not be changed"}},
		} {
			code, stdout, stderr := as(c.user, address, c.stdin, strings.Fields(c.args)...)
			both := stdout + stderr
			if code != c.code || strings.Contains(stdout, "hidden") || strings.Contains(stdout, "default") || strings.Contains(stdout, "secret") {
				t.Errorf("%s: %s: %d %s%s", c.user, c.args, code, stdout, stderr)
			}
			for _, words := range c.words {
				if !strings.Contains(both, words) {
					t.Errorf("%s: %s: %q is not in %s", c.user, c.args, words, both)
				}
			}
		}
	}
	// 3. A writer changes the links of its graph.
	for _, command := range []string{"add", "delete"} {
		if code, stdout, stderr := as("writer", second, link("s", "more", "<urn:g:1>"), command, "--from", "nq", "-"); code != exitDone {
			t.Fatal(command, code, stdout, stderr)
		}
		if _, stdout, _ := as("writer", first, "", "links", "get", "http://a.example/s"); strings.Contains(stdout, "more") != (command == "add") {
			t.Errorf("after %s: %s", command, stdout)
		}
	}
	// 4. The Go client has the error with its kind.
	c, err := client.New("http://"+second, client.Options{Token: "one:one"})
	if err != nil {
		t.Fatal(err)
	}
	var failed *client.Error
	if _, err := c.Links.Stats(t.Context()); !errors.As(err, &failed) || failed.Kind != "forbidden" || !strings.Contains(err.Error(), "this is of all graphs") {
		t.Errorf("%v", err)
	}
	known, err := c.Links.UIDs(t.Context(), []string{"http://a.example/s", "http://a.example/secret"})
	if err != nil || known[0] == 0 || known[1] != 0 {
		t.Errorf("%v, %v", known, err)
	}
}
