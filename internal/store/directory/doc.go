// Package directory is a store's data directory beside its database: the file VERSION, the lock,
// the setting aside of a machine's data, and the addresses that such a machine must join. The
// comment of package store lists the files.
package directory
