// The operations of the photo site's clients.

package dataset

import (
	"iter"
	"slices"
)

// Ops implements Application. Two operations out of three are searches. A client keeps its changes
// in memory; they stay about as large as the initial data set.
func (g Photos) Ops(client, clients int) iter.Seq[Op] {
	users := max(1, wholeUnits(photos{g.Seed}, orDefault(g.Triples)))
	mine := shareOf(users, client, clients)
	return func(yield func(Op) bool) {
		c := &photoClient{
			photos: photos{g.Seed},
			stream: newStream(g.Seed, 1<<32, uint64(client)),
			users:  users, client: client, clients: clients, mine: mine,
			state: make(map[int64]*photoUser),
		}
		for {
			for _, op := range c.next() {
				if !yield(op) {
					return
				}
			}
		}
	}
}

// photoClient makes one client's operations.
type photoClient struct {
	photos
	stream
	users           int64 // in the initial data set
	client, clients int
	mine            int                  // number of the client's users: client, client+clients, ...
	state           map[int64]*photoUser // the client's users that it has changed
}

// photoUser is a user's data after the client's operations so far.
type photoUser struct {
	number  int64
	renamed []int // by album
	images  []photo
	next    int // number of the next image
}

const maxImages = 120 // a user with more images must delete some before uploading

// next returns the next operation, or two that must run together.
func (c *photoClient) next() []Op {
	if c.mine == 0 {
		// There are more clients than users, so the client must add its own.
		c.mine = 1
		return []Op{{Kind: Add, Name: "register", Statements: c.statements(int64(c.client))}}
	}
	// 1. Choose a user and an image.
	u := c.pick()
	albums := len(u.renamed)
	image := -1
	if len(u.images) > 0 {
		image = c.n(len(u.images))
	}
	// 2. Choose the operation: uploads and searches come first, because they need no image.
	switch x := c.n(100); {
	case x < 14 && len(u.images) < maxImages:
		return c.upload(u)
	case x >= 66:
		return []Op{c.search(u)}
	case x >= 36 || image < 0:
		return []Op{c.siteSearch()}
	case x < 20:
		s := c.appendImage(nil, u.number, u.images[image])
		u.images = slices.Delete(u.images, image, image+1)
		return []Op{{Kind: Delete, Name: "delete image", Statements: s}}
	// 3. Change an image. The state must change with it, because later deletes must match.
	case x < 26:
		p := &u.images[image]
		t := c.zipf(8)
		if !slices.Contains(p.tags, t) {
			p.tags = append(p.tags, t)
		}
		return []Op{single(Add, "tag", Statement{S: imageIRI(u.number, p.number), P: tagged, O: tags()[t]})}
	case x < 29:
		p := &u.images[image]
		t := c.zipf(8)
		if len(p.tags) > 0 {
			t = p.tags[0]
			p.tags = p.tags[1:]
		}
		return []Op{single(Delete, "untag", Statement{S: imageIRI(u.number, p.number), P: tagged, O: tags()[t]})}
	case x < 33:
		p := &u.images[image]
		s := Statement{S: imageIRI(u.number, p.number), P: albumIn, O: albumIRI(u.number, p.album)}
		p.album = (p.album + 1) % albums
		to := s
		to.O = albumIRI(u.number, p.album)
		if to == s {
			return []Op{c.siteSearch()} // because the user has only one album
		}
		return []Op{single(Delete, "move", s), single(Add, "move", to)}
	default:
		// 4. Rename an album: its old title must be deleted first.
		a := c.n(albums)
		s := Statement{S: albumIRI(u.number, a), P: title, O: c.albumTitle(u.number, a, u.renamed[a])}
		u.renamed[a]++
		to := s
		to.O = c.albumTitle(u.number, a, u.renamed[a])
		return []Op{single(Delete, "rename", s), single(Add, "rename", to)}
	}
}

// upload adds one image, or sometimes a batch of them.
func (c *photoClient) upload(u *photoUser) []Op {
	n := 1
	if c.oneIn(8) {
		n = c.intBetween(2, 12)
	}
	op := Op{Kind: Add, Name: "upload"}
	for range n {
		p, _ := c.image(u.number, u.next, len(u.renamed))
		u.next++
		u.images = append(u.images, p)
		op.Statements = c.appendImage(op.Statements, u.number, p)
	}
	if len(u.images) <= maxImages-20 || n == 1 {
		return []Op{op}
	}
	// If the account is full, the oldest images must be deleted first.
	old := Op{Kind: Delete, Name: "clean up"}
	for _, p := range u.images[:n] {
		old.Statements = c.appendImage(old.Statements, u.number, p)
	}
	u.images = slices.Delete(u.images, 0, n)
	return []Op{old, op}
}

// pick returns one of the client's users, the first ones more often.
func (c *photoClient) pick() *photoUser {
	u := int64(c.client) + int64(c.clients)*int64(min(c.n(c.mine), c.n(c.mine)))
	if user, ok := c.state[u]; ok {
		return user
	}
	albums, images := c.user(u)
	user := &photoUser{number: u, renamed: make([]int, albums), next: images}
	for i := range images {
		p, _ := c.image(u, i, albums)
		user.images = append(user.images, p)
	}
	c.state[u] = user
	return user
}

// search returns a search in a user's data.
func (c *photoClient) search(u *photoUser) Op {
	switch c.n(6) {
	case 0:
		return find("images of user", Search{Pattern: Statement{P: owner, O: userIRI(u.number)}})
	case 1:
		return find("images of album", Search{Pattern: Statement{P: albumIn, O: albumIRI(u.number, c.n(len(u.renamed)))}})
	case 2:
		return find("image", Search{Pattern: Statement{S: imageIRI(u.number, c.n(u.next))}})
	case 3:
		images := imageIRI(u.number, 0)
		return find("images of user by name", Search{Order: "spo", Starts: images[:len(images)-len("0>")], Limit: 50})
	case 4:
		return find("what points to album", Search{Order: "osp", Prefix: []string{albumIRI(u.number, c.n(len(u.renamed)))}, Limit: 20})
	default:
		return find("albums of user", Search{Pattern: Statement{P: albumOf, O: userIRI(u.number)}, Follow: []string{albumIn}})
	}
}

// siteSearch returns a search on the whole site.
func (c *photoClient) siteSearch() Op {
	from := [4]int{c.intBetween(2010, 2025), c.intBetween(1, 12), c.intBetween(1, 28), c.n(24 * 3600)}
	moment := string(appendDateTime(nil, from[0], from[1], from[2], from[3]))
	switch c.n(6) {
	case 0:
		return find("newest images", Search{Order: "pos", Prefix: []string{taken}, Reverse: true, Limit: 10})
	case 1:
		later := string(appendDateTime(nil, from[0]+1, from[1], from[2], from[3]))
		return find("images of a year", Search{Order: "pos", Prefix: []string{taken}, GE: moment, LT: later, Limit: 100})
	case 2:
		return find("images before", Search{Order: "pos", Prefix: []string{taken}, LE: moment, Reverse: true, Limit: 20})
	case 3:
		tag := []rune(tags()[c.zipf(8)])
		tag = tag[:min(len(tag)-1, 3)]
		return find("tags that begin with", Search{Order: "pos", Prefix: []string{tagged}, Starts: string(tag), Limit: 50})
	case 4:
		return find("wide images", Search{Order: "pos", Prefix: []string{width}, GT: string(appendInteger(nil, 640+16*c.n(400))), Limit: 20})
	default:
		return find("images of tag", Search{Order: "pos", Prefix: []string{tagged, tags()[c.zipf(8)]}, Limit: 20})
	}
}
