// trefoil users, and the file of serve --users.

package serve

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"golang.org/x/term"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/node"
)

// UsersCmd helps to write the file of users.
type UsersCmd struct {
	Hash usersHashCmd `cmd:"" help:"Read a password from standard input, or from a prompt on a terminal, and print its hash for the file of serve --users."`
}

type usersHashCmd struct{}

// Help returns an example.
func (*usersHashCmd) Help() string {
	return `Example, with a new random password:
  head -c 24 /dev/urandom | base64 >password
  trefoil users hash <password`
}

func (c *usersHashCmd) Run(e *console.Env) error {
	line, err := c.password(e)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	if line == "" || len(line) > password.MaxBytes {
		return fmt.Errorf("the first line of standard input is the password, 1 to %d bytes", password.MaxBytes)
	}
	_, err = fmt.Fprintln(e.Stdout, password.New(line))
	return err
}

// password returns the first line of standard input. On a terminal it is typed twice, because it is not shown.
func (c *usersHashCmd) password(e *console.Env) (string, error) {
	f, ok := e.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(e.Stdin, password.MaxBytes+2)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return strings.TrimRight(line, "\r\n"), err
	}
	line, err := console.ReadPassword(e.Ctx, f, e.Stderr, "Password: ")
	if err != nil {
		return "", err
	}
	again, err := console.ReadPassword(e.Ctx, f, e.Stderr, "Again: ")
	if err == nil && again != line {
		err = errors.New("the two passwords differ")
	}
	return line, err
}

// userEntry is a user in the file. Its name is the table's.
type userEntry struct {
	Hash        string   `toml:"hash"`
	OIDC        []string `toml:"oidc"`
	Roles       []string `toml:"roles"`
	ReadGraphs  []string `toml:"read-graphs"`
	WriteGraphs []string `toml:"write-graphs"`
}

// readUsers reads the file of --users: a table for each user, sorted by name. A file without users is an error,
// because an empty one would open the node to all.
func readUsers(file string) ([]node.User, error) {
	var entries map[string]userEntry
	meta, err := toml.DecodeFile(file, &entries)
	if err != nil {
		return nil, fmt.Errorf("users: %s: %w", file, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("users: %s: unknown key %s: a user has hash, oidc, roles, read-graphs, write-graphs", file, unknown[0])
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("users: %s has no users: a table such as [alice] with hash and roles is one", file)
	}
	var all []node.User
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		// An empty list would mean all graphs.
		for _, key := range []string{"read-graphs", "write-graphs"} {
			one := entries[name]
			if meta.IsDefined(name, key) && len(map[string][]string{"read-graphs": one.ReadGraphs, "write-graphs": one.WriteGraphs}[key]) == 0 {
				return nil, fmt.Errorf("users: %s: %s of %s is empty: leave it out for all graphs, or name some", file, key, name)
			}
		}
		one := entries[name]
		all = append(all, node.User{Name: name, Hash: one.Hash, OIDC: one.OIDC, Roles: one.Roles, ReadGraphs: one.ReadGraphs, WriteGraphs: one.WriteGraphs})
	}
	return all, nil
}
