#!/usr/bin/env bash
# memberlist: Join returns success to a crashed node that comes back at another address, and nobody else sees it.
#
# Guess:   a node that joins under its old name from another port is either taken in, or Join returns an error.
# Seen:    memberlist 0.7.0, DefaultLANConfig: Join returns 1 and no error, and the node lists all three members from then on. The
#          others hold it for dead at its old address and refuse the new one (a line in their logs, not in its own) until they
#          forget the dead node, GossipToTheDeadTime after its death: 30 s.
#          With DeadNodeReclaimTime set (default 0: never), the others take it in.
# Matters: containers come back with their name and another address. Such a process is sure that it is in the cluster, is ready, and
#          takes requests for a ring or a quorum in which the others do not count it; its own health checks are green.
# Instead: set DeadNodeReclaimTime below the time that a restart takes, or give each start a name of its own; after Join, ask another
#          member for its list before the node reports itself ready.
# Source:  memberlist's documentation of Config.DeadNodeReclaimTime and GossipToTheDeadTime; of Join: the number of hosts contacted.
# Needs:   Go 1.25 or later.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export GOFLAGS=-mod=mod GOWORK=off
go mod init finding >/dev/null 2>&1
go get github.com/hashicorp/memberlist@v0.7.0 >/dev/null 2>&1
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"log"
	"sort"
	"time"

	"github.com/hashicorp/memberlist"
)

// start returns a member of loopback at a port that the kernel chooses, which finds deaths sooner than usual.
func start(name string, reclaim time.Duration) *memberlist.Memberlist {
	config := memberlist.DefaultLANConfig()
	config.Name, config.BindAddr, config.AdvertiseAddr, config.BindPort, config.AdvertisePort = name, "127.0.0.1", "127.0.0.1", 0, 0
	config.ProbeInterval, config.ProbeTimeout, config.GossipInterval = 100*time.Millisecond, 50*time.Millisecond, 20*time.Millisecond
	config.DeadNodeReclaimTime = reclaim
	config.Logger = log.New(io.Discard, "", 0)
	list, err := memberlist.Create(config)
	if err != nil {
		panic(err)
	}
	return list
}

func names(list *memberlist.Memberlist) (names []string) {
	for _, node := range list.Members() {
		names = append(names, node.Name)
	}
	sort.Strings(names)
	return names
}

// wait waits until a member lists so many, or half a minute less than it takes to forget a dead node.
func wait(list *memberlist.Memberlist, count int) {
	for until := time.Now().Add(10 * time.Second); len(names(list)) != count && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	for _, reclaim := range []time.Duration{0, 100 * time.Millisecond} {
		first, second, crashed := start("a", reclaim), start("b", reclaim), start("c", reclaim)
		address := []string{fmt.Sprintf("127.0.0.1:%d", first.LocalNode().Port)}
		second.Join(address)
		crashed.Join(address)
		wait(first, 3)
		crashed.Shutdown() // without Leave, as in a crash
		wait(first, 2)
		time.Sleep(reclaim)
		back := start("c", reclaim)
		count, err := back.Join(address)
		wait(first, 3)
		fmt.Println("reclaim", reclaim, "Join:", count, err, "c lists", names(back), "a lists", names(first))
		for _, list := range []*memberlist.Memberlist{first, second, back} {
			list.Shutdown()
		}
	}
}
END
seen=$(go run .)
echo "$seen"
want='reclaim 0s Join: 1 <nil> c lists [a b c] a lists [a b]
reclaim 100ms Join: 1 <nil> c lists [a b c] a lists [a b c]'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
