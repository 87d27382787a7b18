// Package subscriptions answers /subscriptions: an application registers by name for changes, which
// package internal/subscriptions delivers.
package subscriptions
