package rdfload_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childTest names, in a child process that a test starts, what the child does.
const childTest = "TREFOIL_RDFLOAD_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childTest); name != "" {
		os.Exit(runChild(name))
	}
	goleak.VerifyTestMain(m)
}
