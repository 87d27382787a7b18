// Subscriptions of a served node, to a webhook on this machine.

package node

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/webhook"
	"github.com/trefoildb/trefoil/triple"
)

func TestServeSubscriptions(t *testing.T) {
	// 1. A receiver, and a node that may send to it.
	bodies := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasPrefix(r.Header.Get("webhook-signature"), "v1,") {
			t.Error(err, r.Header)
		}
		bodies <- string(body)
	}))
	defer receiver.Close()
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- Serve(ctx, t.TempDir(), ServeOptions{
			Options: Options{MinFreeBytes: -1}, Listen: "127.0.0.1:0", Ready: func(url string) { ready <- url },
			WebhookHost: []string{receiver.URL}, WebhookKey: []byte("0123456789abcdef"),
		})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	var url string
	select {
	case url = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	c, err := client.New(url, client.Options{})
	require.NoError(t, err)
	defer c.Close()
	// 2. Only allowed hosts.
	var refused *client.Error
	if _, err := c.Subscriptions.Put(t.Context(), "sub", client.SubscriptionOptions{URL: "https://forbidden.example/"}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "--webhook-host") {
		t.Fatal(err)
	}
	// 3. A change arrives.
	p := triple.NewIRI("http://ex/p")
	s, err := c.Subscriptions.Put(t.Context(), "sub", client.SubscriptionOptions{Pattern: triple.Pattern{Predicate: p}, Kinds: []string{"add"}, URL: receiver.URL + "/hook"})
	require.NoError(t, err)
	if _, err := webhook.ParseSecret(s.Secret); err != nil {
		t.Error(err)
	}
	if _, err := c.Add(t.Context(), []triple.Triple{{Subject: p, Predicate: p, Object: triple.NewString("hello")}}); err != nil {
		t.Fatal(err)
	}
	if body := <-bodies; !strings.Contains(body, `"kind":"add"`) || !strings.Contains(body, "hello") {
		t.Error(body)
	}
	// 4. It changes to a range of values.
	values := &triple.Bounds{Order: triple.POS, Prefix: []triple.Term{p}, GE: triple.NewTyped("10", triple.XSDInteger), LT: triple.NewTyped("20", triple.XSDInteger)}
	if _, err := c.Subscriptions.Put(t.Context(), "sub", client.SubscriptionOptions{Bounds: values, Kinds: []string{"add"}, URL: receiver.URL + "/hook"}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"9", "20", "19"} {
		if _, err := c.Add(t.Context(), []triple.Triple{{Subject: p, Predicate: p, Object: triple.NewTyped(n, triple.XSDInteger)}}); err != nil {
			t.Fatal(err)
		}
	}
	if body := <-bodies; strings.Count(body, "\n") != 1 || !strings.Contains(body, `"value":"19"`) {
		t.Error(body)
	}
}
