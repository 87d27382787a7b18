// The settings of a server: its flags, which environment variables and a file may set, too.
//
// A flag counts before the environment, the environment before the file, and the file before the
// default. Variables and keys have the names of the flags: --token-file is TREFOIL_TOKEN_FILE, and
// in the file, which is TOML without tables:
//
//	listen = "0.0.0.0:7333"
//	join = ["10.0.0.1:7333", "10.0.0.2:7333"]
//	query-timeout = "30s"
//	read-only = true

package serve

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"github.com/trefoildb/trefoil/internal/cli/console"
)

// variableOf returns the environment variable of a flag.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// hasSettings reports whether a command has the flags of a server.
func hasSettings(n *kong.Node) bool { return n != nil && (n.Name == "serve" || n.Name == "config") }

// isSetting reports whether the environment and files may set a flag.
func isSetting(f *kong.Flag) bool { return f.Name != "help" && f.Name != "config" }

// AddVariables adds the environment variables of a server's flags to the grammar.
func AddVariables(k *kong.Kong) error {
	for _, n := range k.Model.Children {
		if !hasSettings(n) {
			continue
		}
		for _, f := range n.Flags {
			if f.Name != "help" && len(f.Tag.Envs) == 0 {
				f.Tag.Envs = []string{variableOf(f.Name)}
				f.Envs = f.Tag.Envs
			}
		}
	}
	return nil
}

// settingsFile is the keys of a file of settings.
type settingsFile map[string]any

var _ kong.Resolver = settingsFile(nil)

// configFlag is the path of a file of settings. The file is read when the flag is met.
type configFlag string

// BeforeResolve adds what the file says to the flags.
func (configFlag) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	path := string(ctx.FlagValue(trace.Flag).(configFlag))
	s := settingsFile{}
	_, err := toml.DecodeFile(path, &s)
	if err == nil {
		err = s.Validate(ctx.Model)
	}
	if err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	ctx.AddResolver(s)
	return nil
}

// Validate implements [kong.Resolver]: every key must be the name of a flag.
func (s settingsFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, n := range app.Children {
		for _, f := range n.Flags {
			known[f.Name] = known[f.Name] || hasSettings(n) && isSetting(f)
		}
	}
	for key, value := range s {
		if _, table := value.(map[string]any); table {
			return fmt.Errorf("it has a table [%s]; a file of settings has only keys, such as listen = \"127.0.0.1:7333\"", key)
		}
		if !known[key] {
			return fmt.Errorf("unknown key: %s; the keys are the flags of trefoil serve, see trefoil config", key)
		}
	}
	return nil
}

// Resolve implements [kong.Resolver].
func (s settingsFile) Resolve(_ *kong.Context, parent *kong.Path, f *kong.Flag) (any, error) {
	value, ok := s[f.Name]
	if !ok || !hasSettings(parent.Node()) || fromEnvironment(f) {
		return nil, nil
	}
	// kong reads numbers and lists as on the command line.
	switch value := value.(type) {
	case []any:
		var all []string
		for _, v := range value {
			all = append(all, fmt.Sprint(v))
		}
		return strings.Join(all, ","), nil
	case bool:
		return value, nil
	default:
		return fmt.Sprint(value), nil
	}
}

// fromEnvironment reports whether the environment sets a flag.
func fromEnvironment(f *kong.Flag) bool {
	return slices.ContainsFunc(f.Tag.Envs, func(name string) bool {
		_, ok := os.LookupEnv(name)
		return ok
	})
}

// ConfigCmd prints the settings of a server.
type ConfigCmd struct {
	Data string `placeholder:"DIR" help:"The data directory."`
	serveFlags
}

// Help returns what the help says behind the flags.
func (*ConfigCmd) Help() string {
	return `It has the flags of serve, reads the environment and the file of --config as serve does, and prints what would
count. Settings that have their default are comments.

Examples:
  trefoil config > trefoil.toml
  trefoil config --config trefoil.toml --copies 5`
}

// Run prints every setting with its meaning.
func (c *ConfigCmd) Run(e *console.Env, parsed *kong.Context) error {
	if _, err := c.Options(); err != nil {
		return err
	}
	// 1. Flags that the command line or the file has set.
	given := map[*kong.Flag]bool{}
	for _, p := range parsed.Path {
		if p.Flag != nil {
			given[p.Flag] = true
		}
	}
	// 2. All flags, each with its help as a comment.
	group := ""
	for _, f := range parsed.Selected().Flags {
		if !isSetting(f) {
			continue
		}
		if f.Group != nil && f.Group.Title != group {
			group = f.Group.Title
			fmt.Fprintf(e.Stdout, "# %s\n\n", strings.ToUpper(group))
		}
		for _, line := range wrap(f.Help, 96) {
			fmt.Fprintln(e.Stdout, "#", line)
		}
		line := settingOf(f)
		if !given[f] && !fromEnvironment(f) {
			line = "# " + line
		}
		fmt.Fprintf(e.Stdout, "%s\n\n", line)
	}
	return nil
}

// settingOf returns a flag as a line of a file.
func settingOf(f *kong.Flag) string {
	// 1. A pointer separates a value of 0 from none.
	v := f.Target
	none := v.IsZero()
	if v.Kind() == reflect.Pointer && !none {
		v = v.Elem()
	}
	// 2. The value as TOML. Without one, show what it looks like.
	var value string
	switch {
	case f.IsSlice():
		all := make([]string, v.Len())
		for i := range all {
			all[i] = strconv.Quote(v.Index(i).String())
		}
		value = "[" + strings.Join(all, ", ") + "]"
	case v.Kind() == reflect.Bool, v.Kind() == reflect.Int:
		value = fmt.Sprint(v)
	case none:
		value = strconv.Quote(cmp.Or(f.Default, f.PlaceHolder))
	default:
		value = strconv.Quote(fmt.Sprint(v.Interface()))
	}
	return f.Name + " = " + value
}

// wrap divides a text into lines of at most a width, if no word is longer.
func wrap(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && len(lines[n-1])+1+len(word) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
