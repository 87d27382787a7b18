// Nodes as processes, and the events in their logs.

package rig

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Process is a running server, mostly `trefoil serve`.
type Process struct {
	cmd     *exec.Cmd
	address chan string   // gets host:port once, when the server listens
	ended   chan struct{} // closed after the process has ended and its log is read
	err     error         // of its end; must be read after ended is closed

	mu     sync.Mutex
	events []Event
	last   []string // lines of its standard error
}

// Event is a line of a node's log about a view.
type Event struct {
	At     time.Time
	What   string // Adopted or Backfilled
	Fields map[string]string
}

// The messages of the events that count.
const (
	Adopted    = "adopted a view"
	Backfilled = "backfilled"
)

// tailLines is how many lines of a log an error shows if a node fails.
const tailLines = 15

// Serve starts `trefoil serve`. A log that is not nil gets its standard error, and is closed at
// the end. The process is killed when ctx ends.
func (r *Rig) Serve(ctx context.Context, log io.WriteCloser, args ...string) (*Process, error) {
	return Start(r.Command(ctx, append([]string{"serve"}, args...)...), log)
}

// Start starts the command of a server. The log is that of [Rig.Serve].
func Start(cmd *exec.Cmd, log io.WriteCloser) (*Process, error) {
	p := &Process{cmd: cmd, address: make(chan string, 1), ended: make(chan struct{})}
	stderr, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		if log != nil {
			log.Close()
		}
		return nil, err
	}
	go p.follow(stderr, log)
	return p, nil
}

// serving is the message of a node that listens.
var serving = regexp.MustCompile(`msg="serving .* at http://([^"]+)"$`)

func (p *Process) follow(stderr io.Reader, log io.WriteCloser) {
	defer close(p.ended)
	if log != nil {
		defer log.Close()
		stderr = io.TeeReader(stderr, log)
	}
	in := bufio.NewScanner(stderr)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if found := serving.FindStringSubmatch(line); found != nil {
			select {
			case p.address <- found[1]:
			default:
			}
		}
		p.mu.Lock()
		if e, ok := parseEvent(line); ok {
			p.events = append(p.events, e)
		}
		if p.last = append(p.last, line); len(p.last) > tailLines {
			p.last = p.last[1:]
		}
		p.mu.Unlock()
	}
	p.err = p.cmd.Wait()
}

// parseEvent parses a line of log/slog's text form.
func parseEvent(line string) (e Event, ok bool) {
	fields := map[string]string{}
	for line != "" {
		name, rest, ok := strings.Cut(line, "=")
		if !ok {
			return e, false
		}
		value := rest
		if quoted, err := strconv.QuotedPrefix(rest); err == nil {
			value, _ = strconv.Unquote(quoted)
			line = strings.TrimPrefix(rest[len(quoted):], " ")
		} else {
			value, line, _ = strings.Cut(rest, " ")
		}
		fields[name] = value
	}
	at, err := time.Parse(time.RFC3339Nano, fields["time"])
	if err != nil || fields["msg"] != Adopted && fields["msg"] != Backfilled {
		return e, false
	}
	return Event{At: at, What: fields["msg"], Fields: fields}, true
}

// Number returns a field of an event, 0 if it is missing.
func (e Event) Number(field string) int64 {
	n, _ := strconv.ParseInt(e.Fields[field], 10, 64)
	return n
}

// EventsSince returns the events from a time on. Times in a log are whole milliseconds.
func (p *Process) EventsSince(at time.Time) (events []Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if !e.At.Before(at.Truncate(time.Millisecond)) {
			events = append(events, e)
		}
	}
	return events
}

// Address waits until the process listens, and returns host:port. It must be called once.
func (p *Process) Address(ctx context.Context) (address string, err error) {
	select {
	case address = <-p.address:
		return address, nil
	case <-p.ended:
		return "", p.Failure("ended before it served")
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), p.Failure("does not serve yet"))
	}
}

// Failure returns an error with the end of the log.
func (p *Process) Failure(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("a server %s:\n%s", what, strings.Join(p.last, "\n"))
}

// Stop shuts the server down and waits for its end.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	<-p.ended
	return p.err
}

// Kill ends the process as a loss of power would, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// clockTick is the unit of times in /proc.
const clockTick = time.Second / 100

// CPU returns the processor time of the process, 0 if the system does not report it.
func (p *Process) CPU() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// After the name in parentheses come the state and ten numbers, then user and
	// system time: proc(5).
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick
}

// FreePort returns a port of loopback that nothing listens on.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
