// Raft's log lines, passed on at debug level.

package agreement

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// logger passes Raft's lines on to slog, all at debug level, because Raft logs an error many
// times a second if a peer does not answer. Operators learn it from the gossip.
type logger struct {
	log  *slog.Logger
	name string
	args []any
}

var _ hclog.Logger = (*logger)(nil)

func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	if !l.enabled() {
		return
	}
	attrs := append(append([]any{"level", level.String()}, l.args...), args...)
	for i, a := range attrs {
		if f, ok := a.(hclog.Format); ok && len(f) > 0 {
			attrs[i] = fmt.Sprintf(fmt.Sprint(f[0]), f[1:]...)
		}
	}
	l.log.Debug("raft: "+msg, attrs...)
}

func (l *logger) enabled() bool { return l.log.Enabled(context.Background(), slog.LevelDebug) }

func (l *logger) Trace(msg string, args ...any) {}
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *logger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *logger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

func (l *logger) IsTrace() bool { return false }
func (l *logger) IsDebug() bool { return l.enabled() }
func (l *logger) IsInfo() bool  { return l.enabled() }
func (l *logger) IsWarn() bool  { return l.enabled() }
func (l *logger) IsError() bool { return l.enabled() }

func (l *logger) ImpliedArgs() []any { return l.args }
func (l *logger) Name() string       { return l.name }

func (l *logger) With(args ...any) hclog.Logger {
	return &logger{l.log, l.name, append(append([]any(nil), l.args...), args...)}
}

func (l *logger) Named(name string) hclog.Logger {
	if l.name != "" {
		name = l.name + "." + name
	}
	return l.ResetNamed(name)
}

func (l *logger) ResetNamed(name string) hclog.Logger { return &logger{l.log, name, l.args} }

func (l *logger) SetLevel(hclog.Level)  {}
func (l *logger) GetLevel() hclog.Level { return hclog.Debug }

func (l *logger) StandardLogger(o *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(o), "", 0)
}

func (l *logger) StandardWriter(*hclog.StandardLoggerOptions) io.Writer { return lines{l} }

// lines is a writer whose lines are logged.
type lines struct{ log *logger }

func (w lines) Write(p []byte) (int, error) {
	w.log.Info(string(p))
	return len(p), nil
}
