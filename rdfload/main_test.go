// The check that no goroutine is left.

package rdfload_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childTest is the task of a child process that a test starts.
const childTest = "TREFOIL_RDFLOAD_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childTest); name != "" {
		os.Exit(runChild(name))
	}
	goleak.VerifyTestMain(m)
}
