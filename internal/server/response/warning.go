// Warnings about answers that are right, but hardly what the client meant.

package response

import (
	"fmt"
	"net/http"
	"strings"
)

// WarningHeader says why an answer is empty, in ASCII.
const WarningHeader = "Trefoil-Warning"

// maxWarning bounds the bytes of the header, because proxies bound all headers together.
const maxWarning = 512

// SetWarning makes the header of the answer contain the text that warning returns, if it is not "".
// warning is called when the header is sent. It may be called after the source of the answer is closed.
func SetWarning(w http.ResponseWriter, warning func() string) {
	if r, ok := w.(*Writer); ok {
		r.warning = warning
	}
}

// headerText returns text as the value of a header: in ASCII, and cut behind maxWarning bytes.
func headerText(text string) string {
	var b strings.Builder
	for _, c := range text {
		piece := string(c)
		switch {
		case c == '\t' || c == '\r' || c == '\n':
			piece = " "
		case c > 0xffff:
			piece = fmt.Sprintf(`\U%08X`, c)
		case c < ' ' || c > '~':
			piece = fmt.Sprintf(`\u%04X`, c)
		}
		if b.Len()+len(piece) > maxWarning-len("...") {
			return b.String() + "..."
		}
		b.WriteString(piece)
	}
	return b.String()
}
