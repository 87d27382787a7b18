package workload

// This file holds the URLs of the web-link graph. They are computed from the
// page's number alone, distinct, and, within a host, sorted as the pages are.

const maxHosts = 1 << 24

var (
	// 64 syllables; a host's name is four.
	hostSyllables = [64]string{
		"ba", "be", "bi", "bo", "da", "de", "di", "do", "fa", "fe", "fi", "fo", "ga", "ge", "gi", "go",
		"ka", "ke", "ki", "ko", "la", "le", "li", "lo", "ma", "me", "mi", "mo", "na", "ne", "ni", "no",
		"pa", "pe", "pi", "po", "ra", "re", "ri", "ro", "sa", "se", "si", "so", "ta", "te", "ti", "to",
		"va", "ve", "vi", "vo", "wan", "wen", "win", "won", "xa", "xe", "xi", "xo", "zan", "zen", "zin", "zon",
	}
	// 32 names of directories and pages, sorted, none a prefix of another: the
	// digits of a page's number in its host.
	pathWords = [32]string{
		"about", "archive", "articles", "books", "catalog", "contact", "docs", "events",
		"faq", "forum", "gallery", "guide", "history", "index", "journal", "library",
		"links", "media", "members", "music", "news", "papers", "people", "press",
		"products", "projects", "research", "reviews", "services", "support", "travel", "updates",
	}
	siteLabels = [4]string{"blog.", "news.", "shop.", "wiki."}
)

// AppendURL appends the URL of a page, such as
// http://www.kalomiti.example/archive/books-garden-17.html. One host in five
// shares the domain of another.
func (w *Graph) AppendURL(dst []byte, page int) []byte {
	host, first, end := w.Host(page)
	dst = w.appendSite(dst, host)
	dst = append(dst, '/')
	number := page - first
	if number == 0 {
		return dst
	}
	digits := 1
	for size := end - first - 1; size >= 32; size >>= 5 {
		digits++
	}
	for ; digits > 1; digits-- {
		dst = append(dst, pathWords[number>>(5*(digits-1))&31]...)
		dst = append(dst, '/')
	}
	dst = append(dst, pathWords[number&31]...)
	x := derive(w.seed, tagFresh, uint64(page))
	if x&3 > 0 {
		dst = append(dst, '-')
		dst = append(dst, vocabularies()[english].words[60+x>>8%1024]...)
	}
	if x>>2&1 > 0 {
		dst = append(dst, '-')
		dst = appendTwo(dst, int(x>>32%100))
	}
	return append(dst, ".html"...)
}

// appendSite appends the scheme and the name of a host.
func (w *Graph) appendSite(dst []byte, host int) []byte {
	dst = append(dst, "http://"...)
	domain := host
	if host%5 == 4 {
		domain = host - 1
		dst = append(dst, siteLabels[host/5%len(siteLabels)]...)
	} else if host%3 > 0 {
		dst = append(dst, "www."...)
	}
	// Multiplying by an odd number is a bijection of [0, maxHosts).
	name := (uint64(domain)*0x9e3779b1 + w.seed) % maxHosts
	for range 4 {
		dst = append(dst, hostSyllables[name&63]...)
		name >>= 6
	}
	if domain%8 == 0 {
		return append(dst, ".test"...)
	}
	return append(dst, ".example"...)
}
