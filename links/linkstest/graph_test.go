// The plain graph must pass its own test.

package linkstest

import "testing"

func TestPlainGraph(t *testing.T) { TestGraph(t, New(), nil) }
