// Profiles of the process: /debug/pprof and /debug/pprof/NAME.

package admin

import (
	"net/http"
	httpprof "net/http/pprof"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// ProfilesPath is the path of the profiles. Below it are their names.
const ProfilesPath = "/debug/pprof"

// maxProfileSeconds bounds the time of one profile.
const maxProfileSeconds = 300

// getProfile answers with a profile of the process, or with the names of all profiles. They show the program and its
// memory's use, and no data.
func (a *API) getProfile(w http.ResponseWriter, r *request.Request) error {
	// 1. Find the profile.
	names := []string{"profile", "trace"} // of the processor, and of the scheduler
	for _, p := range pprof.Profiles() {
		names = append(names, p.Name())
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, ProfilesPath), "/")
	switch {
	case name == "":
		return response.WriteWhole(w, "text/plain; charset=utf-8", []byte(strings.Join(names, "\n")+"\n"))
	case !slices.Contains(names, name):
		return problem.Errorf(problem.KindNotFound, problem.Clip(name), "there is no such profile; there are %s", strings.Join(names, ", "))
	}
	// 2. Check its time.
	if text, ok := r.Params["seconds"]; ok {
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > maxProfileSeconds {
			return problem.Errorf(problem.KindBadRequest, "seconds", "seconds=%q: it is 1 to %d", problem.Clip(text), maxProfileSeconds)
		}
	}
	if text, ok := r.Params["debug"]; ok && text != "0" && text != "1" && text != "2" {
		return problem.Errorf(problem.KindBadRequest, "debug", "debug=%q: it is 0, 1 or 2", problem.Clip(text))
	}
	// 3. Answer. A profile over time ends when the client goes away.
	switch {
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Type", "application/octet-stream")
	case name == "profile":
		httpprof.Profile(w, r.Request)
	case name == "trace":
		httpprof.Trace(w, r.Request)
	default:
		httpprof.Handler(name).ServeHTTP(w, r.Request)
	}
	return nil
}

// profilesPath returns the path of the profiles.
func (a *API) profilesPath() *endpoint.Path {
	path := endpoint.Get(a.getProfile, "seconds", "debug")
	path.Below = true
	return path
}
