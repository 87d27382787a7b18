package main

// This file starts nodes as processes, and follows what their logs say.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is a running `trefoil serve`.
type process struct {
	cmd     *exec.Cmd
	address chan string   // gets host:port once, when it serves
	ended   chan struct{} // closed when it has ended and all that it logged is here
	err     error         // how it ended

	mu     sync.Mutex
	events []event
	last   []string // lines of its standard error
}

// event is a line of a node's log that tells of a view.
type event struct {
	at     time.Time
	what   string // adopted or walked
	fields map[string]string
}

// What the events that count are called in the log.
const (
	adopted = "adopted a view"
	walked  = "walked"
)

// tailLines is how much of a log is shown where a node fails.
const tailLines = 15

// command makes a command whose environment names no server, and which ends with
// ctx at the latest.
func command(ctx context.Context, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TREFOIL_") })
	return cmd
}

// start starts a process. A log that is not nil gets what it says, and is closed
// when it has ended.
func start(ctx context.Context, log io.WriteCloser, words ...string) (*process, error) {
	p := &process{cmd: command(ctx, words...), address: make(chan string, 1), ended: make(chan struct{})}
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

func (p *process) follow(stderr io.Reader, log io.WriteCloser) {
	defer close(p.ended)
	if log != nil {
		defer log.Close()
		stderr = io.TeeReader(stderr, log)
	}
	in := bufio.NewScanner(stderr)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		line := in.Text()
		if _, address, ok := strings.Cut(line, " at http://"); ok && strings.HasPrefix(line, "trefoil: serving ") {
			select {
			case p.address <- address:
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

// parseEvent reads a line of log/slog's text form.
func parseEvent(line string) (e event, ok bool) {
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
	if err != nil || fields["msg"] != adopted && fields["msg"] != walked {
		return e, false
	}
	return event{at: at, what: fields["msg"], fields: fields}, true
}

// number returns a field of an event, 0 where it has none.
func (e event) number(field string) int64 {
	n, _ := strconv.ParseInt(e.fields[field], 10, 64)
	return n
}

// since returns the events from a time on. The log has whole milliseconds.
func (p *process) since(at time.Time) (events []event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if !e.at.Before(at.Truncate(time.Millisecond)) {
			events = append(events, e)
		}
	}
	return events
}

// serves waits until the process says where it serves.
func (p *process) serves(ctx context.Context) (address string, err error) {
	select {
	case address = <-p.address:
		return address, nil
	case <-p.ended:
		return "", p.failure("ended before it served")
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), p.failure("does not serve yet"))
	}
}

// failure says what a process did and shows the end of its log.
func (p *process) failure(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("a node %s:\n%s", what, strings.Join(p.last, "\n"))
}

// kill ends the process as if the machine had lost power, and waits for that.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// clockTick is the unit of times in /proc.
const clockTick = time.Second / 100

// cpu returns the processor time that the process has used; 0 where the system
// does not tell.
func (p *process) cpu() time.Duration {
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
