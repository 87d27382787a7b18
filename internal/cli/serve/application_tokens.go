// The file with the tokens of applications.

package serve

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/trefoildb/trefoil/node"
)

// readApplications reads the file of --application-tokens-file. A line has the ID of an application,
// its token, and the IDs of its readers or *. Bytes of IDs may be written %XX. Empty lines, and those
// that begin with #, are skipped.
func readApplications(file string) ([]node.Application, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("application tokens: %w", err)
	}
	defer in.Close()
	var all []node.Application
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) == 1 {
			return nil, fmt.Errorf("application tokens: %s:%d: application %s has no token: a line is ID TOKEN [READER ...]", file, number, fields[0])
		}
		// The token is taken as it is, the IDs are decoded.
		a := node.Application{Token: fields[1]}
		for i, text := range fields {
			if i == 1 {
				continue
			}
			id, err := url.PathUnescape(text)
			if err != nil {
				return nil, fmt.Errorf("application tokens: %s:%d: %w", file, number, err)
			}
			if i == 0 {
				a.ID = id
			} else {
				a.Readers = append(a.Readers, id)
			}
		}
		all = append(all, a)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("application tokens: %s: %w", file, err)
	}
	return all, nil
}
