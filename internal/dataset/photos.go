// The data of the photo site.

package dataset

import (
	"context"
	"io"
	"iter"
	"slices"
	"strconv"
	"sync"
)

// photoNS is the namespace of the classes and properties of Photos.
const photoNS = "http://trefoil.example/photo#"

// Photos is an application: a photo site. A user http://photos.example/user/U has
//
//	rdf:type User, name (string), joined (xsd:date);
//	1-6 albums .../user/U/album/A: type Album, albumOf, created (xsd:date),
//	    title (language string);
//	5-60 images .../user/U/image/I: type Image, owner, inAlbum, title (language
//	    string), taken (xsd:dateTime, 2010-2025), width and height in pixels and
//	    bytes (xsd:integer), public (xsd:boolean), 1-4 tags (strings).
//
// Its clients upload, delete, move and tag images, and rename albums. They search for images of a
// user, an album, a tag, a time or a size, and for the newest.
type Photos struct {
	Seed    uint64
	Triples int64 // the exact size of the initial data set; 0 means defaultTriples
}

var _ Application = Photos{}

// Generate implements Generator.
func (g Photos) Generate(ctx context.Context, w io.Writer) (Counts, error) {
	return write(ctx, w, applicationSource{photos{g.Seed}}, g.Triples)
}

// MediaType implements Generator.
func (g Photos) MediaType() string { return MediaTypeNTriples }

// Statements implements Application.
func (g Photos) Statements() iter.Seq[Statement] {
	return initial(photos{g.Seed}, orDefault(g.Triples))
}

const (
	photoVocabulary = "<" + photoNS
	photoSite       = "<http://photos.example/user/"

	iriType  = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
	albumOf  = photoVocabulary + "albumOf>"
	albumIn  = photoVocabulary + "inAlbum>"
	owner    = photoVocabulary + "owner>"
	tagged   = photoVocabulary + "tag>"
	taken    = photoVocabulary + "taken>"
	width    = photoVocabulary + "width>"
	title    = photoVocabulary + "title>"
	tagCount = 255

	userTriples  = 3
	albumTriples = 4
	imageTriples = 9 // without tags
)

const (
	tagUser = iota
	tagAlbum
	tagImage
)

// tags are the site's tags as terms: all distinct, the most frequent first.
var tags = sync.OnceValue(func() []string {
	var names []string
	seen := make(map[string]bool)
	for i := 0; len(names) < tagCount; i++ {
		v := vocabularies()[max(0, i%10-4)] // half of them are English
		if word := v.words[30+i]; !seen[word] {
			seen[word] = true
			names = append(names, `"`+word+`"`)
		}
	}
	return names
})

// photos is the source of Photos; a unit is a user.
type photos struct{ seed uint64 }

// photo is an image: its number for its user, and the data that an operation may change.
type photo struct {
	number, album int
	tags          []int
}

// user returns the numbers of a user's albums and images.
func (g photos) user(u int64) (albums, images int) {
	r := newStream(g.seed, tagUser, uint64(u))
	return r.intBetween(1, 6), r.intBetween(5, 60)
}

func (g photos) image(u int64, number, albums int) (photo, stream) {
	r := newStream(derive(g.seed, tagUser, uint64(u)), tagImage, uint64(number))
	p := photo{number: number, tags: make([]int, r.intBetween(1, 4))}
	p.album = r.n(albums)
	for i := range p.tags {
		p.tags[i] = r.zipf(8)
		for containsBefore(p.tags, i) {
			p.tags[i] = r.n(tagCount)
		}
	}
	return p, r
}

// containsBefore reports whether list[i] also occurs before i.
func containsBefore(list []int, i int) bool {
	return slices.Contains(list[:i], list[i])
}

// size implements source.
func (g photos) size(u int64) int64 {
	albums, images := g.user(u)
	n := userTriples + albumTriples*albums + imageTriples*images
	for i := range images {
		r := newStream(derive(g.seed, tagUser, uint64(u)), tagImage, uint64(i))
		n += r.intBetween(1, 4)
	}
	return int64(n)
}

// statements implements application.
func (g photos) statements(u int64) []Statement {
	// The stream must differ from the stream that decides the numbers of albums and images.
	albums, images := g.user(u)
	r := newStream(g.seed, tagUser, uint64(u)+1<<63)
	s := userIRI(u)
	v := vocabularies()[r.n(len(languages))]
	all := []Statement{
		{S: s, P: iriType, O: photoVocabulary + "User>"},
		{S: s, P: photoVocabulary + "name>", O: `"` + string(v.appendName(nil, &r)) + `"`},
		{S: s, P: photoVocabulary + "joined>", O: string(appendDate(nil, r.intBetween(2005, 2010), r.intBetween(1, 12), r.intBetween(1, 28)))},
	}
	for a := range albums {
		album := albumIRI(u, a)
		all = append(all,
			Statement{S: album, P: iriType, O: photoVocabulary + "Album>"},
			Statement{S: album, P: albumOf, O: s},
			Statement{S: album, P: photoVocabulary + "created>",
				O: string(appendDate(nil, r.intBetween(2010, 2025), r.intBetween(1, 12), r.intBetween(1, 28)))},
			Statement{S: album, P: title, O: g.albumTitle(u, a, 0)},
		)
	}
	for i := range images {
		p, _ := g.image(u, i, albums)
		all = g.appendImage(all, u, p)
	}
	return all
}

// appendImage appends an image's statements.
func (g photos) appendImage(dst []Statement, u int64, p photo) []Statement {
	albums, _ := g.user(u)
	_, r := g.image(u, p.number, albums)
	s := imageIRI(u, p.number)
	v := vocabularies()[r.zipf(3)%len(languages)]
	wide := 640 + 16*r.n(400)
	dst = append(dst,
		Statement{S: s, P: iriType, O: photoVocabulary + "Image>"},
		Statement{S: s, P: owner, O: userIRI(u)},
		Statement{S: s, P: albumIn, O: albumIRI(u, p.album)},
		Statement{S: s, P: title, O: `"` + string(v.appendWords(nil, &r, r.intBetween(1, 4), wordOctaves)) + `"@` + v.tag},
		Statement{S: s, P: taken, O: string(appendDateTime(nil, r.intBetween(2010, 2025), r.intBetween(1, 12), r.intBetween(1, 28), r.n(24*3600)))},
		Statement{S: s, P: width, O: string(appendInteger(nil, wide))},
		Statement{S: s, P: photoVocabulary + "height>", O: string(appendInteger(nil, wide*(2+r.n(3))/4))},
		Statement{S: s, P: photoVocabulary + "bytes>", O: string(appendInteger(nil, wide*wide/20*(10+r.n(20))))},
		Statement{S: s, P: photoVocabulary + "public>", O: booleanTerm(!r.oneIn(3))},
	)
	for _, t := range p.tags {
		dst = append(dst, Statement{S: s, P: tagged, O: tags()[t]})
	}
	return dst
}

// albumTitle returns an album's title after it has been renamed this number of times.
func (g photos) albumTitle(u int64, album, renamed int) string {
	r := newStream(derive(g.seed, tagAlbum, uint64(u)), uint64(album), uint64(renamed))
	v := vocabularies()[r.zipf(3)%len(languages)]
	return `"` + string(v.appendWords(nil, &r, r.intBetween(1, 3), wordOctaves)) + `"@` + v.tag
}

func userIRI(u int64) string {
	return photoSite + strconv.FormatInt(u, 10) + ">"
}

func albumIRI(u int64, album int) string {
	return photoSite + strconv.FormatInt(u, 10) + "/album/" + strconv.Itoa(album) + ">"
}

func imageIRI(u int64, number int) string {
	return photoSite + strconv.FormatInt(u, 10) + "/image/" + strconv.Itoa(number) + ">"
}
