// Subscriptions of a served node: the registry, and the deliveries to webhooks.

package node

import (
	"time"

	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/webhook"
)

// savedShare is the part of the feed after which positions are stored.
const savedShare = 4

// startSubscriptions sets the registry of a backend and the counter of its reads in the options of
// the endpoints, and begins to deliver if there are webhooks; else m is nil. stop ends all of that.
func (s *service) startSubscriptions(back backend, api *server.Options) (m *subscriptions.Manager, stop func(), err error) {
	sender, err := webhook.NewSender(webhook.Options{AllowHosts: s.WebhookHost, Logger: s.Logger})
	if err != nil {
		return nil, nil, err
	}
	registry := &subscriptions.Registry{Store: back.triples, Filter: server.Filter, CheckURL: sender.Check, Key: s.WebhookKey}
	api.Subscriptions = registry
	// 1. A read-only node stores neither counts nor positions.
	if back.node == nil {
		return nil, sender.Close, nil
	}
	api.Reads = readcount.Start(readcount.Options{Registry: registry, Logger: s.Logger})
	if len(s.WebhookKey) == 0 {
		return nil, func() { api.Reads.Close(); sender.Close() }, nil
	}
	// 2. Deliver. Positions are stored before the feed has trimmed a part of what is behind them.
	keeps := changefeed.Retention{Bytes: s.FeedBytes, Age: s.FeedAge}.WithDefaults()
	m, err = subscriptions.Start(subscriptions.Options{
		Registry: registry, Sender: sender, Owns: back.node.Owns, MayRead: api.OwnerMayRead(), Logger: s.Logger,
		SaveEvery: min(10*time.Minute, keeps.Age/savedShare), SaveBytes: max(1, keeps.Bytes/savedShare),
	})
	if err != nil {
		api.Reads.Close()
		sender.Close()
		return nil, nil, err
	}
	return m, func() { api.Reads.Close(); m.Close(); sender.Close() }, nil
}
