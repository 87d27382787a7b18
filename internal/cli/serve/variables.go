// Environment variables that look like settings and are none.

package serve

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/internal/cli/target"
)

// variablePrefix begins the names of all variables of trefoil.
const variablePrefix = "TREFOIL_"

// serviceLinks are the variables that Kubernetes and Docker set in containers beside a service that is
// named trefoil or trefoil-something. The value of one that ends with PORT is an address.
var (
	serviceLinks = regexp.MustCompile(`^TREFOIL(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	serviceURL   = regexp.MustCompile(`^TREFOIL(_[A-Z0-9_]+)?_PORT=(tcp|udp|sctp)://`)
)

// unknownVariables returns a message for each variable of environ, in the form NAME=VALUE, that begins
// with TREFOIL_ and that nothing reads. A server names all of them. Another command names only those that
// are likely to be a misspelt variable of its own, because it shares the environment with other programs.
func unknownVariables(app *kong.Application, command *kong.Node, environ []string) (messages []string) {
	// 1. What is read: by the client commands, and by the flags of this grammar.
	known := []string{target.EnvTo, target.EnvToken, target.EnvCA}
	kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			known = append(known, f.Tag.Envs...)
		}
		return next(nil)
	})
	// 2. What is set.
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name) || serviceLinks.MatchString(name) || serviceURL.MatchString(variable) {
			continue
		}
		like := nearest(name, known)
		switch {
		case like != "":
			messages = append(messages, fmt.Sprintf("the environment variable %s is not known, and ignored; did you mean %s?", name, like))
		case hasSettings(command):
			messages = append(messages, fmt.Sprintf("the environment variable %s is not known, and ignored; trefoil serve --help names the settings", name))
		}
	}
	return messages
}

// nearest returns the known name with the fewest edits; "" if all need more than two, or more than one for
// three letters.
func nearest(name string, known []string) (best string) {
	least := 3
	for _, k := range known {
		most := (len(k) - len(variablePrefix)) / 3
		if n := distance(name, k); n <= max(1, most) && n < least {
			least, best = n, k
		}
	}
	return best
}

// distance returns the Levenshtein distance of two texts in bytes, by a row of its matrix.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// FindVariables keeps the messages about unknown variables until they are printed. parsed is nil if the
// arguments name no command.
func FindVariables(e *console.Env, app *kong.Application, parsed *kong.Context) {
	var command *kong.Node
	if parsed != nil {
		command = parsed.Selected()
	}
	e.Variables = unknownVariables(app, command, os.Environ())
}
