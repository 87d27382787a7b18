// Subscriptions: changes that a node sends to webhooks.

package client

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/triple"
)

// Subscriptions stores which changes an application gets, and how far it is.
type Subscriptions struct{ *transport }

// SubscriptionOptions select the changes of a subscription and their target.
type SubscriptionOptions struct {
	// Pattern selects the changed triples; the zero Pattern is all.
	Pattern triple.Pattern
	// Bounds, if set, selects triples in a range of one order, too.
	Bounds *triple.Bounds
	// Kinds are names of add, delete, annotate, load, clear and read; nil is all but read.
	Kinds []string
	// Application selects annotations of this application only.
	Application string
	// URL is the webhook. If it is "", the application reads the changes itself.
	URL string
	// Since is the position to begin at; "" is the end of the change feed, or where the
	// subscription is if it exists.
	Since string
}

// Subscription is a registered subscription, with its definition, its state and its latest dead letters.
type (
	Subscription           = api.Subscription
	SubscriptionDefinition = api.SubscriptionDefinition
	SubscriptionState      = api.SubscriptionState
	DeadLetter             = api.DeadLetter
)

func subscriptionPath(name string) string { return "/subscriptions/" + url.PathEscape(name) }

// Put registers for changes, or changes a registration.
func (c *Subscriptions) Put(ctx context.Context, name string, o SubscriptionOptions) (s Subscription, err error) {
	query := patternQuery(o.Pattern)
	if o.Bounds != nil {
		maps.Copy(query, boundsQuery(*o.Bounds, false))
	}
	for name, value := range map[string]string{"kinds": strings.Join(o.Kinds, ","), "app": o.Application, "url": o.URL, "since": o.Since} {
		if value != "" {
			query.Set(name, value)
		}
	}
	text, err := c.change(ctx, call{method: http.MethodPut, target: c.endpoint(subscriptionPath(name), query)}, true)
	if err == nil {
		err = decodeJSON(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("put the subscription %s: %w", name, unwrapPermanent(err))
	}
	return s, nil
}

// List returns all subscriptions, by name.
func (c *Subscriptions) List(ctx context.Context) ([]Subscription, error) {
	var answer struct{ Subscriptions []Subscription }
	if err := c.get(ctx, c.endpoint("/subscriptions", nil), &answer); err != nil {
		return nil, fmt.Errorf("list the subscriptions: %w", unwrapPermanent(err))
	}
	return answer.Subscriptions, nil
}

// Get returns one subscription.
func (c *Subscriptions) Get(ctx context.Context, name string) (s Subscription, err error) {
	if err := c.get(ctx, c.endpoint(subscriptionPath(name), nil), &s); err != nil {
		return s, fmt.Errorf("subscription %s: %w", name, unwrapPermanent(err))
	}
	return s, nil
}

// Advance stores that the application has all changes up to a position. It is for
// subscriptions without a webhook.
func (c *Subscriptions) Advance(ctx context.Context, name, position string) error {
	query := url.Values{"position": {position}}
	if _, err := c.change(ctx, call{method: http.MethodPost, target: c.endpoint(subscriptionPath(name), query)}, true); err != nil {
		return fmt.Errorf("advance the subscription %s: %w", name, unwrapPermanent(err))
	}
	return nil
}

// Delete deletes a subscription.
func (c *Subscriptions) Delete(ctx context.Context, name string) error {
	if _, err := c.change(ctx, call{method: http.MethodDelete, target: c.endpoint(subscriptionPath(name), nil)}, true); err != nil {
		return fmt.Errorf("delete the subscription %s: %w", name, unwrapPermanent(err))
	}
	return nil
}
