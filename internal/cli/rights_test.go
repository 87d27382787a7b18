// Tests of what users may do with the commands.

package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/cli/target"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// commandRule is a row of the table of docs/operations/node.md.
type commandRule struct {
	role   string // "" if the command asks no server
	graphs bool   // users with some graphs only may use it
}

// commandRules reads the table of docs/operations/node.md.
func commandRules(t *testing.T) map[string]commandRule {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations/node.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| command | role | some graphs |\n|---|---|---|\n")
	if !ok {
		t.Fatal("docs/operations/node.md has no table of commands")
	}
	all := map[string]commandRule{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		for _, found := range regexp.MustCompile("`([a-z -]+)`").FindAllStringSubmatch(cells[1], -1) {
			if _, twice := all[found[1]]; twice {
				t.Errorf("docs/operations/node.md has %s twice", found[1])
			}
			role := strings.TrimSpace(cells[2])
			if role == "none" {
				role = ""
			}
			all[found[1]] = commandRule{role, strings.TrimSpace(cells[3]) == "yes"}
		}
	}
	return all
}

// commandLine is a command with arguments that work for a user who may use it.
type commandLine struct {
	command string
	args    string // FILES are those of TestCommandRights
	fails   string // words of the error if it cannot work, also for a user who may
}

// commandLines has each command that asks a server, in an order in which they work.
var commandLines = []commandLine{
	{"add", "TTL", ""}, {"load", "NQ", ""}, {"load --links", "--format edges EDGES", ""}, {"links update", "--format edges EDGES", ""},
	{"query", "QUERY", ""}, {"query --explain", "QUERY", ""}, {"update", "UPDATE", ""},
	{"range", "--order spo", ""}, {"match", "", ""}, {"count", "", ""}, {"dump", "", ""}, {"annotations", "", ""}, {"status", "", ""}, {"watch", "--end", ""},
	{"annotate", "--app a --text x <http://a/> <urn:trefoil:linksTo> <http://b/>", ""},
	{"prefixes list", "", ""}, {"prefixes add", "zz http://zz/", ""}, {"prefixes remove", "zz", ""},
	{"links uid", "http://a/", ""}, {"links url", "UID", ""}, {"links get", "http://a/", ""}, {"links sample", "--n 1 http://a/", ""}, {"links degree", "http://a/", ""},
	{"links stats", "", ""}, {"links stores", "", ""}, {"links stores --request", "urls", ""}, {"links epoch", "", ""}, {"links pages", "", ""},
	{"links label", "http://a/", ""}, {"links label --text", "x http://a/", ""}, {"links rank", "http://a/", ""},
	{"links pagerank start", "--watch", ""}, {"links pagerank status", "", ""}, {"links pagerank stop", "", "no such job"},
	{"text list", "", ""}, {"text add", "--wait urn:p", ""}, {"search", "--scan -p urn:p word", ""}, {"text remove", "urn:p", ""},
	{"subscriptions list", "", ""}, {"subscriptions get", "s", ""}, {"subscriptions put", "t", ""}, {"subscriptions delete", "s", ""},
	{"functions list", "", ""}, {"functions get", "f", ""}, {"functions put", "g WASM", ""}, {"functions delete", "f", ""}, {"queries", "", ""},
	{"check", "", ""}, {"backup", "--force BACKUP", ""},
	{"cluster status", "", ""}, {"cluster activity", "--every 1ms", ""}, {"cluster where", "<http://a/> <urn:trefoil:linksTo> <http://b/>", ""},
	{"cluster leave", "", "not part of a cluster"}, {"cluster remove", "0000000000000001", "not part of a cluster"}, {"cluster set copies", "3", "not part of a cluster"}, {"cluster accept-loss", "--force", "not part of a cluster"},
	{"delete", "TTL", ""},
}

// TestCommandRights runs each command as each user. It succeeds, or says which right is missing, as the table of
// docs/operations/node.md has it.
func TestCommandRights(t *testing.T) {
	seed.Slow(t)
	// 1. All commands are in the table.
	rules := commandRules(t)
	tried := map[string]bool{}
	for _, c := range commandLines {
		tried[c.command] = true
	}
	for _, leaf := range newParser(new(grammar), io.Discard, io.Discard, func(int) {}).Model.Leaves(true) {
		name := strings.TrimPrefix(leaf.FullPath(), "trefoil ")
		if rule, ok := rules[name]; !ok || tried[name] != (rule.role != "") {
			t.Errorf("%s: in docs/operations/node.md %v %+v, tried here %v", name, ok, rule, tried[name])
		}
	}
	// 2. Start a server with users.
	var text strings.Builder
	users := map[string][]string{"reader": {"read"}, "writer": {"read", "write"}, "loader": {"load"}, "admin": {"read", "write", "load", "admin"}, "limited-reader": {"read"}, "limited-writer": {"read", "write"}}
	for name, roles := range users {
		fmt.Fprintf(&text, "[%s]\nhash = %q\nroles = [\"%s\"]\n", name, password.New(name).String(), strings.Join(roles, `","`))
		switch name {
		case "limited-reader":
			text.WriteString("read-graphs = [\"default\"]\n")
		case "limited-writer":
			text.WriteString("write-graphs = [\"default\"]\n")
		}
	}
	address, _ := serveNode(t, "--users", write(t, "users", text.String()), "--copies", "3")
	words := strings.NewReplacer("TTL", write(t, "a.ttl", "@prefix ex: <http://ex/> . ex:a ex:b ex:c ."), "NQ", write(t, "a.nq", "<urn:a> <urn:b> <urn:c> .\n"),
		"EDGES", write(t, "edges", "http://a/\thttp://b/\n"), "QUERY", write(t, "q.rq", "SELECT * { ?s ?p ?o }"), "UPDATE", write(t, "u.ru", "INSERT DATA { <urn:x> <urn:y> <urn:z> }"),
		"WASM", filepath.Join("..", "functions", "sandbox", "testdata", "schema.wasm"), "BACKUP", filepath.Join(t.TempDir(), "backup"))
	uid := ""
	as := func(user string, c commandLine) (code int, out string) {
		t.Helper()
		args := append(append(strings.Fields(c.command), "--to", address), strings.Fields(strings.Replace(words.Replace(c.args), "UID", uid, 1))...)
		if c.command == "links label --text" || c.command == "links stores --request" { // the flag's value follows
			fields := strings.Fields(c.command + " " + c.args)
			args = append(fields, "--to", address)
		}
		t.Setenv(target.EnvToken, user+":"+user)
		code, stdout, stderr := run(t, "", args...)
		return code, stdout + stderr
	}
	// 3. Run them.
	if code, out := as("admin", commandLine{"links update", "--format edges EDGES", ""}); code != exitDone {
		t.Fatal(code, out)
	}
	_, uid = as("admin", commandLine{"links uid", "http://a/", ""})
	_, uid, _ = strings.Cut(strings.TrimSpace(uid), "\t")
	for _, name := range slices.Sorted(maps.Keys(users)) {
		roles := users[name]
		for _, c := range []commandLine{{"links pagerank start", "--watch", ""}, {"subscriptions put", "s", ""}, {"functions put", "f WASM", ""}, {"load", "NQ", ""}, {"links update", "--format edges EDGES", ""}} {
			if code, out := as("admin", c); code != exitDone {
				t.Fatalf("%s: %d %s", c.command, code, out)
			}
		}
		for _, c := range commandLines {
			rule, ok := rules[c.command]
			if !ok {
				t.Errorf("docs/operations/node.md does not have %s", c.command)
			}
			has := strings.Contains(strings.Join(roles, " "), rule.role)
			limited := strings.HasPrefix(name, "limited") && !rule.graphs
			code, out := as(name, c)
			lacks := strings.Contains(out, "needs the role "+rule.role) || name == "loader" && strings.Contains(out, "needs the role read")
			allGraphs := strings.Contains(out, "some graphs only") || strings.Contains(out, "may read some only")
			switch {
			case !has:
				// Some commands read before they change anything, and fail then.
				if code != exitFailed || !lacks && !(limited && allGraphs) && (c.fails == "" || !strings.Contains(out, c.fails)) {
					t.Errorf("%s: %s: code %d, want the missing role %s: %s", name, c.command, code, rule.role, out)
				}
			case limited:
				if code != exitFailed || !allGraphs {
					t.Errorf("%s: %s: code %d, want that it is of all graphs: %s", name, c.command, code, out)
				}
			case c.fails != "":
				if code != exitFailed || !strings.Contains(out, c.fails) {
					t.Errorf("%s: %s: code %d, want %s: %s", name, c.command, code, c.fails, out)
				}
			case code != exitDone:
				t.Errorf("%s: %s: code %d: %s", name, c.command, code, out)
			}
		}
	}
}
