// The log of changes and of what operators do.

// Package audit appends [Record] after record to a file, a line of JSON each, so that an operator can show who changed
// what. A line is written with one call, and is not flushed to the disk: it outlives the process, but perhaps not
// a failure of the machine's power. A record has no password, no token and no data, except names of graphs.
package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Record is one request.
type Record struct {
	Time    time.Time `json:"time"`    // when it ended
	Request string    `json:"request"` // its ID, as in the log and in X-Request-Id
	User    string    `json:"user"`    // as in the log; "" if nobody was recognized
	Remote  string    `json:"remote"`  // address
	Method  string    `json:"method"`
	Path    string    `json:"path"`   // without parameters
	Right   string    `json:"right"`  // that it needs
	Status  int       `json:"status"` // 499 if the client went away
	// Graphs are those that it changed or would have changed; see graphrights.Touched.
	Graphs []string `json:"graphs,omitempty"`
	// Added and Deleted count triples, also of a change that failed after some of them.
	Added   int64 `json:"added"`
	Deleted int64 `json:"deleted"`
}

// Log is an open file of records. It is safe for concurrent use.
type Log struct {
	path string

	mu   sync.Mutex
	file *os.File
}

// Open opens a file to append to, and creates it for its owner only if it is missing.
func Open(path string) (*Log, error) {
	file, err := open(path)
	return &Log{path: path, file: file}, err
}

func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return file, nil
}

// Write appends a record.
func (l *Log) Write(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// Reopen opens the path again, because it may have been renamed. After an error the file before is still used.
func (l *Log) Reopen() error {
	file, err := open(l.path)
	if err != nil {
		return err
	}
	l.mu.Lock()
	before := l.file
	l.file = file
	l.mu.Unlock()
	return before.Close()
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
