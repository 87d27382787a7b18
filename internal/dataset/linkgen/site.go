// The shape of hosts, and the names of hosts, directories and pages.

package linkgen

// groupHosts is the number of hosts in a group; it must be a power of two. Of its 16 hosts six
// share a domain, three another one, and seven have one each.
const (
	groupHosts   = 16
	groupDomains = 9
)

// site is a host.
type site struct {
	host        uint32
	first, end  uint32 // its pages
	dirPages    uint32 // pages of a directory: 16, 32 or 64
	directories uint32 // at least 1; the host's first page is in none
	x           uint64 // random
}

func (g *Graph) siteOf(page uint32) site {
	host := g.Host(page)
	s := site{host: host, x: g.derive(ofHost, uint64(host))}
	s.first, s.end = g.HostPages(host)
	s.dirPages = 16 << (s.x % 3)
	s.directories = max((s.end-s.first-1+s.dirPages-1)/s.dirPages, 1)
	return s
}

// directory returns the directory of a page, and its pages [first, end). The host's first page
// counts as one of the first directory.
func (s *site) directory(page uint32) (directory, first, end uint32) {
	if page > s.first {
		directory = (page - s.first - 1) / s.dirPages
	}
	first = min(s.first+1+directory*s.dirPages, s.end-1)
	return directory, first, max(min(first+s.dirPages, s.end), first+1)
}

// sectionDirs is the number of directories in a section of a host.
const sectionDirs = 16

// URL appends the URL of a page. It panics if there is no such page.
func (g *Graph) URL(page uint32, dst []byte) []byte {
	// 1. The host. Its first page has no path.
	s := g.siteOf(page)
	dst = g.appendSite(dst, &s)
	number := page - s.first
	if number == 0 {
		return dst
	}
	if s.x>>12&3 > 0 { // all pages except the first are below one directory
		dst = append(dst, words[s.x>>14&0xff]...)
		if s.x>>22&3 > 0 {
			dst = append(append(dst, '-'), words[s.x>>24&0xff]...)
		}
		dst = append(dst, '/')
	}
	// 2. The section and the directory, if the host has several: their names ascend with the page's
	// number.
	directory := (number - 1) / s.dirPages
	leaf := (number - 1) % s.dirPages
	section := directory / sectionDirs
	if s.directories > 1 {
		if s.directories > sectionDirs {
			dst = g.appendSection(dst, &s, section)
		}
		dst = g.appendDirectory(dst, &s, section, directory)
	}
	if leaf == 0 && s.directories > 1 {
		return dst // the directory itself
	}
	// 3. The page itself.
	return g.appendLeaf(dst, &s, directory, leaf, page)
}

// Site appends the scheme and the name of a host, and a slash.
func (g *Graph) Site(host uint32, dst []byte) []byte {
	s := site{host: host, x: g.derive(ofHost, uint64(host))}
	return g.appendSite(dst, &s)
}

func (g *Graph) appendSite(dst []byte, s *site) []byte {
	if s.x>>8&3 == 0 {
		dst = append(dst, "http://"...)
	} else {
		dst = append(dst, "https://"...)
	}
	domain, label := domainOf(s.host)
	if label == "" && s.host%groupHosts >= 9 && s.x>>10&3 > 0 {
		label = "www."
	}
	dst = append(dst, label...)
	dst = g.appendDomain(dst, domain)
	return append(dst, '/')
}

// domainOf returns the domain of a host and the label before it. The labels of one domain's hosts
// must ascend.
func domainOf(host uint32) (domain uint32, label string) {
	domain = host / groupHosts * groupDomains
	switch k := host % groupHosts; {
	case k < 6:
		return domain, siteLabels[k]
	case k < 9:
		return domain + 1, [...]string{"", "news.", "www."}[k-6]
	default:
		return domain + 2 + k - 9, ""
	}
}

var siteLabels = [6]string{"blog.", "forum.", "help.", "news.", "shop.", "www."}

// suffixes are public suffixes in the order of their reversed names, with their shares of 64
// domains.
var suffixes = [...]struct {
	name  string
	share uint32
}{
	{".com", 28}, {".de", 5}, {".edu", 2}, {".fr", 2}, {".info", 2}, {".it", 2}, {".co.jp", 2},
	{".net", 4}, {".nl", 2}, {".org", 9}, {".ac.uk", 2}, {".co.uk", 4},
}

const (
	suffixShares  = 64
	nameSyllables = 4 // of a domain
)

// appendDomain appends a domain. Domains of one suffix are consecutive, and their names ascend.
func (g *Graph) appendDomain(dst []byte, domain uint32) []byte {
	shares := uint32(0)
	for i := range suffixes {
		low := boundary(g.domains, shares)
		shares += suffixes[i].share
		high := boundary(g.domains, shares)
		if domain >= high {
			continue
		}
		name := ascending(domain-low, high-low, 1<<(6*nameSyllables), g.derive(ofName, uint64(domain)))
		for shift := 6 * (nameSyllables - 1); shift >= 0; shift -= 6 {
			syllable := name >> shift & 63
			dst = append(dst, consonants[syllable>>2], vowels[syllable&3])
		}
		return append(dst, suffixes[i].name...)
	}
	return dst // unreachable, because the shares add up
}

func boundary(domains, shares uint32) uint32 {
	return uint32(uint64(domains) * uint64(shares) / suffixShares)
}

const (
	consonants = "bcdfghklmnprstvz"
	vowels     = "aeio"
)

// ascending returns the i-th of count strictly ascending numbers below space, at random distances.
// count must be at most space.
func ascending(i, count, space uint32, x uint64) uint32 {
	low := uint64(i) * uint64(space) / uint64(count)
	high := (uint64(i) + 1) * uint64(space) / uint64(count)
	return uint32(low) + scaleTo(x, uint32(high-low))
}

// appendSection appends a section of the host, with a slash.
func (g *Graph) appendSection(dst []byte, s *site, section uint32) []byte {
	sections := (s.directories + sectionDirs - 1) / sectionDirs
	x := g.derive(ofSection, uint64(s.host)<<32|uint64(section))
	space, n := uint32(len(words)), 1
	for n < 3 && sections > space/2 {
		space *= uint32(len(words))
		n++
	}
	name := ascending(section, sections, space, x)
	for ; n > 0; n-- {
		space /= uint32(len(words))
		dst = append(dst, words[name/space%uint32(len(words))]...)
		if n > 1 {
			dst = append(dst, '-')
		}
	}
	return append(dst, '/')
}

// appendDirectory appends a directory of a section, with a slash. All directories of a section are
// words, or all are months.
func (g *Graph) appendDirectory(dst []byte, s *site, section, directory uint32) []byte {
	number := directory % sectionDirs
	x := g.derive(ofSection, uint64(s.host)<<32|uint64(section))
	y := g.derive(ofDirectory, uint64(s.host)<<32|uint64(directory))
	if x&3 == 0 {
		month := uint32(x>>2)%120 + number
		dst = appendDigits(dst, 2008+month/12, 4)
		dst = append(dst, '/')
		dst = appendDigits(dst, 1+month%12, 2)
		return append(dst, '/')
	}
	dst = append(dst, words[ascending(number, sectionDirs, uint32(len(words)), y)]...)
	if y&1 == 0 {
		dst = append(dst, '-')
		dst = append(dst, words[y>>1%uint64(len(words))]...)
	}
	return append(dst, '/')
}

// appendLeaf appends the name of a page in its directory. All names of a directory have the same
// form.
func (g *Graph) appendLeaf(dst []byte, s *site, directory, leaf, page uint32) []byte {
	// 1. x decides the form for the whole directory, y the words of the page.
	x := g.derive(ofDirectory, uint64(s.host)<<32|uint64(directory)) >> 32
	y := g.derive(ofSite, uint64(page))
	extension := [...]string{".html", "", ".htm", ".php"}[x&3]
	// 2. The first varying part must ascend with leaf, because URLs must ascend.
	switch kind := x >> 2 & 7; kind {
	case 0, 1:
		base := uint32(x>>5) % 9_000 * 1000
		dst = append(dst, [...]string{"article-", "item"}[kind]...)
		dst = appendDigits(dst, base+ascending(leaf, s.dirPages, 1000, y), 7)
		dst = appendWords(append(dst, '-'), y, 2)
	case 2:
		base := uint32(x>>5)%900*1000 + 100_000
		dst = append(dst, "view.php?id="...)
		dst = appendDigits(dst, base+ascending(leaf, s.dirPages, 1000, y), 6)
		dst = append(dst, "&page="...)
		dst = append(dst, '1'+byte(y%9))
		return appendWords(append(dst, "&topic="...), y, 1)
	case 3:
		day := ascending(leaf, s.dirPages, 12*28, y)
		dst = appendDigits(dst, 2008+uint32(x>>5)%16, 4)
		dst = append(dst, '-')
		dst = appendDigits(dst, 1+day/28, 2)
		dst = append(dst, '-')
		dst = appendDigits(dst, 1+day%28, 2)
		dst = append(dst, '-')
		dst = appendWords(dst, y, 3)
	default:
		dst = append(dst, words[ascending(leaf, s.dirPages, uint32(len(words)), y)]...)
		dst = append(dst, '-')
		dst = appendWords(dst, y, 3+int(kind&1))
	}
	return append(dst, extension...)
}

// appendWords appends n words with hyphens between them.
func appendWords(dst []byte, x uint64, n int) []byte {
	for i := range n {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = append(dst, words[x>>(8*i)&0xff]...)
	}
	return dst
}

// appendDigits appends n as a number of width digits.
func appendDigits(dst []byte, n uint32, width int) []byte {
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; width > 0; width-- {
		dst[i] = '0' + byte(n%10)
		n /= 10
		i--
	}
	return dst
}
