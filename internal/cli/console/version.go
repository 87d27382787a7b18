// The version of the program.

package console

import (
	"runtime"
	"runtime/debug"

	"github.com/trefoildb/trefoil/internal/protocol"
)

// release is the name of the release; -ldflags "-X .../internal/cli/console.release=v1.2.3" sets it.
var release string

// programVersion is the output of trefoil version --json.
type programVersion struct {
	Version  string `json:"version"`
	Protocol string `json:"protocol"`           // between nodes
	Revision string `json:"revision,omitempty"` // the commit it was built from
	Modified bool   `json:"modified,omitempty"` // the tree had changes beyond the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ThisVersion returns the running program's version: that of the linker's flag or, if it is not
// set, of the module.
func ThisVersion() programVersion {
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
