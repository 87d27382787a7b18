// Profiles of the process: /debug/pprof and /debug/pprof/NAME.

package admin

import (
	"bytes"
	"io"
	"net/http"
	httpprof "net/http/pprof"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// ProfilesPath is the path of the profiles. Below it are their names.
const ProfilesPath = "/debug/pprof"

// Bounds of one profile. The runtime queues what the writer of a trace does not take, so a trace is collected before
// it is sent.
const (
	maxProfileSeconds = 300
	maxTraceSeconds   = 10
	maxTimedBytes     = 32 << 20 // of profile and trace
)

// getProfile answers with a profile of the process, or with the names of all profiles. They show the program and its
// memory's use, and no data.
func (a *API) getProfile(w http.ResponseWriter, r *request.Request) error {
	// A page of another origin could slow the node down with a profile. The check passes each GET, so it gets a POST.
	posted := r.Request.WithContext(r.Context())
	posted.Method = http.MethodPost
	if err := a.Changes.CheckOrigin(posted); err != nil {
		return problem.Errorf(problem.KindForbidden, "Origin", "a web page of another origin may not take profiles, unless serve --cors names the origin")
	}
	// 1. Find the profile. block and mutex are empty, because no rate is set for them.
	names := []string{"profile", "trace"} // of the processor, and of the scheduler
	for _, p := range pprof.Profiles() {
		if p.Name() != "block" && p.Name() != "mutex" {
			names = append(names, p.Name())
		}
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, ProfilesPath), "/")
	switch {
	case name == "":
		return response.WriteWhole(w, "text/plain; charset=utf-8", []byte(strings.Join(names, "\n")+"\n"))
	case !slices.Contains(names, name):
		return problem.Errorf(problem.KindNotFound, problem.Clip(name), "there is no such profile; there are %s", strings.Join(names, ", "))
	}
	// 2. Check its time.
	seconds, most := 30, maxProfileSeconds
	if name == "trace" {
		seconds, most = 1, maxTraceSeconds
	}
	if text, ok := r.Params["seconds"]; ok {
		var err error
		if seconds, err = strconv.Atoi(text); err != nil || seconds < 1 || seconds > most {
			return problem.Errorf(problem.KindBadRequest, "seconds", "seconds=%q: it is 1 to %d", problem.Clip(text), most)
		}
	}
	if text, ok := r.Params["debug"]; ok && text != "0" && text != "1" && text != "2" {
		return problem.Errorf(problem.KindBadRequest, "debug", "debug=%q: it is 0, 1 or 2", problem.Clip(text))
	}
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "application/octet-stream")
		return nil
	}
	// 3. Answer, one request at a time: the runtime takes one profile, and a collected one needs memory.
	select {
	case a.Profiles <- struct{}{}:
		defer func() { <-a.Profiles }()
	default:
		return problem.Busyf("a profile runs already; try again when it has ended")
	}
	switch name {
	case "profile":
		return writeTimed(w, r, seconds, pprof.StartCPUProfile, pprof.StopCPUProfile)
	case "trace":
		return writeTimed(w, r, seconds, trace.Start, trace.Stop)
	}
	httpprof.Handler(name).ServeHTTP(w, r.Request)
	return nil
}

// writeTimed collects a profile over time, and then answers with it. It ends when the client goes away.
func writeTimed(w http.ResponseWriter, r *request.Request, seconds int, start func(io.Writer) error, stop func()) error {
	profile := &timed{full: make(chan struct{})}
	if err := start(profile); err != nil {
		return problem.Busyf("the process is being profiled otherwise: %v", err)
	}
	end := time.NewTimer(time.Duration(seconds) * time.Second)
	defer end.Stop()
	select {
	case <-end.C:
	case <-profile.full:
	case <-r.Context().Done():
	}
	stop() // waits for the last write
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case profile.over:
		return problem.Errorf(problem.KindTooLarge, "seconds", "the profile has more than %d bytes; give fewer seconds", maxTimedBytes)
	}
	return response.WriteWhole(w, "application/octet-stream", profile.Bytes())
}

// timed is a profile of up to maxTimedBytes. It drops what exceeds them.
type timed struct {
	bytes.Buffer
	over bool
	full chan struct{} // closed when over is set
}

func (t *timed) Write(p []byte) (int, error) {
	if !t.over && t.Len()+len(p) > maxTimedBytes {
		t.over = true
		close(t.full)
	}
	if t.over {
		return len(p), nil
	}
	return t.Buffer.Write(p)
}

// profilesPath returns the path of the profiles.
func (a *API) profilesPath() *endpoint.Path {
	path := endpoint.Get(a.getProfile, "seconds", "debug")
	path.Below = true
	return path
}
