// Package keep owns the cells of a machine. The [Keeper] follows the feed, changes the deltas, builds
// large ones again, writes files and publishes states. The [Placer] gets the partitions that the machine
// must hold, and the [Loader] loads stores that are in files alone.
package keep
