// Single tries.

package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/outbound"
)

// Options are the parameters of [NewSender].
type Options struct {
	// AllowHosts are the allowed hosts in the form of [outbound.ParseHosts]. Without a prefix a host
	// is reached by https, with the prefix "http://" by http. If there are none, all messages fail.
	AllowHosts []string
	// Timeout bounds one try, from the dial to the end of the answer; 0 is 10 seconds.
	Timeout time.Duration
	// Logger gets refused addresses; nil discards them.
	Logger *slog.Logger
}

// Validate returns an error if an allowed host is malformed or the timeout is negative.
func (o Options) Validate() error {
	if o.Timeout < 0 {
		return fmt.Errorf("webhooks: the timeout %s is negative", o.Timeout)
	}
	_, err := parseHosts(o.AllowHosts)
	return err
}

// parseHosts returns the allowed hosts of each scheme.
func parseHosts(entries []string) (map[string]*outbound.Hosts, error) {
	lists := map[string][]string{"https": nil, "http": nil}
	for _, entry := range entries {
		scheme := "https"
		if rest, ok := strings.CutPrefix(strings.TrimSpace(entry), "http://"); ok {
			scheme, entry = "http", rest
		}
		lists[scheme] = append(lists[scheme], entry)
	}
	hosts := map[string]*outbound.Hosts{}
	for scheme, list := range lists {
		h, err := outbound.ParseHosts(list)
		if err != nil {
			return nil, fmt.Errorf("webhooks: %w", err)
		}
		hosts[scheme] = h
	}
	return hosts, nil
}

// Sender sends messages. It is safe for concurrent use.
type Sender struct {
	timeout time.Duration
	hosts   map[string]*outbound.Hosts // by scheme
	clients map[string]*http.Client
	close   []func()
}

// maxAnswer bounds how much of an answer is read. Its text explains a failure.
const maxAnswer = 2 << 10

// maxURL bounds the URL of a receiver.
const maxURL = 2 << 10

// NewSender returns a sender. It must be closed.
func NewSender(o Options) (*Sender, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	hosts, err := parseHosts(o.AllowHosts)
	if err != nil {
		return nil, err
	}
	s := &Sender{timeout: o.Timeout, hosts: hosts, clients: map[string]*http.Client{}}
	for scheme, h := range hosts {
		transport := h.Transport(o.Logger)
		s.close = append(s.close, transport.CloseIdleConnections)
		s.clients[scheme] = &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return s, nil
}

// Close closes idle connections. No Send may run.
func (s *Sender) Close() {
	for _, f := range s.close {
		f()
	}
}

// Check returns nil if messages may go to a URL. Names are not resolved before the message is sent.
func (s *Sender) Check(target string) error {
	_, err := s.check(target)
	return err
}

func (s *Sender) check(target string) (*url.URL, error) {
	if len(target) > maxURL {
		return nil, fmt.Errorf("webhook: a URL of more than %d bytes", maxURL)
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	hosts := s.hosts[u.Scheme]
	if hosts == nil {
		return nil, fmt.Errorf("webhook: %w: the scheme is %q, not https", outbound.ErrHost, u.Scheme)
	}
	if err := hosts.Check(u); err != nil {
		if u.Scheme == "http" && s.hosts["https"].Check(u) == nil {
			return nil, fmt.Errorf("webhook: %w; the host is allowed by https only", err)
		}
		return nil, fmt.Errorf("webhook: %w; the operator allows it by --webhook-host", err)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// Message is one message.
type Message struct {
	URL         string
	ID          string // equal for each try; letters, digits and punctuation without "."
	Secret      []byte
	ContentType string
	Header      http.Header // more headers, or nil
	Body        []byte
}

// StatusError is the error if the receiver answered with a status other than 200 to 299.
type StatusError struct {
	Status     string        // as sent: "503 Service Unavailable"
	Text       string        // the beginning of the body, if it is plain text
	Gone       bool          // 410: the receiver rejects all further messages
	RetryAfter time.Duration // 0 if the receiver has not named it
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Text == "" {
		return "the receiver answered " + e.Status
	}
	return "the receiver answered " + e.Status + ": " + e.Text
}

// Send tries once to deliver a message. The error does not contain the URL, because it may carry a
// secret of the receiver.
func (s *Sender) Send(ctx context.Context, m *Message) error {
	u, err := s.check(m.URL)
	if err != nil {
		return err
	}
	// 1. One limit for all of the try: a receiver that hangs, sends its answer slowly, or does not
	// read, must not hold the sender.
	own, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(own, http.MethodPost, u.String(), bytes.NewReader(m.Body))
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	maps.Copy(request.Header, m.Header)
	now := time.Now()
	request.Header.Set("Content-Type", m.ContentType)
	request.Header.Set("User-Agent", "trefoil")
	request.Header.Set("webhook-id", m.ID)
	request.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	request.Header.Set("webhook-signature", Sign(m.Secret, m.ID, now, m.Body))
	// 2. Send it, and read a bounded part of the answer.
	response, err := s.clients[u.Scheme].Do(request)
	if err != nil {
		return s.explain(ctx, own, err)
	}
	defer response.Body.Close()
	text, readErr := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil // the status decides, whatever the body is
	}
	if readErr != nil || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		text = nil
	}
	return &StatusError{
		Status: printable(response.Status), Text: printable(string(text[:min(len(text), 200)])),
		Gone:       response.StatusCode == http.StatusGone,
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), now),
	}
}

// explain returns the cause of a failed try.
func (s *Sender) explain(ctx, own context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if own.Err() != nil {
		return fmt.Errorf("webhook: the receiver did not answer within %s", s.timeout)
	}
	if errors.Is(err, outbound.ErrHost) {
		return fmt.Errorf("webhook: %w: its name has an address that is not public; the operator must allow that address, too", outbound.ErrHost)
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return fmt.Errorf("webhook: %w", err)
}

// retryAfter parses the header of that name: seconds or a date. 0 means that there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// printable returns a stranger's text as one line without control characters.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return strings.Join(strings.Fields(text), " ")
}
