package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// release names the release; -ldflags "-X .../internal/cli.release=v1.2.3" sets it.
var release string

// versionCmd prints what program this is.
type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

// programVersion is what trefoil version --json prints.
type programVersion struct {
	Version  string `json:"version"`
	Protocol string `json:"protocol"`           // between nodes
	Revision string `json:"revision,omitempty"` // the commit it was built from
	Modified bool   `json:"modified,omitempty"` // the tree had changes beyond the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c *versionCmd) Run(e *env) error {
	v := thisVersion()
	if c.JSON {
		return e.printJSON(v)
	}
	text := "trefoil " + v.Version
	if v.Revision != "" {
		text += " " + v.Revision
	}
	if v.Modified {
		text += " (modified)"
	}
	_, err := fmt.Fprintf(e.stdout, "%s, protocol %s, %s, %s\n", text, v.Protocol, v.Go, v.Platform)
	return err
}

// thisVersion returns the running program's version: that of the linker's flag,
// or else of the module as it was built.
func thisVersion() programVersion {
	v := programVersion{Version: release, Protocol: protocol.Name(protocol.Minor), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v.Version == "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value[:min(12, len(s.Value))]
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	return v
}
